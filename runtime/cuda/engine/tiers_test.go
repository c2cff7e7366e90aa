package engine_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/exec/exectest"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/compress"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/runtime/train"
)

// tiers returns a job with the rows in at least a share of the samples on the GPUs of a number of ranks.
func tiers(j job.Job, ranks int, share float64) job.Job {
	j = shared(j, ranks)
	j.Rows.Hot.Share = share
	return j
}

// drawTiers draws slots of which the first, and maybe others, can have hot rows on GPUs.
func drawTiers(r *rand.Rand) (slots []batch.Slot) {
	slots = drawSlots(r, 1+r.IntN(20))
	for i := range slots {
		s := &slots[i]
		switch {
		case i == 0:
			*s = batch.Slot{Name: s.Name, Dim: s.Dim}
		case s.Pooling == batch.Sum && s.HashStack.Rounds == 0 && s.Group == "" && r.IntN(3) == 0:
			s.Pooling, s.Scale = batch.Max, batch.Unscaled
		case s.Pooling == batch.Sum && r.IntN(3) == 0:
			s.Weighted = true
		}
	}
	return slots
}

// oneIDEach leaves samples at most one id of each slot that can have hot rows on GPUs.
func oneIDEach(data *exectest.Columns) {
	for s := range data.All.Slots {
		if all := data.All.Slots[s]; data.Fields.Slots[s].AddsRows() {
			own := batch.Jagged{Offsets: []int32{0}}
			for i := range data.All.Samples {
				ids := all.SampleIDs(i)
				own.IDs = append(own.IDs, ids[:min(1, len(ids))]...)
				own.Offsets = append(own.Offsets, int32(len(own.IDs)))
			}
			data.All.Slots[s] = own
		}
	}
}

// Random jobs have one set of bits in sync with their hot rows on 1, 2 or 4 GPUs and the others on PSs. It is
// that of all rows on PSs beside one GPU if no bag has rows of both.
func TestTiersHaveTheSameBitsOnAnyNumberOfGPUs(t *testing.T) {
	jobs := 8
	if *long {
		jobs = 500
	} else if testing.Short() {
		jobs = 3
	}
	for seed := range jobs {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(13, uint64(seed)))
			j, data := drawTrainingOf(r, drawTiers(r))
			single := r.IntN(2) == 0
			if single {
				oneIDEach(data)
			}
			if r.IntN(2) == 0 {
				j.Wire.Index = job.IndexCompressed
			}
			share, want := r.Float64()/4, (*train.Result)(nil)
			if single {
				var err error
				if want, err = trainedOn(t, j, data, train.Options{}); err != nil {
					t.Fatal("rows on PSs:", err)
				}
			}
			for _, ranks := range []int{1, 2, 4} {
				got, err := trainedOn(t, tiers(j, ranks, share), data, train.Options{})
				if err != nil {
					t.Fatalf("%d GPUs: %v", ranks, err)
				}
				if want == nil {
					want = got
				}
				sameResult(t, fmt.Sprintf("%d hot rows on %d GPUs", got.HotRows, ranks), got, want)
				if most := got.MissedUpdates.Max(); most > 0 {
					t.Errorf("%d GPUs: gradients missed %d updates", ranks, most)
				}
			}
		})
	}
}

// tagsApart returns exectest's data, in which samples have at most one of tags, and its job with the more
// frequent tags on the GPUs of ranks; without ranks, all rows are on PSs.
func tagsApart(ranks int) (job.Job, *exectest.Columns) {
	data := exectest.NewColumns(160, 16)
	oneIDEach(data)
	if ranks == 0 {
		return onGPU(false), data
	}
	return tiers(exectest.Job(1, 2), ranks, 0.025), data
}

