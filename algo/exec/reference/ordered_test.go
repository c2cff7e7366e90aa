package reference

import (
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/exectest"
	"tandem/algo/job"
	"tandem/algo/protocol/delay"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
)

// stepwise returns the order of sequential training with rows late by some steps.
func stepwise(ranks, pss, steps, late int) *Order {
	o := NewOrderRecorder(ranks, pss)
	all := func(kind event.Kind, step int) {
		for rank := range ranks {
			for ps := range pss {
				o.Observe(event.Record{Kind: kind, Rank: int32(rank), Step: int32(step),
					Role: msg.Address{Role: msg.EmbeddingPS, Index: int32(ps)}})
			}
		}
	}
	for step := range steps + late {
		if step < steps {
			all(event.LookupServed, step)
		}
		if step >= late {
			all(event.PutApplied, step-late)
		}
	}
	return o.Order()
}

func orderedJob() job.Job {
	t := exectest.Job(2, 2)
	t.Training.Mode, t.Training.Merge = job.Sequential, job.MergeRank
	return t
}

// In the order of sequential training, with or without delay, the bits are those of this training.
func TestOrderOfStepsIsSequential(t *testing.T) {
	source := exectest.NewColumns(16*8+5, 16)
	for _, late := range []int{0, 3} {
		want := orderedJob()
		want.Training.Delay = delay.Spec{Kind: delay.Exactly, Steps: late}
		d := mustNewDelayed(t, want, source)
		o := stepwise(2, 2, source.Steps(), late)
		got, err := NewOrdered(orderedJob(), source, backend.Backend{}, o)
		if err != nil {
			t.Fatal(err)
		}
		for step := range source.Steps() {
			if err := d.Step(step); err != nil {
				t.Fatal(err)
			}
			if err := got.Step(step); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Finish(); err != nil {
			t.Fatal(err)
		}
		if !same(got.Sequential, d.Sequential) {
			t.Errorf("late by %d: the bits differ", late)
		}
		for step, got := range o.Delays(source.Steps()) {
			if want := min(late, source.Steps()-1-step); got != want {
				t.Errorf("late by %d: step %d has delay %d, want %d", late, step, got, want)
			}
		}
	}
}

// The delay of a step is the rounded mean of the later reads that miss its updates, by reading rank.
func TestDelaysAreMeansOverRanksAndPSs(t *testing.T) {
	for _, c := range []struct {
		order Order
		want  []int
	}{
		{Order{1, 1, []int32{0, 2, 1, 4, 3, 5}}, []int{1, 1, 0}},
		{Order{1, 1, []int32{0, 2, 4, 1, 3, 5}}, []int{2, 1, 0}},
		// Both PSs: 1 of step 0 on the first, none on the second.
		{Order{1, 2, []int32{0, 4, 1, 5, 2, 3, 6, 7}}, []int{1, 0}},
		// One of two ranks reads step 1 before the updates of both of step 0: ½.
		{Order{2, 1, []int32{0, 2, 4, 1, 3, 6, 5, 7}}, []int{1, 0}},
		// The same before the update of one of them: ¼.
		{Order{2, 1, []int32{0, 2, 1, 4, 3, 6, 5, 7}}, []int{0, 0}},
		{Order{1, 1, []int32{0, 1, 99, -4}}, []int{0, 0}},
	} {
		if got := c.order.Delays(len(c.want)); !slices.Equal(got, c.want) {
			t.Errorf("%v: delays %v, want %v", c.order, got, c.want)
		}
	}
}

// A job whose rows expire follows no order: each PS of the run has expired its rows with a read of its own.
func TestRowsThatExpireFollowNoOrder(t *testing.T) {
	source, j := exectest.NewColumns(16*3, 16), orderedJob()
	j.Data.Slots = []job.SlotSetting{{Slot: "tags", Expiry: new(3)}}
	if _, err := NewOrdered(j, source, backend.Backend{}, stepwise(2, 2, 3, 0)); err != errNotOrdered {
		t.Errorf("error %v, want %v", err, errNotOrdered)
	}
}

// An order that no run has is refused, at the access that is wrong.
func TestImpossibleOrders(t *testing.T) {
	source := exectest.NewColumns(16*3, 16)
	change := func(set func(all []int32) []int32) *Order {
		o := stepwise(2, 2, source.Steps(), 1)
		o.Accesses = set(o.Accesses)
		return o
	}
	for want, o := range map[string]*Order{
		"access 0: access -1 is out of range; want 0 to 23": change(func(all []int32) []int32 {
			all[0] = -1
			return all
		}),
		"access 24 is out of range": change(func(all []int32) []int32 { return append(all, 24) }),
		"access 1: rank 0, step 0, PS 0: want one read and then": change(func(all []int32) []int32 {
			return slices.Insert(all, 1, 0)
		}),
		"rank 1, step 0, PS 1: the rows are not read": change(func(all []int32) []int32 {
			return slices.DeleteFunc(all, func(n int32) bool { return n == 6 || n == 7 })
		}),
		"access 0: rank 0, step 0, PS 0: want one read": change(func(all []int32) []int32 {
			return slices.Insert(all, 0, 1)
		}),
		"1 batches are not updated on every PS": change(func(all []int32) []int32 {
			return all[:len(all)-1]
		}),
		"a read after the step's end": change(func(all []int32) []int32 { return append(all, 0) }),
		"no rows are read":            change(func([]int32) []int32 { return nil }),
	} {
		q, err := NewOrdered(orderedJob(), source, backend.Backend{}, o)
		for step := 0; err == nil && step < source.Steps(); step++ {
			err = q.Step(step)
		}
		if want == "no rows are read" {
			want = "the rows are not read"
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// An order needs a job that leaves everything else to it.
func TestJobsWithoutOrder(t *testing.T) {
	source := exectest.NewColumns(16*3, 16)
	for name, set := range map[string]func(t *job.Job){
		"delay": func(t *job.Job) { t.Training.Delay = delay.Spec{Kind: delay.Exactly, Steps: 1} },
		"merge": func(t *job.Job) { t.Training.Merge = job.MergeStep },
		"ranks": func(t *job.Job) { t.Roles.Ranks = 4 },
		"PSs":   func(t *job.Job) { t.Roles.EmbeddingPSs = 1 },
		"share": func(t *job.Job) { t.Rows.Hot.Share = 0.1 },
		"auto":  func(t *job.Job) { t.Rows.Hot.Auto = true },
	} {
		j := orderedJob()
		set(&j)
		if _, err := NewOrdered(j, source, backend.Backend{}, stepwise(2, 2, 3, 0)); err == nil ||
			!strings.Contains(err.Error(), "recorded order") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
