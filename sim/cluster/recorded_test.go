package cluster

import (
	"testing"

	"tandem/algo/job"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/sim/cost"
)

// One core does one thing after the other: a step takes the sum of what was recorded, and half of what a
// batch of twice the size takes.
func TestRecordedTimesAddUpOnOneCore(t *testing.T) {
	j := training(job.Sync, 1)
	j.Training.Prefetch = 1 // the steps measured read as many batches as they train
	r := &cost.RecordedTimes{Reduce: make([]unit.Tick, 100)}
	sum := unit.Tick(0)
	for _, kind := range []role.WorkKind{role.Read, role.Split, role.ReadRows, role.Pool, role.Forward,
		role.Backward, role.Merge,
		role.ApplyStep, role.DenseApply} {
		takes := unit.Tick(1+kind) * unit.Millisecond
		sum += takes
		size := int32(0)
		switch kind {
		case role.Read, role.ApplyStep, role.DenseApply: // of any size
		default:
			size, takes = int32(2*j.Training.GlobalBatch), 2*takes
		}
		r.Work = append(r.Work, cost.RecordedWork{Kind: kind, Samples: size, Time: takes})
	}
	for i := range r.Reduce {
		r.Reduce[i] = 10 * unit.Microsecond
	}
	m := cost.MeasuredMachine{Cores: 1, Multiply: 1, CopySpeed: 1, RowTime: 1, MessageTime: 2,
		Date: "2026-01-01", Recorded: r}
	a := runOn(t, cost.ThisMachine(m), j, Options{check: true})
	want := sum.Seconds() + 10e-6*float64(len(tower(t).Buckets))
	if got := a.StepTime.Seconds(); got < want || got > want*1.001 {
		t.Errorf("a step takes %v s, the work recorded %v s", got, want)
	}
}

// Every rank's own replica is updated where ranks have one each, and the one that all share once.
func TestRecordedUpdateOfSharedReplica(t *testing.T) {
	const update = unit.Second // nothing else counts
	r := &cost.RecordedTimes{Work: []cost.RecordedWork{{Kind: role.DenseApply, Time: update}}}
	m := cost.MeasuredMachine{Cores: 1, Multiply: 1e15, CopySpeed: 1e12, RowTime: 1, MessageTime: 2,
		Date: "2026-01-01", Recorded: r}
	for mode, updates := range map[string]float64{job.Hybrid: 1, job.AsyncAverage: 4} {
		j := training(mode, 4)
		a := runOn(t, cost.ThisMachine(m), j, Options{check: true})
		if got := a.StepTime.Seconds(); got < updates || got > updates*1.05 {
			t.Errorf("%s: a step takes %v s, want %v updates of 1 s", mode, got, updates)
		}
	}
}