// GPUs have the hot rows and PSs the others, and the ids of both are counted.
func TestTiersAreWhereTheCountsSay(t *testing.T) {
	const share = 0.025
	_, data := tagsApart(0)
	with, ids := map[uint64]int{}, 0
	for _, id := range data.All.Slots[0].IDs {
		with[id]++
	}
	hot, named := 0, 0
	for _, n := range with {
		if float64(n) >= share*160 {
			hot, named = hot+1, named+n
		}
	}
	for _, own := range data.All.Slots {
		ids += len(own.IDs)
	}
	if hot == 0 || hot == len(with) {
		t.Fatalf("%d of %d rows of tags are hot: nothing is divided", hot, len(with))
	}
	for _, ranks := range []int{1, 2} {
		j, data := tagsApart(ranks)
		got, err := trainedOn(t, j, data, train.Options{})
		if err != nil {
			t.Fatal(err)
		}
		onGPUs := 0
		for _, g := range got.GPURows {
			onGPUs += g.Rows
		}
		if onGPUs != hot || got.HotRows != hot || onGPUs+got.PSRows != got.Rows {
			t.Errorf("%d ranks: %d rows on GPUs and %d on PSs of %d, %d hot; want %d on GPUs", ranks, onGPUs,
				got.PSRows, got.Rows, got.HotRows, hot)
		}
		if got.IDs != uint64(ids) || got.IDsOnGPUs != uint64(named) {
			t.Errorf("%d ranks: %d of %d ids name rows on GPUs, want %d of %d", ranks, got.IDsOnGPUs, got.IDs,
				named, ids)
		}
	}
}

