package train

import (
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/event"
)

// repeated returns rows in which every block of samples comes several times in a row: once for each rank.
func repeated(r *rows, block, times int) *rows {
	all := &batch.Batch{Samples: r.all.Samples * times, Slots: make([]batch.Jagged, len(r.all.Slots))}
	dense, labels := len(r.schema.Dense), len(r.schema.Labels)
	for s := range all.Slots {
		all.Slots[s].Offsets = []int32{0}
	}
	for lo := 0; lo < r.all.Samples; lo += block {
		hi := lo + block
		for range times {
			all.Dense = append(all.Dense, r.all.Dense[lo*dense:hi*dense]...)
			all.Labels = append(all.Labels, r.all.Labels[lo*labels:hi*labels]...)
			for s := range all.Slots {
				from, to := &r.all.Slots[s], &all.Slots[s]
				base := int32(len(to.IDs)) - from.Offsets[lo]
				to.IDs = append(to.IDs, from.IDs[from.Offsets[lo]:from.Offsets[hi]]...)
				for _, offset := range from.Offsets[lo+1 : hi+1] {
					to.Offsets = append(to.Offsets, base+offset)
				}
			}
		}
	}
	return &rows{schema: r.schema, all: all, size: block * times}
}

// A mode with backup workers that waits for all ranks is synchronous training, bit for bit.
func TestBackupWorkersThatWaitForAllAreSync(t *testing.T) {
	r := newRows(64*12+9, 64, 4, 1)
	for _, ranks := range []int{1, 2, 8} {
		for _, overlap := range []string{"none", "ids"} {
			training := small("backup-workers", ranks)
			training.Training.Overlap, training.Training.ModeSettings = overlap,
				map[string]int{"wait-for": ranks}
			want, got := mustRun(t, small(job.Sync, ranks), r), mustRun(t, training, r)
			if got.DenseDigest != want.DenseDigest || got.RowsDigest != want.RowsDigest ||
				got.Rows != want.Rows {
				t.Errorf("%d ranks, overlap %s: dense %x, rows %x; sync has %x and %x",
					ranks, overlap, got.DenseDigest, got.RowsDigest, want.DenseDigest, want.RowsDigest)
			}
			if got.Staleness.Dropped != 0 {
				t.Errorf("%d gradients are dropped", got.Staleness.Dropped)
			}
		}
	}
}

// Chen and others, 2016: a step's gradient is the mean over the K ranks that count. If all ranks have the
// same samples, the mean is the gradient of any of them, and training is the same for any choice of late
// ranks: bit for bit if K is a power of two, because then nothing is rounded.
func TestBackupWorkersMeanIsOverThoseThatCount(t *testing.T) {
	const ranks, steps = 4, 20
	r := repeated(newRows(16*steps, 16, 4, 5), 16, ranks)
	plain := small(job.Sync, ranks)
	plain.Model.BatchNorm = false // its statistics are folded group by group
	want := mustRun(t, plain, r)
	for _, k := range []int{1, 2, 3} {
		training := plain
		training.Training.Mode, training.Training.ModeSettings = "backup-workers",
			map[string]int{"wait-for": k}
		dropped := uint64(0)
		got, err := Run(t.Context(), training, r, r.all, Options{Observer: observer(func(e event.Record) {
			if e.Kind == event.BatchDropped {
				dropped++
			}
		})})
		if err != nil {
			t.Fatal(err)
		}
		if dropped != uint64(steps*(ranks-k)) || got.Staleness.Dropped != dropped {
			t.Errorf("K = %d: %d gradients dropped, %d reported; want %d", k, dropped, got.Staleness.Dropped,
				steps*(ranks-k))
		}
		if k != 3 && (got.DenseDigest != want.DenseDigest || got.RowsDigest != want.RowsDigest) {
			t.Errorf("K = %d: dense %x, rows %x; want %x, %x", k, got.DenseDigest, got.RowsDigest,
				want.DenseDigest, want.RowsDigest)
		}
		if d := got.LogLoss - want.LogLoss; d > 1e-5 || d < -1e-5 {
			t.Errorf("K = %d: log loss %v, want %v", k, got.LogLoss, want.LogLoss)
		}
	}
}
