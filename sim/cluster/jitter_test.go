package cluster

import (
	"math"
	"slices"
	"testing"

	"tandem/algo/job"
	"tandem/algo/protocol/event"
	"tandem/algo/rng"
	"tandem/algo/unit"
)

// Without overlap a step of hybrid training is FC, BC, DS and the optimizer; ranks wait for the slowest
// device.
func TestSlowestDeviceSetsTheStep(t *testing.T) {
	j := training(job.Hybrid, 8)
	j.Training.Overlap = "none"
	layout, w := tower(t), clicks()
	b := pricesOf(t, small(), &j, layout, &w).Batch(512)
	const spread, seed = 0.2, 7
	slowest := 0.0
	for rank := range uint64(8) {
		slowest = max(slowest, math.Exp(spread*rng.New(seed, "sim/device",
			rank).NormFloat64()-spread*spread/2))
	}
	steady := run(t, small(), j, Options{})
	spreaded := run(t, small(), j, Options{DeviceSpread: spread, Seed: seed})
	want := steady.StepTime + (b.Forward + b.Backward + b.Update).Scale(slowest-1)
	if d := spreaded.StepTime - want; slowest < 1.1 || d < -20 || d > 20 {
		t.Errorf("step takes %v, want %v with a device %.2f times as slow", spreaded.StepTime, want, slowest)
	}
}

// Sync training without overlap waits for every stage, so jitter of hosts and messages slows it down; the
// same seed gives the same run.
func TestHostJitterSlowsLockStepDown(t *testing.T) {
	j := training(job.Sync, 8)
	j.Training.Overlap = "none"
	steady := run(t, small(), j, Options{Measured: 30})
	jittery := run(t, small(), j, Options{HostJitter: 0.5, Seed: 1, Measured: 30})
	again := run(t, small(), j, Options{HostJitter: 0.5, Seed: 1, Measured: 30})
	other := run(t, small(), j, Options{HostJitter: 0.5, Seed: 2, Measured: 30})
	if jittery.Throughput >= steady.Throughput {
		t.Errorf("with jitter %.0f samples/s, without %.0f", jittery.Throughput, steady.Throughput)
	}
	if again.Throughput != jittery.Throughput || other.Throughput == jittery.Throughput {
		t.Errorf("seed 1 %v and %v, seed 2 %v samples/s", jittery.Throughput, again.Throughput,
			other.Throughput)
	}
}

// embeddingTimes notes when the embeddings of the ranks arrive for a step.
type embeddingTimes struct {
	step int32
	at   []unit.Tick
}

func (e *embeddingTimes) Observe(r event.Record) {
	if r.Kind == event.EmbeddingsArrived && r.Step == e.step {
		e.at = append(e.at, r.At)
	}
}

// The figures of the package comment for why a class of ranks takes the draws of its slowest member: without
// jitter ranks are almost alike, with it none are, and a step is longer by much more than they differed.
func TestRanksAreAlikeOnlyWithoutJitter(t *testing.T) {
	arrivals := func(mode string, jitter bool) (result Result, at []unit.Tick) {
		e := &embeddingTimes{step: 15}
		result = run(t, job.PersiaCluster(), training(mode, 64),
			Options{WarmUp: 10, Measured: 10, SystemJitter: jitter, Observer: e})
		slices.Sort(e.at)
		return result, e.at
	}
	for _, c := range []struct {
		mode           string
		instants       int
		spread, longer float64 // of a step
	}{{job.Sync, 4, 0.001, 0.044}, {job.Hybrid, 4, 0.012, 0.035}} {
		steady, at := arrivals(c.mode, false)
		with, apart := arrivals(c.mode, true)
		if len(at) != 64 || len(slices.Compact(apart)) != 64 {
			t.Fatalf("%s: embeddings of %d ranks, with jitter at %v", c.mode, len(at), apart)
		}
		spread := (at[63] - at[0]).Seconds() / steady.StepTime.Seconds()
		if n := len(slices.Compact(at)); n > c.instants || spread > c.spread {
			t.Errorf("%s: embeddings arrive at %d instants within %.4f steps", c.mode, n, spread)
		}
		longer := with.StepTime.Seconds()/steady.StepTime.Seconds() - 1
		if math.Abs(longer-c.longer) > 0.005 || longer < 2*spread {
			t.Errorf("%s: jitter makes a step %.3f longer, want about %.3f", c.mode, longer, c.longer)
		}
	}
}
