package fidelity

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/rng"
	"tandem/internal/parallel"
	"tandem/sim/predict"
)

var long = flag.Bool("long", false, "try 50 random jobs and four intervals: half an hour")

// Bounds of the test of bottlenecks, set before its first run.
const (
	gainLeast  = 0.05 // of the first bottleneck, doubled
	changeMost = 0.05 // of any resource after the third, doubled
	named      = 3    // resources of the list that may gain more than changeMost
)

// Runs name what binds them: doubling the first of the list of bottlenecks gains throughput, and doubling any
// resource after the third changes it little. With -long there are 50 jobs: the goal is that nine of ten
// pass, and 44 did in November 2026. The bound is lower, because a job near a limit may change sides with any
// price. Without, there are four short ones, of which two must pass.
func TestBottlenecksAreWorthDoubling(t *testing.T) {
	jobs, steps, least := 4, 8, 2
	if *long {
		jobs, steps, least = 50, 20, 42
	}
	faults := make([]string, jobs)
	parallel.ForEach(parallel.Cores(), jobs, func(i int) {
		name, list, gains, err := double(t.Context(), uint64(i), steps)
		if err != nil {
			t.Error(err)
		}
		if faults[i] = misjudged(list, gains); faults[i] != "" {
			t.Logf("%s: %s", name, faults[i])
		}
	})
	passed := len(slices.DeleteFunc(faults, func(text string) bool { return text != "" }))
	if passed < least {
		t.Errorf("%d of %d random jobs pass, want %d", passed, jobs, least)
	}
}

// gain is the relative change of the throughput when a resource is doubled.
type gain struct {
	resource string
	gain     float64
}

// double draws random job i and doubles every resource of it.
func double(ctx context.Context, i uint64, steps int) (
	name string, list []predict.Bottleneck, gains []gain, err error,
) {
	const seed = 1
	j, name, err := drawJob(ctx, seed, i)
	if err != nil {
		return "", nil, nil, err
	}
	// Small jobs are cheap, and their throughput varies more.
	o := predict.Options{Steps: max(steps, 8*steps/j.Roles.Ranks), Workers: 1, Seed: seed}
	base, err := predict.Run(ctx, j, o)
	if err != nil {
		return "", nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, group := range j.Parameters().Groups() {
		better, err := predict.Run(ctx, j.Improved(group, 2), o)
		if err != nil {
			return "", nil, nil, fmt.Errorf("%s, twice the %s: %w", name, group, err)
		}
		gains = append(gains, gain{group, better.Mid.Throughput/base.Mid.Throughput - 1})
	}
	return name, base.Mid.Bottlenecks, gains, nil
}

// misjudged says what a list of bottlenecks misjudges.
func misjudged(list []predict.Bottleneck, gains []gain) string {
	var faults []string
	bought := false
	for _, g := range gains {
		at := slices.IndexFunc(list, func(b predict.Bottleneck) bool { return b.Resource == g.resource })
		if at == 0 {
			bought = true
		}
		if at == 0 && g.gain < gainLeast {
			faults = append(faults, fmt.Sprintf("%s is first and gains %.3f", g.resource, g.gain))
		}
		if (at < 0 || at >= named) && math.Abs(g.gain) > changeMost {
			faults = append(faults, fmt.Sprintf("%s is not among the first and gains %.3f", g.resource,
				g.gain))
		}
	}
	if !bought {
		faults = append(faults, list[0].Resource+" is first and cannot be bought")
	}
	return strings.Join(faults, "; ")
}

// A list is at fault if its first resource gains little or cannot be bought, or if one after the third, or
// one that it lacks, gains much. What the second and the third gain is free.
func TestMisjudged(t *testing.T) {
	list := []predict.Bottleneck{{Resource: "a"}, {Resource: "b"}, {Resource: "c"}, {Resource: "d"}}
	for _, x := range []struct {
		list  []predict.Bottleneck
		gains []gain
		want  string
	}{
		{list, []gain{{"a", 0.05}, {"b", 0.4}, {"c", -0.1}, {"d", 0.05}}, ""},
		{list, []gain{{"a", 0.049}}, "a is first and gains 0.049"},
		{list, []gain{{"a", 0.3}, {"d", 0.051}}, "d is not among the first and gains 0.051"},
		{list, []gain{{"a", 0.3}, {"e", -0.06}}, "e is not among the first and gains -0.060"},
		{list[1:], []gain{{"a", 0}}, "b is first and cannot be bought"},
	} {
		if got := misjudged(x.list, x.gains); got != x.want {
			t.Errorf("gains %v: %q, want %q", x.gains, got, x.want)
		}
	}
}

// drawJob returns random job i of a seed, which has no unknowns, with its name. Draws that do not fit the
// memory are repeated.
func drawJob(ctx context.Context, seed uint64, i uint64) (j *predict.Job, name string, err error) {
	r := rng.New(seed, "experiments/fidelity/attribution/job", i)
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

// Intervals contain the truth: random points of the box of unknown parameters play it, of which an interval
// of the central 98 % should contain 28 of 30. They are no wider than the range of other points.
func TestIntervalsContainTheTruth(t *testing.T) {
	choices, others := []predict.Choice{{Preset: "dgx-h100", GPUs: 8}}, predict.SamplesDefault
	if *long {
		others = 2000
		choices = append(choices, predict.Choice{GPUs: 8, Mode: job.Hybrid},
			predict.Choice{GPUs: 64, Mode: job.Hybrid},
			predict.Choice{Preset: "commodity-10g", Model: "criteo", GPUs: 16, Mode: job.Hybrid})
	}
	const truths = 30
	for _, c := range choices {
		j, _, err := predict.New(c)
		if err != nil {
			t.Fatal(err)
		}
		j.Hardware.System.Accuracy = nil // the truths have no error of the model
		o := predict.Options{Samples: predict.SamplesDefault, Seeds: 2, Seed: 1, Steps: 8}
		made, err := predict.Run(t.Context(), j, o)
		if err != nil {
			t.Fatal(err)
		}
		// Points differ from those of the samples, and so do the seeds of the jitter of the truth.
		inside := 0
		for _, truth := range simulated(t, j, 1<<32, 1001, truths) {
			if made.Interval.Contains(truth) {
				inside++
			}
		}
		all := simulated(t, j, 1<<33, 1, others)
		others := predict.Interval{Low: slices.Min(all), High: slices.Max(all)}
		t.Logf("%+v: %d of %d truths in %+v; others are in %+v", c, inside, truths, made.Interval, others)
		if inside < truths-2 || made.Interval.Width() > others.Width() {
			t.Errorf("%+v: the interval is wrong", c)
		}
	}
}

// simulated returns the throughputs of a job at points of its box that it fits.
func simulated(t *testing.T, j *predict.Job, points, seed uint64, n int) []float64 {
	values := make([]float64, n)
	parallel.ForEach(parallel.Cores(), n, func(i int) {
		at := j.At(j.Parameters().Sample(1, points+uint64(i))[0])
		run, err := predict.Run(t.Context(), at, predict.Options{Steps: 8, Workers: 1, Seed: seed})
		switch {
		case predict.DoesNotFit(err):
			values[i] = math.NaN()
		case err != nil:
			t.Error(err)
		default:
			values[i] = run.Mid.Throughput
		}
	})
	return slices.DeleteFunc(values, math.IsNaN)
}
