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

// The figures of the package comment for why ranks are not folded: without jitter they are almost alike, and
// with it a step is longer by much more than they differ.
func TestRanksAreAlikeOnlyWithoutJitter(t *testing.T) {
	for _, c := range []struct {
		mode           string
		instants       int
		spread, longer float64 // of a step
	}{{job.Sync, 4, 0.001, 0.05}, {job.Hybrid, 4, 0.012, 0.04}} {
		e := &embeddingTimes{step: 15}
		o := Options{WarmUp: 10, Measured: 10}
		j := training(c.mode, 64)
		jittery := o
		jittery.SystemJitter, o.Observer = true, e
		steady, with := run(t, job.PersiaCluster(), j, o), run(t, job.PersiaCluster(), j, jittery)
		slices.Sort(e.at)
		spread := (e.at[len(e.at)-1] - e.at[0]).Seconds() / steady.StepTime.Seconds()
		n := len(slices.Compact(slices.Clone(e.at)))
		if len(e.at) != 64 || n > c.instants || spread > c.spread {
			t.Errorf("%s: embeddings of %d ranks arrive at %d instants within %.4f steps", c.mode, len(e.at),
				n, spread)
		}
		longer := with.StepTime.Seconds()/steady.StepTime.Seconds() - 1
		if math.Abs(longer-c.longer) > 0.01 {
			t.Errorf("%s: jitter makes a step %.3f longer, want about %.2f", c.mode, longer, c.longer)
		}
	}
}
