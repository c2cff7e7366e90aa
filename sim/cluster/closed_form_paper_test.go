package cluster

import (
	"math"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/unit"
	"tandem/sim/cost"
	"tandem/sim/device"
)

// oneOfEach returns a training in sync by one of each role, in which nothing overlaps, with its prices.
func oneOfEach(t *testing.T) (job.Cluster, job.Job, *cost.Prices) {
	t.Helper()
	s := small()
	s.EmbeddingWorkers.Count, s.EmbeddingWorkers.PerHost = 1, 1
	s.EmbeddingPSs.Count, s.EmbeddingPSs.PerHost = 1, 1
	j := training(job.Sync, 1)
	j.Training.Overlap = "none"
	j.Training.Prefetch = 1000
	w := clicks()
	return s, j, pricesOf(t, s, &j, tower(t), &w)
}

// hotOneOfEach is oneOfEach with hot rows.
func hotOneOfEach(t *testing.T) (job.Cluster, job.Job, *cost.Prices) {
	t.Helper()
	s, j, _ := oneOfEach(t)
	j.Rows.Hot.Share = 0.001
	w := hotClicks()
	return s, j, pricesOf(t, s, &j, tower(t), &w)
}

// pricesOf returns what the work of a run costs.
func pricesOf(t *testing.T, s job.Cluster, j *job.Job, layout *model.Layout, w *cost.Workload) *cost.Prices {
	t.Helper()
	return cost.NewPrices(hardwareOf(t, s).Resolve(), j, layout, w, !s.Unfold)
}

// alone is the time of host work that nothing else shares the host with.
func alone(c device.HostCost, width int) unit.Tick {
	return max((c.Core+unit.Tick(width)-1)/unit.Tick(width), c.Memory)
}

// passes is the time of both passes of a rank over a batch, which its host thread launches first.
func passes(b *cost.BatchPrice) unit.Tick {
	return b.ForwardHost + b.Forward + b.HotForward + b.BackwardHost + b.Backward + b.HotBackward
}

// transit is the time of a message between two idle hosts: a fixed core time at both ends, the copies of its
// payload, the wire.
func transit(p *cost.Prices, payload unit.Bytes, has bool) unit.Tick {
	if !has {
		return 2*p.Message(p.EWHost, 0, true).Core + p.NetworkWire.Latency
	}
	bytes := payload + msg.HeaderBytes
	end := alone(p.Message(p.EWHost, bytes, true), 1)
	wire := unit.Tick(float64(bytes) / float64(p.EWHost.Network*p.NetworkShare) * 1e9)
	return 2*end + wire + p.NetworkWire.Latency
}

// Persia, Gantt chart, "fully sync": nothing overlaps, so that a step is GE, FC, BC, DS and PEG one after the
// other. With one rank, one EW and one PS, all batches dealt beforehand, that is the sum of priced parts:
//
//	GE   request to the EW, signs to the PS, rows read, rows back, pooling,
//	     embeddings to the rank and into its accelerator
//	FC, BC
//	DS   nothing: one rank
//	PEG  gradients out of the accelerator and to the EW, merging, row gradients
//	     to the PS, their application, two acknowledgements
//
// The dense optimizer runs beside PEG and is shorter.
func TestSyncStepIsTheSumOfItsStages(t *testing.T) {
	for _, made := range []func(*testing.T) (job.Cluster, job.Job, *cost.Prices){oneOfEach, hotOneOfEach} {
		s, j, p := made(t)
		checkStages(t, s, j, p)
	}
}

// checkStages compares the times of steps with sums of prices.
func checkStages(t *testing.T, s job.Cluster, j job.Job, p *cost.Prices) {
	t.Helper()
	b := p.Batch(512)
	sign, values := b.Routed.SignBytes[0], b.Routed.ValueBytes[0]
	embeddings, gradients := b.EmbeddingBytes, b.GradientBytes
	link := func(bytes unit.Bytes) unit.Tick {
		return p.HostLinkWire.Latency + unit.Tick(float64(bytes)/float64(p.HostLinkWire.Bandwidth)*1e9)
	}
	get := transit(p, 0, false) + transit(p, sign, true) + alone(p.ReadRows(b.RowsPerPS, 512),
		p.PSService.Width) + transit(p, values, true) +
		alone(b.Pool, p.EWService.Width) + transit(p, embeddings, true) +
		link(embeddings+msg.HeaderBytes)
	put := link(gradients+msg.HeaderBytes) + transit(p, gradients, true) + alone(p.Merge(512, b.DistinctRows),
		p.EWService.Width) + transit(p, sign+values, true) +
		alone(p.ApplyStep(512, []float64{b.RowsPerPS}), p.PSService.Width) + 2*transit(p, 0, false)
	want := get + passes(b) + put
	// A message never waits for another of its connection.
	for _, h := range []*cost.Hardware{hardwareOf(t, s), connected(hardwareOf(t, s), 1, 0)} {
		a := runOn(t, h, j, Options{WarmUp: 8, Measured: 8, check: true})
		// Each of the some 30 parts is rounded to a nanosecond.
		if d := a.StepTime - want; d < -30 || d > 30 {
			t.Errorf("step takes %v, its parts %v", a.StepTime, want)
		}
		if d := a.StageTimes[pace.GE] - get; d < -15 || d > 15 {
			t.Errorf("GE takes %v, its parts %v", a.StageTimes[pace.GE], get)
		}
		if d := a.StageTimes[pace.PEG] - put; d < -15 || d > 15 {
			t.Errorf("PEG takes %v, its parts %v", a.StageTimes[pace.PEG], put)
		}
	}
}

