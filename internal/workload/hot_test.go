package workload

import (
	"maps"
	"slices"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/shard"
	"tandem/datasets"
	"tandem/sim/cost"
)

// hotJob is a job with hot rows on generated data whose bags have none to five ids.
func hotJob() *job.Job {
	j := job.Default()
	j.Data = job.Data{Kind: job.KindSynthetic, Synthetic: &job.Synthetic{
		Seed: 1, TrainRows: 4000, TestRows: 10,
		Columns: []job.SyntheticColumn{{Name: "user", Cardinality: 1000, Exponent: 1},
			{Name: "tags", Cardinality: 100, Exponent: 0.8, IDsPerRow: 2.5}},
	}}
	j.Training.GlobalBatch, j.Training.Mode, j.Rows.Hot.Share = 100, job.Hybrid, 0.02
	return &j
}

// signOf returns the sign of an id of a slot that is not hashed.
func signOf(schema *batch.Schema, slot int, id uint64) uint64 { return schema.Signer(slot).Sign(id, 0) }

// plainHotBatch is what counting with maps finds in one batch.
func plainHotBatch(schema *batch.Schema, b *batch.Batch, hot map[uint64]bool) (h cost.HotBatch) {
	rows, cold := map[uint64]bool{}, map[uint64]bool{}
	for s := range b.Slots {
		for sample := range b.Samples {
			ids, hits := b.Slots[s].SampleIDs(sample), 0
			for _, id := range ids {
				if hot[signOf(schema, s, id)] {
					hits++
				}
			}
			for _, id := range ids {
				if sign := signOf(schema, s, id); hot[sign] {
					rows[sign] = true
				} else if hits > 0 {
					cold[sign] = true
				}
			}
			width := float64(schema.Slots[s].Dim)
			h.Occurrences += float64(hits)
			if hits > 0 {
				h.Bags++
				h.Pooled += float64(len(ids))
			} else {
				h.ToRank += width
			}
			if hits == 0 || hits < len(ids) {
				h.ToEW += width
			}
		}
	}
	h.Rows, h.Cold = float64(len(rows)), float64(len(cold))
	return h
}

// Rows in at least a share of the samples are hot, and a batch is what its bags say, one by one. PSs get no
// signs of hot rows.
func TestHotRowsAreCounted(t *testing.T) {
	j := hotJob()
	data, err := datasets.Open(j.Data, "")
	if err != nil {
		t.Fatal(err)
	}
	w, _, err := Counted(data, j)
	if err != nil {
		t.Fatal(err)
	}
	schema := datasets.WithDim(data.Schema, j.Model.Dim())
	samples := map[uint64]int{} // that contain a row
	for s := range data.Train.Slots {
		for i := range data.Train.Samples {
			ids := slices.Clone(data.Train.Slots[s].SampleIDs(i))
			slices.Sort(ids)
			for _, id := range slices.Compact(ids) {
				samples[signOf(&schema, s, id)]++
			}
		}
	}
	hot := map[uint64]bool{}
	for sign, n := range samples { // order-free: a set
		if n >= 80 {
			hot[sign] = true
		}
	}
	if w.Hot.Rows != float64(len(hot)) || len(hot) < 10 || len(hot) == len(samples) ||
		w.Hot.Values != float64(16*len(hot)) {
		t.Fatalf("%v hot rows of %v values, want %d", w.Hot.Rows, w.Hot.Values, len(hot))
	}
	// One window has all samples; twice as many samples have the same rows.
	want := plainHotBatch(&schema, data.Train, hot)
	if got := w.Hot.Batch(4000); got != want || got.Cold == 0 || got.ToEW <= got.ToRank {
		t.Errorf("%+v, want %+v", got, want)
	}
	twice := want
	for _, x := range []*float64{&twice.Occurrences, &twice.Pooled, &twice.Bags, &twice.ToRank, &twice.ToEW} {
		*x *= 2
	}
	if got := w.Hot.Batch(8000); got != twice {
		t.Errorf("%+v, want %+v", got, twice)
	}
	if got := w.Hot.Batch(0); got != (cost.HotBatch{}) {
		t.Errorf("no samples have %+v", got)
	}
	signs := slices.Sorted(maps.Keys(hot))
	_, part := windows(data.Train, 4000)
	j.Rows.Hot.SetRows(shard.NewHot(signs))
	for _, plan := range []shard.Plan{shard.Rows(2), j.ShardPlan()} {
		all := packedSizes(&schema, data.Train, nil).Signs(4000, shard.Rows(2))
		cold := w.Packed.Signs(4000, plan)
		if !(cold < all && cold > 0) {
			t.Errorf("%d samples: %v bytes of signs, %v with those of hot rows", part(0).Samples, cold, all)
		}
	}
}

// Hot rows of generated data are as many as those that are counted in them, within the deviation of counts.
// A job that has chosen its rows keeps them, and one without hot rows has none.
func TestHotRowsOfGeneratedData(t *testing.T) {
	j := hotJob()
	expected, _, err := Simulated(&j.Data, j, "")
	if err != nil {
		t.Fatal(err)
	}
	data, err := datasets.Open(j.Data, "")
	if err != nil {
		t.Fatal(err)
	}
	counted, _, err := Counted(data, j)
	if err != nil {
		t.Fatal(err)
	}
	if ratio := expected.Hot.Rows / counted.Hot.Rows; ratio < 0.85 || ratio > 1.15 {
		t.Errorf("%v hot rows, %v are counted", expected.Hot.Rows, counted.Hot.Rows)
	}
	e, c := expected.Hot.Batch(100), counted.Hot.Batch(100)
	if ratio := e.Occurrences / c.Occurrences; ratio < 0.95 || ratio > 1.05 {
		t.Errorf("%+v, counted %+v", e, c)
	}
	j.Rows.Hot.SetRows(shard.NewHot([]uint64{1, 2, 3}))
	if w, _, err := Counted(data, j); err != nil || w.Hot.Rows != 3 {
		t.Errorf("%v hot rows, %v; want the 3 of the job", w.Hot, err)
	}
	j.Rows.Hot = job.Hot{}
	if w, _, err := Counted(data, j); err != nil || w.Hot != nil {
		t.Errorf("%v hot rows, %v; want none", w.Hot, err)
	}
}
