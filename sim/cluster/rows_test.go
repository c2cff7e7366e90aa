package cluster

import (
	"math"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/sim/cost"
	"tandem/sim/timeline"
)

// onGPUs is training with its rows on the accelerators of the ranks.
func onGPUs(mode string, ranks int) job.Job {
	j := training(mode, ranks)
	j.Rows.Placement, j.Rows.Capacity, j.Model.Device.CUDA = job.RowsOnGPU, 40_000_000, true
	return j
}

// gpuCluster is small, with accelerators that have room for rows.
func gpuCluster() job.Cluster {
	c := small()
	c.SetAccelerator("H100-SXM5")
	c.System = "tandem"
	return c
}

// Rows on GPUs need the price of an accelerator, and a training that computes nothing.
func TestRowsOnGPUsAreRefused(t *testing.T) {
	machine := cost.ThisMachine(cost.MeasuredMachine{Cores: 2, Memory: 1 << 33, Multiply: 1e9, CopySpeed: 4e9,
		RowTime: 100, MessageTime: 1000, Date: "2026-11"})
	numerics := func(job.Job) (Numerics, error) { panic("started") }
	j, gpus := onGPUs(job.Sync, 2), hardwareOf(t, gpuCluster())
	for want, c := range map[string]struct {
		h *cost.Hardware
		o Options
	}{
		"computes on processors":                                {gpus, Options{Numerics: numerics}},
		"needs the profile of an accelerator, and the measured": {machine, Options{}},
	} {
		_, err := Run(c.h, j, tower(t), clicks(), c.o)
		if err == nil || !strings.Contains(err.Error(), "rows.placement = gpu") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// In every step each rank sends the signs of the distinct rows of its 512 samples, and their values twice; on
// one GPU nothing is exchanged. Every run keeps the contract of the roles, also of ranks on two servers, and
// can be drawn.
func TestRanksExchangeRows(t *testing.T) {
	rows := math.Round(8*clicks().Distinct(512)) + 2*math.Round(64*clicks().Distinct(512))
	for _, mode := range []string{job.Sync, job.Hybrid} {
		for _, ranks := range []int{1, 2, 3, 16} {
			want := unit.Bytes(ranks) * unit.Bytes(rows)
			if ranks == 1 {
				want = 0
			}
			drawn := new(timeline.Timeline)
			o := Options{check: true, SystemJitter: true, Timeline: drawn}
			r := run(t, gpuCluster(), onGPUs(mode, ranks), o)
			if r.RowBytes != want || r.Staleness.Own.Max() > 0 && mode == job.Sync {
				t.Errorf("%s, %d ranks: %d B, want %d", mode, ranks, r.RowBytes, want)
			}
			updates := 0
			for _, track := range drawn.Tracks {
				for _, span := range track.Spans {
					if span.Name == "update of rows" {
						updates++
					}
				}
			}
			if (updates > 0) != (ranks > 1) {
				t.Errorf("%s, %d ranks: %d updates are drawn", mode, ranks, updates)
			}
		}
	}
}

// withRows returns a simulation of a job on two steps, and the prices of its batches of 512 samples. Kernels
// take their price.
func withRows(t *testing.T, j job.Job) (*simulation, *cost.BatchPrice) {
	t.Helper()
	h, layout, w := hardwareOf(t, gpuCluster()), tower(t), clicks()
	if j.MixesPlacements() {
		w = clicksBySlot()
	}
	h.System.NNWorker.Interference.Mid = 0
	p := cost.NewPrices(h.Resolve(), &j, layout, &w, true)
	j.Roles.EmbeddingWorkers, j.Roles.EmbeddingPSs = p.EWHostCount*p.EmbeddingWorkers.PerHost, p.PSStates
	cfg, err := j.RoleConfig(layout, 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSimulation(p, cfg, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s, p.Batch(512)
}

// Without jitter, a step of hybrid takes what its parts take one after the other: nothing else is on the way,
// since samples come long before. Of the all-reduce, backward hides all but the last bucket. So it is if some
// slots have their rows on PSs, whose embeddings come before, too: their gradients are put together while the
// last bucket is reduced.
func TestAStepWithRowsOnGPUsIsTheSumOfItsParts(t *testing.T) {
	for _, j := range []job.Job{onGPUs(job.Hybrid, 1), onGPUs(job.Hybrid, 2), bySlot(job.Hybrid, 1, 10),
		bySlot(job.Hybrid, 2, 10)} {
		ranks := j.Roles.Ranks
		w, b := withRows(t, j)
		p, g, buckets := w.prices, b.Rows, tower(t).Buckets
		sum := g.Find.Host + g.Find.Kernels + g.Answer.Host + g.Answer.Kernels + g.Pool.Host +
			g.Pool.Kernels + g.Sum.Host + g.Sum.Kernels + g.Update.Host + g.Update.Kernels
		sum += g.BeforeSigns + g.BeforeValues + g.BeforeSums + p.HostLinkWire.Time(g.Staged)
		sum += g.Columns.Host + g.Columns.Kernels
		sum += b.ForwardHost + b.Forward + b.BackwardHost + b.Backward + b.Update
		if ranks > 1 {
			last := buckets[len(buckets)-1]
			reduce := w.reduceInside(unit.Bytes(4 * (last.Hi - last.Lo)))
			sum += max(0, reduce-g.Columns.Kernels)
			x := &p.System.Collectives.Inside
			for _, bytes := range []unit.Bytes{g.Signs, g.Values, g.Values} {
				half := float64(bytes)/2 + float64(x.Half.Mid) // each message costs Half more bytes
				rate := float64(p.InsideWire.Bandwidth) * x.AllToAll.Mid
				sum += p.InsideWire.Latency + unit.Tick(half/rate*1e9)
			}
		}
		h := *p.Resolved.Hardware
		if r := runOn(t, &h, j, Options{}); max(r.StepTime-sum, sum-r.StepTime) > 20 {
			t.Errorf("%d ranks: a step takes %v, its parts %v", ranks, r.StepTime, sum)
		}
	}
}

// passStarts notes when each rank begins its passes.
type passStarts struct{ forward, backward map[[2]int32]unit.Tick } // by rank and step

// Observe implements event.Observer.
func (p *passStarts) Observe(r event.Record) {
	switch r.Kind {
	case event.ForwardStarted:
		p.forward[[2]int32{r.Rank, r.Step}] = r.At
	case event.BackwardStarted:
		p.backward[[2]int32{r.Rank, r.Step}] = r.At
	}
}

// No rank has rows before the slowest has said which it needs: 20 times as long as the others.
func TestRanksWaitForTheRowsOfTheSlowest(t *testing.T) {
	j := onGPUs(job.Hybrid, 3)
	j.Slow = fault.Slows{{Role: fault.SlowTarget{Role: msg.NNWorker, Index: 1}, Factor: 20}}
	_, b := withRows(t, j)
	seen := &passStarts{map[[2]int32]unit.Tick{}, map[[2]int32]unit.Tick{}}
	run(t, gpuCluster(), j, Options{Observer: seen})
	for at, backward := range seen.backward { // order-free: each is checked by itself
		slowest := seen.forward[[2]int32{1, at[1]}] + 20*(b.Rows.Find.Host+b.Rows.Find.Kernels)
		if backward < slowest {
			t.Fatalf("rank %d has its rows of step %d at %v, rank 1 asks for its own at %v", at[0], at[1],
				backward, slowest)
		}
	}
	if len(seen.backward) < 30 {
		t.Errorf("%d backward passes", len(seen.backward))
	}
}

// Ranks on two servers send what they ask each other for, and the answers, over the cards: at least their
// time alone, and that of the all-reduce, is part of a step on a network that is a thousand times as slow.
func TestRowsCrossTheNetworkBetweenServers(t *testing.T) {
	j := onGPUs(job.Hybrid, 16)
	w, b := withRows(t, j)
	alone := unit.Tick(0)
	for _, bytes := range []unit.Bytes{b.Rows.Signs, b.Rows.Values, b.Rows.Values} {
		alone += w.graph.Alone(w.exchangePlan(bytes)) - w.exchangePlan(bytes).Stages[0].Latency
	}
	reduce := unit.Tick(0)
	for _, bytes := range w.config.Buckets {
		reduce += w.reduceAcross(bytes) - w.reduceLatency()
	}
	slow := map[string]float64{"network bandwidth": 1e-3}
	r := run(t, gpuCluster(), j, Options{Improve: slow, Measured: 2})
	if want := 1000 * (alone + reduce); r.StepTime < want || alone < reduce/100 || want < unit.Second {
		t.Errorf("a step takes %v, want at least %v, of which %v are of rows", r.StepTime, want, 1000*alone)
	}
	for ranks, across := range map[int]bool{8: false, 16: true} {
		w, b := withRows(t, onGPUs(job.Hybrid, ranks))
		flows, outside := w.exchangePlan(b.Rows.Values).Stages[0].Flows, 0
		for i := range flows {
			if !w.staysInside(&flows[i]) {
				outside++
			}
		}
		if (outside > 0) != across || outside == len(flows) {
			t.Errorf("%d ranks: %d of %d flows leave their server", ranks, outside, len(flows))
		}
	}
}

// More GPUs train more samples a second, though not in proportion; wider rows and a slower wire take longer;
// a second server makes the network part of a step.
func TestThroughputWithRowsOnGPUs(t *testing.T) {
	h := hardwareOf(t, gpuCluster())
	of := func(ranks int, change func(*job.Job), improve map[string]float64) float64 {
		j := onGPUs(job.Sync, ranks)
		j.Training.GlobalBatch = 8192 * ranks
		change(&j)
		return runOn(t, h, j, Options{Improve: improve}).Throughput
	}
	same := func(*job.Job) {}
	one, two, eight := of(1, same, nil), of(2, same, nil), of(8, same, nil)
	if two <= one || two >= 2*one || eight <= 2*two || eight >= 8*one {
		t.Errorf("%v samples/s on one GPU, %v on two, %v on eight", one, two, eight)
	}
	if ahead := of(8, func(j *job.Job) { j.Training.Mode = job.Hybrid }, nil); ahead <= 1.1*eight {
		t.Errorf("%v samples/s in hybrid, which gets ids ahead, %v in sync", ahead, eight)
	}
	adam := of(8, func(j *job.Job) { j.Rows.Optimizer.Kind = "adam" }, nil)
	if adam >= eight {
		t.Errorf("%v samples/s with Adam, %v without", adam, eight)
	}
	for resource, factor := range map[string]float64{"wire inside servers": 0.2, "accelerator": 0.5,
		"GPU server cores": 0.5} {
		if slow := of(8, same, map[string]float64{resource: factor}); slow >= eight {
			t.Errorf("%v samples/s with a slower %s, %v without", slow, resource, eight)
		}
	}
	sixteen := of(16, same, nil)
	if slow := of(16, same, map[string]float64{"network bandwidth": 0.2}); slow >= 0.9*sixteen {
		t.Errorf("two servers: %v samples/s with a slower network, %v without", slow, sixteen)
	}
}