// hierarchical is the time of an all-reduce of S bytes among N servers of L ranks: reduce-scatter and
// all-gather inside, with L−1 messages each, and between them rings of the servers, with 2(N−1) messages,
// whose parts of S together cross the cards of each server (Thakur, Rabenseifner, Gropp 2005, for each of the
// rings).
func hierarchical(servers, perServer int, bytes float64, inside, across device.Wire) unit.Tick {
	n, l := float64(servers), float64(perServer)
	seconds := 2*(l-1)/l*bytes/float64(inside.Bandwidth) + 2*(n-1)/n*bytes/float64(across.Bandwidth)
	latency := unit.Tick(2*(perServer-1))*inside.Latency + unit.Tick(2*(servers-1))*across.Latency
	return latency + unit.Tick(seconds*1e9)
}

// quiet is the network without embeddings: only the all-reduce uses the wires.
func quiet(t *testing.T) (*model.Layout, cost.Workload) {
	layout := *tower(t)
	layout.EmbeddingWidth = 0
	w := clicks()
	w.Occurrences, w.Distinct = 0, func(int) float64 { return 0 }
	return &layout, w
}

// Persia, Gantt chart, "naive hybrid": GE and PEG of other batches overlap dense work, DS does not. Where
// embeddings are not the bound, a step is FC, BC, DS and the dense optimizer. Hot rows are part of all four.
func TestNaiveHybridStepIsDenseWorkAlone(t *testing.T) {
	for _, hot := range []bool{false, true} {
		j, layout, w := training(job.Hybrid, 8), tower(t), clicks()
		if hot {
			j, w = hotTraining(job.Hybrid, 8), hotClicks()
		}
		j.Training.Overlap = "none"
		p := pricesOf(t, small(), &j, layout, &w)
		b := p.Batch(512)
		want := passes(b) + b.Update
		for _, k := range layout.Buckets {
			want += hierarchical(1, 8, float64(4*(k.Hi-k.Lo)), p.InsideWire, p.NetworkWire)
		}
		if hot { // 16 values of each of 10,000 rows, and how many ranks have the row
			want += p.HotUpdate(0, 4096) + hierarchical(1, 8, 4*17*10_000, p.InsideWire, p.NetworkWire)
		}
		a := run(t, small(), j, Options{check: true})
		if d := a.StepTime - want; d < -10 || d > 10 {
			t.Errorf("hot rows %t: step takes %v, dense work %v", hot, a.StepTime, want)
		}
	}
}

// The all-reduce over servers is a flow beside closed-form parts; alone on its links it takes the closed
// form's time.
func TestAllReduceAloneTakesItsClosedForm(t *testing.T) {
	j := training(job.Hybrid, 32) // 4 servers of 8
	j.Training.Overlap = "none"
	layout, w := quiet(t)
	p := pricesOf(t, small(), &j, layout, &w)
	across := device.Wire{Bandwidth: p.ServerHost.Network * p.NetworkShare, Latency: p.NetworkWire.Latency}
	want := unit.Tick(0)
	for _, k := range layout.Buckets {
		want += hierarchical(4, 8, float64(4*(k.Hi-k.Lo)), p.InsideWire, across)
	}
	a, err := Run(hardwareOf(t, small()), j, layout, w, Options{check: true})
	if err != nil {
		t.Fatal(err)
	}
	if d := a.StageTimes[pace.DS] - want; d < -24 || d > 24 { // four roundings for each of 6 buckets
		t.Errorf("DS takes %v, the closed form %v", a.StageTimes[pace.DS], want)
	}
}

// One accelerator a server, on a network of no other cost than its latency: 62 steps of it for each of the 6
// buckets are longer than anything else.
func TestLatencyOfTheNetworkIsTheNetworks(t *testing.T) {
	s := small()
	s.AcceleratorsPerServer, s.NetworkRate = 1, 1e14
	if got := run(t, s, training(job.Hybrid, 32),
		Options{}).Bottleneck; got != "DS: all-reduce over the network" {
		t.Errorf("bottleneck %q, want the network", got)
	}
}

