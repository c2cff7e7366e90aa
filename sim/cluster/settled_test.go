package cluster

import (
	"math"
	"testing"

	"tandem/algo/job"
)

// One slow embedding worker binds hybrid: ranks train at their own pace until the batches in flight wait
// there. A run measures what comes after, which a run of many more steps measures too; the first steps are
// faster.
func TestRunMeasuresTheSettledState(t *testing.T) {
	s := small()
	s.EmbeddingWorkers.Count, s.EmbeddingWorkers.PerHost = 1, 1
	s.Set = map[string]string{"embedding-workers.cores": "1"}
	j := training(job.Hybrid, 4)
	settled, long := run(t, s, j, Options{}), run(t, s, j, Options{WarmUp: 60, Measured: 100})
	if d := settled.Throughput/long.Throughput - 1; math.Abs(d) > 0.03 || settled.Unsettled {
		t.Errorf("%.0f samples/s, %.0f after many steps; unsettled: %t", settled.Throughput, long.Throughput,
			settled.Unsettled)
	}
	if early := run(t, s, j, Options{WarmUp: j.Depth() + 1, Measured: 6}); early.Throughput <
		1.5*long.Throughput {
		t.Errorf("the first steps have %.0f samples/s, the others %.0f; want a case that settles late",
			early.Throughput, long.Throughput)
	}
	if n := len(settled.StepTimes); n != 2*max(windowSteps, j.Depth()) {
		t.Errorf("%d steps are measured, want two windows", n)
	}
}

// Windows hold a whole cycle of the mode, but not one of very many steps.
func TestWindowsHoldACycle(t *testing.T) {
	// A rank has 10 batches in flight.
	for every, want := range map[int]int{1: 10, 40: 40, 1_000_000: cycleMost} {
		j := training(job.AsyncAverage, 2)
		j.Training.ModeSettings = map[string]int{"every": every}
		if got := spanOf(&j, &Options{}).window; got != want {
			t.Errorf("every %d: windows of %d steps, want %d", every, got, want)
		}
	}
}

// With factors that spread over orders of magnitude, no two windows agree, and the result says so.
func TestRunThatNeverSettlesSaysSo(t *testing.T) {
	a := run(t, small(), training(job.Sync, 1), Options{Jitter: 2, Seed: 3})
	if !a.Unsettled || math.Abs(a.Drift) < agreement || a.Throughput <= 0 {
		t.Errorf("unsettled: %t, drift %.3f, %.0f samples/s", a.Unsettled, a.Drift, a.Throughput)
	}
}
