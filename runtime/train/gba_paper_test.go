package train

import (
	"testing"

	"tandem/algo/job"
)

// Su and others, NeurIPS 2022: M local batches are one global batch. One rank without staleness and with
// global batches of two trains its network as sequential training does with batches of twice the size, bit
// for bit: the second local batch is computed from the parameters of the first.
func TestGBATrainsByGlobalBatches(t *testing.T) {
	local, global := newRows(64*20, 32, 4, 6), newRows(64*20, 64, 4, 6)
	reference, none := small(job.Sequential, 1), 0
	reference.Rows.Admission, reference.Training.Groups, reference.Model.BatchNorm = 1e-300, 2, false
	training := reference
	training.Training.Mode, training.Training.Groups, training.Training.GlobalBatch,
		training.Training.Staleness, training.Training.Overlap = "gba", 1, 32, &none, "none"
	training.Training.ModeSettings = map[string]int{"batches": 2}
	want, got := mustRun(t, reference, global), mustRun(t, training, local)
	if got.DenseDigest != want.DenseDigest {
		t.Errorf("dense %x; sequential training has %x", got.DenseDigest, want.DenseDigest)
	}
}

// With global batches of one local batch, one rank trains as sequential training does, including the rows,
// and drops nothing.
func TestGBAOfOneBatchIsSequential(t *testing.T) {
	r, none := newRows(64*10+9, 64, 4, 3), 0
	for _, scale := range []string{job.ScaleGlobal, job.ScaleRank} {
		reference := small(job.Sequential, 1)
		reference.Training.Scale = scale
		training := reference
		training.Training.Mode, training.Training.Staleness, training.Training.Overlap = "gba", &none, "none"
		want, got := mustRun(t, reference, r), mustRun(t, training, r)
		if got.DenseDigest != want.DenseDigest || got.RowsDigest != want.RowsDigest ||
			got.Staleness.Dropped != 0 {
			t.Errorf("dense %x, rows %x, %d dropped; sequential training has %x and %x", got.DenseDigest,
				got.RowsDigest,
				got.Staleness.Dropped, want.DenseDigest, want.RowsDigest)
		}
	}
}

// A run with global batches that never fill would train nothing, and is refused.
func TestGBARefusesGlobalBatchesThatNeverFill(t *testing.T) {
	r, training := newRows(64*5, 64, 4, 3), small("gba", 4)
	for batches, refused := range map[int]bool{20: false, 21: true} {
		training.Training.ModeSettings = map[string]int{"batches": batches}
		if _, err := Run(t.Context(), training, r, r.all, Options{}); (err != nil) != refused {
			t.Errorf("batches = %d of 20: %v", batches, err)
		}
	}
}

// Gradients that exceed the tolerance are dropped, and the others count. With global batches of one local
// batch and no tolerance, one gradient of four ranks counts for each global step, as long as all ranks are
// dealt alike. With the largest tolerance all gradients count.
func TestGBADropsWhatIsTooLate(t *testing.T) {
	r := newRows(64*20, 64, 4, 7)
	training := small("gba", 4)
	for _, c := range []struct {
		tolerance int
		drops     bool
	}{{0, true}, {1_000_000_000, false}} {
		training.Training.ModeSettings = map[string]int{"batches": 1, "tolerance": c.tolerance}
		if got := mustRun(t, training, r).Staleness.Dropped; got > 0 != c.drops {
			t.Errorf("tolerance %d: %d gradients dropped", c.tolerance, got)
		}
	}
}