// Persia, Gantt chart, "optimised hybrid": DS of finished buckets overlaps BC of the others, which can only
// help; and no more than all of BC is gained.
func TestBucketedSyncGainsAtMostBackward(t *testing.T) {
	naive, bucketed := training(job.Hybrid, 8), training(job.Hybrid, 8)
	naive.Training.Overlap, bucketed.Training.Overlap = "none", "ds"
	a, b := run(t, small(), naive, Options{}), run(t, small(), bucketed, Options{})
	gain := a.StepTime - b.StepTime
	if gain <= 0 || gain > a.StageTimes[pace.BC] {
		t.Errorf("overlapping gains %v of BC's %v", gain, a.StageTimes[pace.BC])
	}
}

// Without overlap a rank of async-ps pulls, computes and pushes in turn. With one rank and one dense PS, no
// embeddings and all batches dealt beforehand, a step is the sum of priced parts:
//
//	pull  request, parameters read, parameters back and into the accelerator
//	FC, BC
//	push  gradients out of the accelerator and to the dense PS, the optimizer
//	      there, the acknowledgement
func TestAsyncPSStepIsPullComputePush(t *testing.T) {
	j := training(job.AsyncPS, 1)
	j.Training.Overlap, j.Roles.DensePSs, j.Training.Prefetch = "none", 1, 1000
	staleness := 3
	j.Training.Staleness = &staleness
	layout, w := quiet(t)
	p := pricesOf(t, small(), &j, layout, &w)
	shard := unit.Bytes(4 * layout.Params)
	link := p.HostLinkWire.Time(shard + msg.HeaderBytes)
	pull := transit(p, 0, false) + alone(p.PSHost.CopyCost(shard), p.DensePSService.Width) + transit(p, shard,
		true) + link
	push := link + transit(p, shard, true) + alone(p.ApplyPush(shard, 1), p.DensePSService.Width) + transit(p,
		0,
		false)
	b := p.Batch(512)
	want := pull + passes(b) + push
	a, err := Run(hardwareOf(t, small()), j, layout, w, Options{WarmUp: 8, Measured: 8, check: true})
	if err != nil {
		t.Fatal(err)
	}
	// The header of the embedding gradients leaves beside the push.
	if d := a.StepTime - want; d < -50 || d > 50 {
		t.Errorf("step takes %v, its parts %v", a.StepTime, want)
	}
	if d := a.StageTimes[pace.DS] - push; d < -30 || d > 30 {
		t.Errorf("DS takes %v, its parts %v", a.StageTimes[pace.DS], push)
	}
	if a.Bottleneck != "DS: pushes to dense PSs and pulls" {
		t.Errorf("bottleneck %q", a.Bottleneck)
	}
}

// In async-average no rank waits for another: a step without an average is FC, BC and the rank's own
// optimizer. With an average after every step, a rank folds a mean in before one step and copies its replica
// before the next, where the mean is there by then; half of both is added to a step.
func TestAsyncAverageStepIsDenseWorkAlone(t *testing.T) {
	j := training(job.AsyncAverage, 8)
	j.Training.ModeSettings = map[string]int{"every": 1000}
	layout, w := tower(t), clicks()
	p := pricesOf(t, small(), &j, layout, &w)
	b := p.Batch(512)
	alone := passes(b) + b.Update
	a := run(t, small(), j, Options{check: true})
	if d := a.StepTime - alone; d < -10 || d > 10 {
		t.Errorf("without an average: step takes %v, dense work %v", a.StepTime, alone)
	}
	j = training(job.AsyncAverage, 1)
	j.Training.ModeSettings = map[string]int{"every": 1}
	want := alone + (p.SweepTime(0, 2)+p.SweepTime(0, 4))/2
	a = run(t, small(), j, Options{WarmUp: 16, Measured: 16, check: true})
	if d := a.StepTime - want; d < -10 || d > 10 {
		t.Errorf("with averages: step takes %v, dense work %v", a.StepTime, want)
	}
}

// An average that is under way all the time takes its share of the accelerator from every kernel: with half
// of it, the kernels of a step take twice as long, and its launches as long as before.
func TestBackgroundAveragesSlowKernels(t *testing.T) {
	j := training(job.AsyncAverage, 8)
	j.Training.ModeSettings = map[string]int{"every": 1}
	layout, w := tower(t), clicks()
	b := pricesOf(t, small(), &j, layout, &w).Batch(512)
	step := func(share string) unit.Tick {
		s := small()
		s.Set = map[string]string{"inside.bandwidth": "100MB/s", "system.nn-worker.interference": share}
		return run(t, s, j, Options{WarmUp: 16, Measured: 32}).StepTime
	}
	kernels := b.Forward + b.Backward + b.Update
	if gain, want := step("0.5")-step("0"), kernels; math.Abs(float64(gain-want)) > 0.02*float64(want) {
		t.Errorf("half of the accelerator costs %v a step, whose kernels take %v", gain, want)
	}
}
