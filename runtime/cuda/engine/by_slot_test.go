package engine_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
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

// placed returns a job whose rows of some slots are on the GPUs of a number of ranks, and those of the others
// on PSs: which of the two rows.placement says, and which the slots, is drawn.
func placed(r *rand.Rand, j job.Job, ranks int, onGPU []string, slots []batch.Slot) job.Job {
	j = shared(j, ranks)
	usual, own := job.RowsOnGPU, job.RowsOnPSs
	if r.IntN(2) == 0 {
		usual, own = own, usual
	}
	j.Rows.Placement, j.Data.Slots = usual, nil
	for _, slot := range slots {
		if slices.Contains(onGPU, slot.Name) == (own == job.RowsOnGPU) {
			j.Data.Slots = append(j.Data.Slots, job.SlotSetting{Slot: slot.Name, Placement: own})
		}
	}
	return j
}

// drawPlaced draws slots of which GPUs can have the rows of the first, and PSs those of the last: slots there
// can take maxima, or have ids with weights. Slots of a group are in one place.
func drawPlaced(r *rand.Rand) (slots []batch.Slot, onGPU []string) {
	for len(onGPU) == 0 || len(onGPU) == len(slots) {
		slots, onGPU = drawSlots(r, 1+r.IntN(20)), nil
		together := r.IntN(2) == 0
		for i := range slots {
			s := &slots[i]
			at := r.IntN(2) == 0
			if s.Group != "" {
				at = together
			}
			switch {
			case at:
				onGPU = append(onGPU, s.Name)
			case s.Pooling == batch.Sum && s.HashStack.Rounds == 0 && r.IntN(3) == 0:
				s.Pooling, s.Scale = batch.Max, batch.Unscaled
			case s.Pooling == batch.Sum && r.IntN(3) == 0:
				s.Weighted = true
			}
		}
	}
	return slots, onGPU
}

// Random jobs have the same bits in sync with the rows of some slots on 1, 2 or 4 GPUs, and those of the
// others on PSs, as with all rows on PSs beside one GPU.
func TestRowsBySlotHaveTheSameBits(t *testing.T) {
	jobs := 8
	if *long {
		jobs = 500
	} else if testing.Short() {
		jobs = 3
	}
	for seed := range jobs {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(12, uint64(seed)))
			slots, onGPU := drawPlaced(r)
			j, data := drawTrainingOf(r, slots)
			for s, slot := range slots {
				for range data.All.Slots[s].IDs {
					if slot.Weighted {
						data.All.Slots[s].Weights = append(data.All.Slots[s].Weights, r.Float32())
					}
				}
			}
			if r.IntN(2) == 0 {
				j.Wire.Index = job.IndexCompressed
			}
			want, err := trainedOn(t, j, data, train.Options{})
			if err != nil {
				t.Fatal("rows on PSs:", err)
			}
			for _, ranks := range []int{1, 2, 4} {
				got, err := trainedOn(t, placed(r, j, ranks, onGPU, slots), data, train.Options{})
				if err != nil {
					t.Fatalf("%d GPUs: %v", ranks, err)
				}
				sameResult(t, fmt.Sprint(onGPU, " on GPUs: ", ranks), got, want)
				// Of several ranks, each puts a gradient of a row that is on a PS.
				n, m := got.MissedUpdates.Count(), want.MissedUpdates.Count()
				if most := got.MissedUpdates.Max(); ranks == 1 && n != m || n < m || most > 0 {
					t.Errorf("%d GPUs: %d row gradients, some missed %d updates; want %d, 0", ranks, n, most,
						m)
				}
			}
		})
	}
}

// sameResult compares the bits of two trainings.
func sameResult(t *testing.T, what string, got, want *train.Result) {
	t.Helper()
	if got.DenseDigest != want.DenseDigest || got.RowsDigest != want.RowsDigest || got.Rows != want.Rows ||
		!slices.Equal(got.Probabilities, want.Probabilities) {
		t.Errorf("%s: %d rows %x, network %x; want %d, %x, %x", what, got.Rows, got.RowsDigest,
			got.DenseDigest, want.Rows, want.RowsDigest, want.DenseDigest)
	}
}

// bySlot returns exectest's job with its rows of slot tags on the GPUs of ranks and those of history on PSs;
// without ranks, all rows are on PSs.
func bySlot(ranks int) job.Job {
	if ranks == 0 {
		return onGPU(false)
	}
	j := shared(exectest.Job(1, 2), ranks)
	j.Data.Slots = []job.SlotSetting{{Slot: "history", Placement: job.RowsOnPSs}}
	return j
}

