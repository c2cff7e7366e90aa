package cluster

import (
	"math"
	"testing"

	"tandem/algo/job"
	"tandem/algo/rng"
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
