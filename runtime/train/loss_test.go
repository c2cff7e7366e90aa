package train

import (
	"math"
	"sync"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/numeric/model"
)

// Every mode reports the loss of every sample once. A logistic regression that begins with zeros predicts one
// half, so each of its first samples costs ln 2, on one rank: where ranks do not wait for each other, the
// first batch of one can have the updates of another. Sync has the losses of sequential training.
func TestLossIsReported(t *testing.T) {
	r := newRows(64*12+9, 64, 1, 1)
	var sequential float64
	for _, mode := range job.Modes() {
		for _, steps := range []int{1, 13} {
			rows, ranks := r, 4
			if steps == 1 {
				rows, ranks = newRows(64, 64, 1, 1), 1
			}
			training := small(mode, ranks)
			if mode == "backup-workers" { // whose other ranks may not get to the loss of a batch
				training.Training.ModeSettings = map[string]int{"wait-for": ranks}
			}
			training.Model.Spec = model.Spec{Kind: model.LogisticRegression}
			training.Model.Heads = make([]model.Head, 1)
			training.Rows.Init = 0
			var mu sync.Mutex
			var loss float64
			var samples int
			result, err := Run(t.Context(), training, rows, rows.all, Options{Backend: backend.Backend{
				Trained: func(lossSum float64, n int) {
					mu.Lock()
					defer mu.Unlock()
					loss, samples = loss+lossSum, samples+n
				}}})
			if err != nil {
				t.Fatal(err)
			}
			if samples != result.Samples || result.Steps != steps {
				t.Errorf("%s: losses of %d samples, trained %d in %d steps", mode, samples, result.Samples,
					result.Steps)
			}
			mean := loss / float64(samples)
			switch {
			case steps == 1 && math.Abs(mean-math.Ln2) > 1e-6:
				t.Errorf("%s: first loss %v, want ln 2", mode, mean)
			case steps > 1 && mode == job.Sequential:
				sequential = mean
			case steps > 1 && mode == job.Sync && math.Abs(mean-sequential) > 1e-6:
				t.Errorf("loss of sync %v, of sequential training %v", mean, sequential)
			}
		}
	}
}
