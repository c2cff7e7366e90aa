package reference

import (
	"slices"
	"testing"

	"tandem/algo/exec/exectest"
	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/delay"
)

// exempting returns a training with delayed rows, except those that a share of the samples contain.
func exempting(rows delay.Spec, leastShare float64) job.Job {
	t := delayed(rows, delay.Spec{})
	t.Training.HotRows = &leastShare
	return t
}

// With a threshold of 0 no row is late, and with one above 1 every row is: bit for bit, after every step, in
// every way to merge gradients.
func TestEveryRowOrNoRowIsHot(t *testing.T) {
	source := exectest.NewColumns(16*12, 16)
	spec := delay.Spec{Kind: delay.AtMost, Steps: 4}
	for _, merge := range []string{job.MergeStep, job.MergeRank} {
		for _, c := range []struct {
			least float64
			want  delay.Spec
		}{{0, delay.Spec{}}, {1.01, spec}} {
			exempt, plain := exempting(spec, c.least), delayed(c.want, delay.Spec{})
			exempt.Training.Merge, plain.Training.Merge = merge, merge
			got, want := mustNewDelayed(t, exempt, source), mustNewDelayed(t, plain, source)
			for step := range source.Steps() {
				mustStep(t, got, step)
				mustStep(t, want, step)
				if !same(got.Sequential, want.Sequential) {
					t.Fatalf("%s, threshold %v: step %d differs", merge, c.least, step)
				}
			}
			if err := got.Finish(); err != nil {
				t.Fatal(err)
			}
			if err := want.Finish(); err != nil {
				t.Fatal(err)
			}
			if !same(got.Sequential, want.Sequential) {
				t.Errorf("%s, threshold %v: Finish leaves other parameters", merge, c.least)
			}
			missed, wantMissed := got.Missed(), want.Missed()
			own, wantOwn := got.Staleness().Own, want.Staleness().Own
			if missed.Summary() != wantMissed.Summary() || own.Summary() != wantOwn.Summary() {
				t.Errorf("%s, threshold %v: missed %+v, want %+v; own %+v, want %+v", merge, c.least,
					missed.Summary(), wantMissed.Summary(), own.Summary(), wantOwn.Summary())
			}
		}
	}
}

// occurrence is an id in a slot.
type occurrence struct {
	slot int
	id   uint64
}

// contents returns the ids of a range of samples, each once.
func contents(b *batch.Batch, lo, hi int) map[occurrence]bool {
	all := map[occurrence]bool{}
	for s, slot := range b.Slots {
		for sample := lo; sample < hi; sample++ {
			for _, id := range slot.SampleIDs(sample) {
				all[occurrence{s, id}] = true
			}
		}
	}
	return all
}

// leastHot returns a number of samples that some ids are in, and that one more id would reach if it counted
// twice where a sample repeats it.
func leastHot(t *testing.T, b *batch.Batch, shares map[occurrence]int) int {
	for s, slot := range b.Slots {
		for sample := range b.Samples {
			ids := slot.SampleIDs(sample)
			for i, id := range ids {
				if slices.Contains(ids[:i], id) {
					n := shares[occurrence{s, id}] + 1
					for _, other := range shares { // order-free: any will do
						if other == n {
							return n
						}
					}
				}
			}
		}
	}
	t.Fatal("no sample repeats an id")
	return 0
}

// A row is hot if its id is in at least the given share of the samples, counted once a sample. Gradients of
// hot rows miss nothing. A gradient of another row, delayed by exactly d steps, misses one update for each of
// the d steps before its own whose samples have its id. Rows are never shared by two slots here, and a step
// has one put.
func TestOnlyHotRowsMissNothing(t *testing.T) {
	const size, steps, late, samples = 4, 30, 3, 4 * 30
	source := exectest.NewColumns(samples, size)
	shares := map[occurrence]int{}
	for sample := range samples {
		for o := range contents(source.All, sample, sample+1) {
			shares[o]++
		}
	}
	least := leastHot(t, source.All, shares)
	var want histogram.Histogram
	hot, hotGradients := map[occurrence]bool{}, uint64(0)
	for o, n := range shares {
		hot[o] = n >= least
	}
	for step := range steps {
		for o := range contents(source.All, step*size, (step+1)*size) {
			missed := 0
			if hot[o] {
				hotGradients++
			} else {
				for before := max(0, step-late); before < step; before++ {
					if contents(source.All, before*size, (before+1)*size)[o] {
						missed++
					}
				}
			}
			want.Add(missed)
		}
	}
	training := exempting(delay.Spec{Kind: delay.Exactly, Steps: late},
		float64(least)/samples)
	training.Roles.Ranks, training.Training.GlobalBatch = 1, size
	runs := [2]*Delayed{mustNewDelayed(t, training, source), mustNewDelayed(t, training, source)}
	for _, d := range runs {
		for step := range steps {
			mustStep(t, d, step)
		}
		if err := d.Finish(); err != nil {
			t.Fatal(err)
		}
	}
	if !same(runs[0].Sequential, runs[1].Sequential) {
		t.Error("two runs differ")
	}
	rows, gradients := runs[0].Hot()
	wantRows := 0
	for _, isHot := range hot {
		if isHot {
			wantRows++
		}
	}
	if rows != wantRows || rows == 0 || rows == len(shares) || gradients != hotGradients {
		t.Errorf("%d of %d rows are hot, with %d gradients; want %d, %d", rows, len(shares), gradients,
			wantRows,
			hotGradients)
	}
	missed := runs[0].Missed()
	counts := map[int]uint64{}
	for value, count := range missed.All() {
		counts[value] = count
	}
	for value, count := range want.All() {
		if counts[value] != count {
			t.Errorf("%d gradients missed %d updates, want %d", counts[value], value, count)
		}
	}
	if missed.Count() != want.Count() || want.Max() == 0 {
		t.Errorf("%d gradients, want %d; at most %d missed", missed.Count(), want.Count(), want.Max())
	}
}

// mustStep trains one step.
func mustStep(t *testing.T, d *Delayed, step int) {
	t.Helper()
	if err := d.Step(step); err != nil {
		t.Fatal(err)
	}
}
