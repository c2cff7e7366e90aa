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
	"tandem/runtime/probe"
	"tandem/sim/cost"
)

// Each of two ranks finishes a batch every 10 ms: a step takes 10 ms, although the first and the last steps
// were slow.
func TestStepTimeLeavesOutTheFirstAndLastSteps(t *testing.T) {
	c := newStageClock()
	at, worked := unit.Tick(0), time.Duration(0)
	c.cpu = func() time.Duration { worked += 3 * time.Millisecond; return worked } // for a batch
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
	if got, cpu := c.stepSeconds(2); math.Abs(got-0.01) > 0.0003 || math.Abs(cpu-0.006) > 1e-9 {
		t.Errorf("a step takes %v s and %v s of the cores, want 0.01 and 0.006", got, cpu)
	}
}

// Times are means. One rank updates the dense replica. Kinds of work that sync does not have follow from
// those that it has.
func TestRecordedTimesOfCalibration(t *testing.T) {
	c := NewCalibration()
	worked := func(kind role.WorkKind, step, samples int32, ms ...int) {
		for _, m := range ms {
			c.Worked(role.Work{Kind: kind, Step: step, Samples: samples}, time.Duration(m)*time.Millisecond)
		}
	}
	worked(role.Forward, 0, 64, 7, 1, 1)
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

// What cores work beside the recorded work is shared among the messages: 20 ms of CPU time a step, of which 8
// are work, over 6 messages.
func TestOverheadOfMessages(t *testing.T) {
	c := NewCalibration()
	for step := range int32(10) {
		c.Worked(role.Work{Kind: role.Forward, Step: step}, 6*time.Millisecond)
		c.Worked(role.Work{Kind: role.DenseApply, Step: step}, 2*time.Millisecond)
	}
	for _, test := range []struct {
		cpu      float64
		messages int64
		want     unit.Tick
	}{
		{0.020, 6, 2 * unit.Millisecond},
		{0.007, 6, 0}, // interrupted work took longer than the cores worked
		{0, 6, 0},     // the system does not say
	} {
		got := c.Overhead(&Run{CPUSeconds: test.cpu}, test.messages)
		if got < test.want-1 || got > test.want+1 {
			t.Errorf("%v s, %d messages: %v, want %v", test.cpu, test.messages, got, test.want)
		}
	}
	training := job.Default()
	machine := &probe.Result{Message: 4 * unit.Microsecond}
	for overhead, want := range map[unit.Tick]unit.Tick{0: 2 * unit.Microsecond, 100: 50} {
		h := c.Cluster(&training, machine, overhead)
		if h.System.Messages.Time.Mid != want || h.Inside.Latency.Mid != machine.Message {
			t.Errorf("overhead %v: %v at each end, latency %v", overhead, h.System.Messages.Time.Mid,
				h.Inside.Latency.Mid)
		}
	}
}
