package train

import (
	"testing"

	"tandem/algo/job"
	"tandem/algo/protocol/event"
)

// With a warm-up of W steps, a rank has at most τ·k/W earlier batches outstanding when it issues the lookup
// of step k, counted from the first step of the training, also where the roles begin again with every
// segment. A run after which τ is still below 1 has the bits of one without staleness.
func TestStalenessWarmsUp(t *testing.T) {
	const steps, tau = 60, 3
	r := newRows(64*steps, 64, 4, 5)
	for mode := range asynchronous {
		for _, every := range []int{0, 20} {
			if every > 0 && mode != job.Hybrid {
				continue // others have no segments
			}
			training := small(mode, 2)
			training.Training.StalenessWarmUp = 40
			if every > 0 {
				training.Rows.Hot = job.Hot{Share: 0.02, Most: 4, Every: every}
			}
			outstanding, most := map[int32]int{}, 0
			count := func(e event.Record) {
				switch e.Kind {
				case event.BatchDone:
					outstanding[e.Rank]--
				case event.LookupIssued:
					n := outstanding[e.Rank]
					if limit := tau * int(e.Step) / 40; e.Step < 40 && n > limit {
						t.Errorf("%s, segments of %d, step %d: rank %d has %d batches outstanding, want at "+
							"most %d", mode, every, e.Step, e.Rank, n, limit)
					}
					if e.Step >= 40 {
						most = max(most, n)
					}
					outstanding[e.Rank]++
				}
			}
			_, err := Run(t.Context(), training, r, r.all, Options{Observer: observer(count)})
			if err != nil {
				t.Fatal(err)
			}
			if most < 2 || most > tau { // below 40, at most 1 after steps of a segment alone
				t.Errorf("%s, segments of %d: at most %d batches outstanding after the warm-up, want %d",
					mode, every, most, tau)
			}
		}
		late, none := small(mode, 1), small(mode, 1)
		zero := 0
		late.Training.StalenessWarmUp, none.Training.Staleness = 10*steps, &zero
		late.Training.Overlap, none.Training.Overlap = "none", "none"
		got, want := mustRun(t, late.InMode(mode), r), mustRun(t, none.InMode(mode), r)
		if got.RowsDigest != want.RowsDigest || got.AUC != want.AUC {
			t.Errorf("%s: AUC %v of a warm-up that has not ended, %v without staleness", mode, got.AUC,
				want.AUC)
		}
	}
}