// In hybrid, hot rows are never late: if all rows are hot, it has the bits of sync with all rows on PSs. It
// also has them without staleness. Rows on PSs keep their bound.
func TestTiersInHybrid(t *testing.T) {
	for _, ranks := range []int{1, 2} {
		j, data := tagsApart(ranks)
		j.Training.Mode, j.Wire.Precision = job.Hybrid, compress.FP16
		got, err := trainedOn(t, j, data, train.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if n := got.MissedUpdates.Count(); got.HotGradients == 0 || n <= got.HotGradients {
			t.Errorf("%d ranks: %d row gradients, %d of hot rows", ranks, n, got.HotGradients)
		}
	}
	fresh, data := tagsApart(1)
	none := 0
	fresh.Training.Mode, fresh.Training.Staleness = job.Hybrid, &none
	got, err := trainedOn(t, fresh, data, train.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all, _ := tagsApart(0)
	sameResult(t, "one rank without staleness", got, trainedFrom(t, all, 1, data))
	data = exectest.NewColumns(160, 16) // with several ids in a bag
	data.Fields.Slots, data.All.Slots = data.Fields.Slots[:1], data.All.Slots[:1]
	for _, ranks := range []int{1, 2} {
		j := tiers(exectest.Job(1, 2), ranks, 1e-9)
		j.Training.Mode = job.Hybrid
		got, err := trainedOn(t, j, data, train.Options{})
		if err != nil {
			t.Fatal(err)
		}
		sameResult(t, fmt.Sprint("all rows hot on GPUs: ", ranks), got, trainedFrom(t, all, 1, data))
		if got.PSRows > 0 || got.IDsOnGPUs != got.IDs {
			t.Errorf("%d ranks: %d rows on PSs, %d of %d ids on GPUs", ranks, got.PSRows, got.IDsOnGPUs,
				got.IDs)
		}
	}
}

// Messages that are lost, late, repeated or overtaken, and crashes of roles that hold no rows, change no bit
// of sync, and no bound of hybrid. Every id is counted once.
func TestTiersWithFaults(t *testing.T) {
	all, data := tagsApart(0)
	want := trainedFrom(t, all, 1, data)
	j, _ := tagsApart(2)
	calm, err := trainedOn(t, j, data, train.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ids, onGPUs := calm.IDs, calm.IDsOnGPUs
	for _, mode := range []string{job.Sync, job.Hybrid} {
		j, _ := tagsApart(2)
		j.Training.Mode, j.Wire.Retry = mode, 5*unit.Millisecond
		j.Faults = fault.Plan{Seed: 3, Drop: 0.05, Duplicate: 0.05, Reorder: 4,
			Delay: fault.Delay{Rate: 0.2, Max: unit.Millisecond}, Crashes: []fault.Crash{
				{Role: msg.EmbeddingWorker, Step: 2}, {Role: msg.EmbeddingWorker, Step: 3},
				{Role: msg.EmbeddingWorker, Step: 4}, {Role: msg.DataLoader, Step: 6}}}
		got, err := trainedOn(t, j, data, train.Options{})
		if err != nil {
			t.Fatalf("%s: %v", mode, err)
		}
		if mode == job.Sync {
			sameResult(t, "with faults", got, want)
		}
		if got.IDs != ids || got.IDsOnGPUs != onGPUs {
			t.Errorf("%s: %d of %d ids name rows on GPUs, want %d of %d", mode, got.IDsOnGPUs, got.IDs,
				onGPUs, ids)
		}
		if f := got.Faults; f.Dropped == 0 || f.Duplicated == 0 || f.Delayed == 0 || f.Crashes != 4 {
			t.Errorf("%s: %+v", mode, f)
		}
	}
}

// A model goes on with the bits of a training without a pause, from and to: all rows on PSs, hot rows on one
// GPU or on several, other hot rows or none, and all on a GPU.
func TestTiersMove(t *testing.T) {
	all, data := tagsApart(0)
	one, _ := tagsApart(1)
	two, _ := tagsApart(2)
	jobs := map[string]job.Job{"PSs": all, "1 GPU": one, "2 GPUs": two, "other rows": one,
		"all": shared(exectest.Job(1, 2), 1)}
	none := one
	none.Rows.Hot.Share = 1 // no row is in every sample
	jobs["none"] = none
	other := jobs["other rows"]
	other.Roles.EmbeddingPSs, other.Rows.Hot.Share, other.Rows.Hot.Auto = 3, 0, true
	other.Rows.Capacity = 7
	jobs["other rows"] = other
	want := trainedFrom(t, all, 1, data)
	for from, to := range map[string][]string{
		"PSs": {"1 GPU", "2 GPUs"}, "all": {"1 GPU"}, "none": {"2 GPUs"}, "2 GPUs": {"PSs", "other rows"},
		"1 GPU": {"PSs", "all", "2 GPUs", "other rows", "none"},
	} {
		folder := filepath.Join(t.TempDir(), "model")
		if _, err := trainedOn(t, jobs[from], data, savedAt(t, jobs[from], folder, 5)); err != nil {
			t.Fatal(err)
		}
		for _, to := range to {
			o := beginningWith(t, folder)
			others := t.TempDir()
			o.SaveEvery, o.Save = 2, func(step int, s exec.State) error {
				return savedAt(t, jobs[to], filepath.Join(others, fmt.Sprint(step)), step).Trained(s)
			}
			got, err := trainedOn(t, jobs[to], data, o)
			if err != nil {
				t.Fatalf("from %s to %s: %v", from, to, err)
			}
			sameResult(t, fmt.Sprintf("from %s to %s", from, to), got, want)
		}
	}
}

// A training counts the gradients that it applies, not those of the model that it begins with: those of two
// halves are those of the whole, and those of the second are the same after all rows were on a GPU.
func TestGradientsOfTiersAreCountedWhereTheyAreApplied(t *testing.T) {
	j, data := tagsApart(2)
	whole, err := trainedOn(t, j, data, train.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all, hot := whole.MissedUpdates.Count(), whole.HotGradients
	for _, first := range []job.Job{j, shared(exectest.Job(1, 2), 1)} {
		folder := filepath.Join(t.TempDir(), "model")
		half, err := trainedOn(t, first, data, savedAt(t, first, folder, 5))
		if err != nil {
			t.Fatal(err)
		}
		if first.HasTiers() {
			all, hot = all-half.MissedUpdates.Count(), hot-half.HotGradients
		}
		rest, err := trainedOn(t, j, data, beginningWith(t, folder))
		if err != nil {
			t.Fatal(err)
		}
		if n := rest.MissedUpdates.Count(); n != all || rest.HotGradients != hot || hot == 0 {
			t.Errorf("%d row gradients, %d of hot rows, want %d and %d", n, rest.HotGradients, all, hot)
		}
	}
}
