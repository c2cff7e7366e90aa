package paired

import (
	"math"
	"slices"
	"testing"
	"time"

	"tandem/algo/job"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/sim/cost"
)

// Each of two ranks finishes a batch every 10 ms: a step takes 10 ms, although the first and the last steps
// were slow.
func TestStepTimeLeavesOutTheFirstAndLastSteps(t *testing.T) {
	c := newStageClock()
	at := unit.Tick(0)
	for step := range int32(40) {
		takes := 10 * unit.Millisecond
		if step < 2 || step > 37 {
			takes = unit.Second
		}
		at += takes
		for rank := range int32(2) {
			c.Observe(event.Record{At: at, Kind: event.BatchDone, Rank: rank, Step: step})
		}
	}
	// From the 9th to the 72nd of 80 batches: 31.5 steps.
	if got := c.stepSeconds(2); math.Abs(got-0.01) > 0.0003 {
		t.Errorf("a step takes %v s, want 0.01", got)
	}
}

// Times are medians. One rank updates the dense replica. Kinds of work that sync does not have follow from
// those that it has.
func TestRecordedTimesOfCalibration(t *testing.T) {
	c := NewCalibration()
	worked := func(kind role.WorkKind, step, samples int32, ms ...int) {
		for _, m := range ms {
			c.Worked(role.Work{Kind: kind, Step: step, Samples: samples}, time.Duration(m)*time.Millisecond)
		}
	}
	worked(role.Forward, 0, 64, 5, 1, 3)
	worked(role.Forward, 9, 10, 90)      // the short step at the end
	worked(role.ApplyStep, 0, 0, 8)      // of 4 ranks
	worked(role.DenseApply, 0, 64, 0, 6) // the other rank had done it
	worked(role.DenseApply, 1, 64, 6, 0)
	c.Reduced(0, 2*time.Millisecond)
	training := job.Default()
	training.Roles.Ranks, training.Training.GlobalBatch, training.Roles.DensePSs = 4, 256, 2
	r := c.Recorded(&training)
	for _, want := range []cost.RecordedWork{
		{Kind: role.Forward, Samples: 64, Time: 3e6},
		{Kind: role.ApplyStep, Time: 8e6}, {Kind: role.Apply, Samples: 64, Time: 2e6},
		{Kind: role.DenseApply, Time: 6e6}, {Kind: role.ApplyPush, Time: 3e6},
	} {
		if !slices.Contains(r.Work, want) {
			t.Errorf("%v is not among %v", want, r.Work)
		}
	}
	if len(r.Work) != 5 || !slices.Equal(r.Reduce, []unit.Tick{2e6}) {
		t.Errorf("work %v, reductions %v", r.Work, r.Reduce)
	}
}
