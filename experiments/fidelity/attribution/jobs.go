package attribution

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"tandem/algo/job"
	"tandem/algo/rng"
	"tandem/sim/predict"
)

// drawJob returns random job i of a seed, which has no unknowns, with its name. Draws that do not fit the
// memory are repeated.
func drawJob(ctx context.Context, seed uint64, i int) (j *predict.Job, name string, err error) {
	r := rng.New(seed, "experiments/fidelity/attribution/job", uint64(i))
	for {
		choice := drawChoice(r)
		name = describe(&choice)
		if j, _, err = predict.New(choice); err == nil {
			j = j.At(j.Parameters().Sample(1, r.Uint64())[0])
			// The memory is known only now.
			_, err = predict.Run(ctx, j, predict.Options{Steps: 1, Workers: 1})
		}
		switch {
		case err == nil:
			return j, name, nil
		case !predict.DoesNotFit(err):
			return nil, "", fmt.Errorf("%s: %w", name, err)
		}
	}
}

// drawChoice draws a job of a system of roles three times out of four, else one of a step graph.
func drawChoice(r *rand.Rand) (c predict.Choice) {
	one := func(names ...string) string { return names[r.IntN(len(names))] }
	c.GPUs = 1 << r.IntN(7)
	if r.IntN(4) == 0 {
		c.Preset, c.Model = one("dgx-a100", "dgx-h100", "zionex-128"), one("mlperf-dlrm", "mlperf-dcnv2",
			"criteo", "taobao")
		c.BatchPerGPU = 256 << r.IntN(8)
		c.RowPrecision = one("", "fp16")
		c.Set = map[string]string{"server.network": rate(r, 10, 3200), "inside.latency": latency(r, 0.5, 4)}
		return c
	}
	c.Preset = one("persia-paper", "persia-gcp", "commodity-10g")
	c.Model = one("criteo", "avazu", "taobao", "kwai-video", "criteo-syn-6t")
	c.System = one("persia-2021", "tandem")
	c.Mode = one(job.Modes()[1:]...) // sequential has no roles
	c.BatchPerGPU = 64 << r.IntN(7)
	c.RowPrecision = one("", "fp16")
	staleness := []int{0, 1, 4, 9}[r.IntN(4)]
	if c.Mode == job.Hybrid {
		c.Staleness = &staleness
	}
	network := rate(r, 5, 200)
	c.Set = map[string]string{
		"embedding-workers.count": hosts(r, 16), "embedding-ps.count": hosts(r, 32),
		"loaders.count":  hosts(r, 4),
		"server.network": network, "embedding-workers.network": network, "embedding-ps.network": network,
		"loaders.network": network, "network.latency": latency(r, 5, 200),
	}
	return c
}

// between returns a number whose logarithm is uniform.
func between(r *rand.Rand, low, high float64) float64 { return low * math.Pow(high/low, r.Float64()) }

func rate(r *rand.Rand, low, high float64) string {
	return fmt.Sprintf("%.0fGbps", between(r, low, high))
}

func latency(r *rand.Rand, low, high float64) string {
	return fmt.Sprintf("%.0fns", 1e3*between(r, low, high))
}

func hosts(r *rand.Rand, most float64) string {
	return strconv.Itoa(int(math.Round(between(r, 1, most))))
}

// describe names a choice.
func describe(c *predict.Choice) string {
	name := fmt.Sprintf("%s, %s, %d GPUs, batch %d", c.Preset, c.Model, c.GPUs, c.BatchPerGPU)
	if c.System != "" {
		name += ", " + c.System + ", " + c.Mode
	}
	if c.Staleness != nil {
		name += fmt.Sprintf(", τ = %d", *c.Staleness)
	}
	if c.RowPrecision != "" {
		name += ", rows " + c.RowPrecision
	}
	for _, key := range slices.Sorted(maps.Keys(c.Set)) {
		name += fmt.Sprintf(", %s %s", key, c.Set[key])
	}
	return name
}
