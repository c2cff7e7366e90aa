package main

import (
	"testing"

	"tandem/algo/job"
	"tandem/algo/protocol/fault"
	"tandem/algo/unit"
	"tandem/datasets"
	"tandem/runtime/train"
)

// inBoth trains a job with faults in the simulator, with two numbers of workers, and in the runtime.
func inBoth(t *testing.T, q *request, mode, faults string, retry unit.Tick) (simulated *training,
	real *train.Result) {
	t.Helper()
	var err error
	if q.job.Faults, err = fault.Parse(faults); err != nil {
		t.Fatal(err)
	}
	q.job.Wire.Retry = retry
	for _, workers := range []int{2, 1} {
		q.workers = workers
		again, err := q.trainAt(q.jobFor(mode, 4), 0, func(int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		if simulated != nil && (trace(simulated) != trace(again) ||
			simulated.answer.Faults != again.answer.Faults) {
			t.Errorf("%s, %s: two workers %s and one %s", mode, faults, trace(simulated), trace(again))
		}
		simulated = again
	}
	j := q.jobFor(mode, 4)
	source, err := datasets.TrainingSource(q.data, &j)
	if err != nil {
		t.Fatal(err)
	}
	if real, err = train.Run(t.Context(), j, source, q.data.Test, train.Options{}); err != nil {
		t.Fatal(err)
	}
	return simulated, real
}

// Under sync, lost and repeated messages and crashes change not a bit, in either driver.
func TestSyncWithFaultsHasTheSameBitsInBothDrivers(t *testing.T) {
	const faults = "drop=0.02,duplicate=0.02,reorder=8,delay=0.02:5ms,seed=2," +
		"crash=embedding-worker/1@3+20ms,crash=data-loader/0@6+20ms,crash=nn-worker/1@8+20ms"
	simulated, real := inBoth(t, smallRequest(t), job.Sync, faults, 20*unit.Millisecond)
	checkSequential(t, smallRequest(t), simulated)
	if simulated.trained.DenseDigest != real.DenseDigest || simulated.trained.RowsDigest != real.RowsDigest {
		t.Errorf("simulated %x %x, in the runtime %x %x", simulated.trained.DenseDigest,
			simulated.trained.RowsDigest,
			real.DenseDigest, real.RowsDigest)
	}
	for name, c := range map[string]fault.Counts{"simulated": simulated.answer.Faults, "real": real.Faults} {
		if c.Dropped == 0 || c.Duplicated == 0 || c.Crashes != 3 {
			t.Errorf("%s: %v", name, c)
		}
	}
}

// The n-th message from one role to another has the same fate in both drivers: where none is lost or
// repeated, and so each is sent once, both count as many that were late or held back.
func TestFatesAreTheSameInBothDrivers(t *testing.T) {
	for _, mode := range []string{job.Sync, job.Hybrid, job.AsyncPS} {
		simulated, real := inBoth(t, smallRequest(t), mode, "reorder=4,delay=0.3:1ms,seed=5", unit.Minute)
		if simulated.answer.Faults != real.Faults || real.Faults.Delayed == 0 || real.Faults.Held == 0 {
			t.Errorf("%s: simulated, %v; in the runtime, %v", mode, simulated.answer.Faults, real.Faults)
		}
	}
}
