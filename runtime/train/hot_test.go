package train

import (
	"slices"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/rng"
)

// If every row is hot, which takes data without raw slots, hybrid is sync: nothing is left that could be
// stale, and every bit is that of sequential training.
func TestHybridWithAllRowsHotIsSync(t *testing.T) {
	trained, gradients := 0, uint64(0)
	for n := uint64(0); trained < 20; n++ {
		c := newConfiguration(n)
		stays := func(s batch.Slot) bool {
			return !s.CanBeHot() || s.Dim != c.training.Model.Dim() || s.Class != 0
		}
		ages := func(s job.RowSettings) bool { return s.Expiry > 0 || s.AdmissionCount > 0 }
		if slices.ContainsFunc(c.rows.schema.Slots, stays) || c.training.Rows.Eviction == job.SecondChance ||
			slices.ContainsFunc(c.training.RowSettings(), ages) {
			continue
		}
		trained++
		c.training.Training.Merge = ""
		reference := c.training.InMode(job.Sequential)
		want, err := outcome(Run(t.Context(), reference, c.rows, c.rows.all, Options{}))
		if err != nil {
			continue
		}
		hybrid := c.training.InMode(job.Hybrid)
		hybrid.Rows.Hot = job.Hot{Share: 1e-9}
		result, err := Run(t.Context(), hybrid, c.rows, c.rows.all, Options{})
		got, _ := outcome(result, err)
		if got != want {
			t.Errorf("%v: sequential has %s, hybrid with all rows hot has %s", c, want, got)
			continue
		}
		missed := result.MissedUpdates
		if gradients += missed.Count(); missed.Max() != 0 {
			t.Errorf("%v: a gradient missed %d updates", c, missed.Max())
		}
	}
	if gradients == 0 {
		t.Error("no row has a gradient")
	}
}

// drifting returns a source of steps of 64 samples with one slot. Each sample has one of 10 ids, which are
// others from a step on.
func drifting(steps, from int) *rows {
	r := &rows{size: 64, schema: batch.Schema{Slots: []batch.Slot{{Name: "user", Dim: 4}},
		Dense: []string{"age"}, Labels: []string{"click"}, PrefixBits: 8}}
	draw := rng.New(3, "drifting")
	b := &batch.Batch{Samples: 64 * steps, Slots: []batch.Jagged{{Offsets: []int32{0}}}}
	for i := range b.Samples {
		id := draw.IntN(10)
		if i >= 64*from {
			id += 100
		}
		b.Slots[0].IDs = append(b.Slots[0].IDs, uint64(id))
		b.Slots[0].Offsets = append(b.Slots[0].Offsets, int32(i+1))
		x := draw.NormFloat64()
		b.Dense, b.Labels = append(b.Dense, float32(x)), append(b.Labels, 0)
		if float64(id%2)+x+draw.NormFloat64() > 0.5 {
			b.Labels[i] = 1
		}
	}
	r.all = b
	return r
}

// gradients returns the number of row gradients of the steps from lo to below hi: each rank has one for each
// of its distinct ids.
func (r *rows) gradients(t *testing.T, ranks, lo, hi int) (n uint64) {
	t.Helper()
	for step := lo; step < hi; step++ {
		global, err := r.Read(step)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range batch.Cut(global, 8, ranks) {
			ids := map[uint64]bool{}
			for sample := part.Bounds[0]; sample < part.Bounds[len(part.Bounds)-1]; sample++ {
				for _, id := range part.Slots[0].SampleIDs(sample) {
					ids[id] = true
				}
			}
			n += uint64(len(ids))
		}
	}
	return n
}

// lateGradients returns how many row gradients have missed an update.
func lateGradients(r *Result) (n uint64) {
	for missed, gradients := range r.MissedUpdates.All() {
		if missed > 0 {
			n += gradients
		}
	}
	return n
}

// The frequent rows change in step 24 of 40. With a fixed set, those of the rest of the training stay on the
// PSs, and are late. Where the rows are counted again every 8 steps, they are hot from step 32 on, and no
// gradient of a hot row has missed an update.
func TestPromotedRowsAreNotLate(t *testing.T) {
	const steps, change, every, ranks = 40, 24, 8, 4
	r, two := drifting(steps, change), 2
	fixed := small(job.Hybrid, ranks)
	fixed.Training.Staleness, fixed.Rows.Hot = &two, job.Hot{Share: 0.01, Most: 10}
	again := fixed
	again.Rows.Hot.Every = every
	for _, c := range []struct {
		training job.Job
		hotEnd   int // the step before which the rows are cold again, from change on
		choices  []HotChoice
	}{
		{fixed, steps, nil},
		{again, change + every, []HotChoice{{Step: 8}, {Step: 16}, {Step: 24},
			{Step: 32, Promoted: 10, Demoted: 10}}},
	} {
		got := mustRun(t, c.training, r)
		cold, all := r.gradients(t, ranks, change, c.hotEnd), r.gradients(t, ranks, 0, steps)
		if got.MissedUpdates.Count() != all || got.HotGradients != all-cold {
			t.Errorf("every %d: %d gradients, %d of hot rows; want %d and %d", c.training.Rows.Hot.Every,
				got.MissedUpdates.Count(), got.HotGradients, all, all-cold)
		}
		if n := lateGradients(got); n == 0 || n > cold {
			t.Errorf("every %d: %d gradients are late, want some of %d", c.training.Rows.Hot.Every, n, cold)
		}
		for i := range got.HotChoices {
			got.HotChoices[i].Time = 0
		}
		if !slices.Equal(got.HotChoices, c.choices) || got.Rows != 20 || got.HotRows != 10 {
			t.Errorf("every %d: choices %+v, want %+v; %d rows, %d hot", c.training.Rows.Hot.Every,
				got.HotChoices, c.choices, got.Rows, got.HotRows)
		}
	}
	if a, b := lateGradients(mustRun(t, fixed, r)), lateGradients(mustRun(t, again, r)); a <= b {
		t.Errorf("%d gradients are late with fixed rows, %d with promotions; want fewer", a, b)
	}
}

// A training that continues at a step has the hot rows of one without a pause.
func TestContinuedTrainingHasTheSameHotRows(t *testing.T) {
	r := drifting(12, 4)
	j := small(job.Hybrid, 2)
	j.Rows.Hot = job.Hot{Share: 0.01, Most: 10, Every: 4}
	for step, want := range map[int]uint64{0: 100, 3: 100, 4: 0, 7: 0, 8: 100, 11: 100} {
		result, err := Run(t.Context(), j, r, r.all, Options{Begin: Begin{Step: step}, End: step + 1})
		if err != nil {
			t.Fatal(err)
		}
		const idBits = 1<<56 - 1
		if first := result.Job.Rows.Hot.Rows().Signs()[0] & idBits; first != want {
			t.Errorf("step %d: the first hot row is that of id %d, want %d", step, first, want)
		}
	}
}