// Each GPU and the PSs have the rows of their slots, and those alone.
func TestRowsBySlotAreWhereTheJobSays(t *testing.T) {
	data := exectest.NewColumns(160, 16)
	ids := [2]map[uint64]bool{{}, {}}
	for s, slot := range data.All.Slots {
		for _, id := range slot.IDs {
			ids[s][id] = true
		}
	}
	for _, ranks := range []int{1, 2} {
		got, err := trainedOn(t, bySlot(ranks), data, train.Options{})
		if err != nil {
			t.Fatal(err)
		}
		onGPUs := 0
		for _, g := range got.GPURows {
			onGPUs += g.Rows
		}
		if onGPUs != len(ids[0]) || got.Rows != len(ids[0])+len(ids[1]) {
			t.Errorf("%d of %d rows on %d GPUs, want %d of %d", onGPUs, got.Rows, ranks, len(ids[0]),
				len(ids[0])+len(ids[1]))
		}
	}
}

// In hybrid, rows on GPUs are never late and those on PSs keep their bound; the wire can be half as wide and
// compressed.
func TestRowsBySlotInHybrid(t *testing.T) {
	for _, ranks := range []int{1, 2} {
		j := bySlot(ranks)
		j.Training.Mode, j.Wire.Precision, j.Wire.Index = job.Hybrid, compress.FP16, job.IndexCompressed
		got, err := trainedOn(t, j, exectest.NewColumns(160, 16), train.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if n := got.MissedUpdates.Count(); n == 0 {
			t.Errorf("%d ranks: %d row gradients", ranks, n)
		}
	}
	fresh, none := bySlot(1), 0 // no batch is read before the gradients of the one before are applied
	fresh.Training.Mode, fresh.Training.Staleness = job.Hybrid, &none
	got, err := trainedOn(t, fresh, exectest.NewColumns(160, 16), train.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sameResult(t, "one rank without staleness", got, trained(t, bySlot(0), 1))
}

// Messages that are lost, late, repeated or overtaken, and crashes of roles that hold no rows, change no bit
// of sync, and no bound of hybrid.
func TestRowsBySlotWithFaults(t *testing.T) {
	data, want := exectest.NewColumns(160, 16), trained(t, bySlot(0), 1)
	for _, ranks := range []int{1, 2} {
		for _, mode := range []string{job.Sync, job.Hybrid} {
			j := bySlot(ranks)
			j.Training.Mode, j.Wire.Retry = mode, 5*unit.Millisecond
			j.Faults = fault.Plan{Seed: uint64(ranks), Drop: 0.05, Duplicate: 0.05, Reorder: 4,
				Delay: fault.Delay{Rate: 0.2, Max: unit.Millisecond}, Crashes: []fault.Crash{
					{Role: msg.EmbeddingWorker, Step: 3}, {Role: msg.DataLoader, Step: 6}}}
			got, err := trainedOn(t, j, data, train.Options{})
			if err != nil {
				t.Fatalf("%s, %d ranks: %v", mode, ranks, err)
			}
			if mode == job.Sync {
				sameResult(t, fmt.Sprint(ranks, " ranks"), got, want)
			}
			if f := got.Faults; f.Dropped == 0 || f.Duplicated == 0 || f.Delayed == 0 || f.Crashes != 2 {
				t.Errorf("%s, %d ranks: %+v", mode, ranks, f)
			}
		}
	}
}

// A model goes on with the bits of a training without a pause, from and to: all rows on PSs, some slots on
// one GPU or on several, and all on a GPU.
func TestRowsBySlotMove(t *testing.T) {
	data := exectest.NewColumns(160, 16)
	jobs := map[string]job.Job{"PSs": bySlot(0), "1 GPU by slot": bySlot(1), "2 GPUs by slot": bySlot(2),
		"1 GPU": shared(exectest.Job(1, 2), 1), "other slots": bySlot(1)}
	other := jobs["other slots"]
	other.Roles.EmbeddingPSs = 3
	other.Data.Slots = []job.SlotSetting{{Slot: "tags", Placement: job.RowsOnPSs}}
	jobs["other slots"] = other
	want := trained(t, bySlot(0), 1)
	for from, all := range map[string][]string{
		"PSs": {"1 GPU by slot", "2 GPUs by slot"}, "1 GPU": {"1 GPU by slot"},
		"1 GPU by slot":  {"PSs", "1 GPU", "2 GPUs by slot", "other slots"},
		"2 GPUs by slot": {"PSs", "other slots"},
	} {
		folder := filepath.Join(t.TempDir(), "model")
		if _, err := trainedOn(t, jobs[from], data, savedAt(t, jobs[from], folder, 5)); err != nil {
			t.Fatal(err)
		}
		for _, to := range all {
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
