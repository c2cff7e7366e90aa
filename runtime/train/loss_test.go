package train

import (
	"math"
	"sync"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/numeric/model"
	"tandem/algo/rng"
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

// Numbers are learned alike by modes that wait and by modes that do not: from the deviation of the labels,
// each comes near to their noise, the least RMSE that any predictions have.
func TestModesLearnNumbersAlike(t *testing.T) {
	const center, noise, seeds = 5, 1, 3
	r := newRows(64*80, 64, 4, 1)
	draw := rng.New(1, "noise")
	for i := range r.all.Labels {
		user, number := r.all.Slots[0].IDs[i], r.all.Dense[2*i]
		r.all.Labels[i] = number + float32(center+float64(user%5)-2+noise*draw.NormFloat64())
	}
	if d := metric.Deviation(r.all.Labels, nil); d < 1.9*noise {
		t.Fatalf("the labels deviate by %v", d)
	}
	for _, mode := range []string{job.Sync, job.Hybrid, "async-ps", "local-sgd"} {
		mean := 0.0
		for seed := range uint64(seeds) {
			training := small(mode, 2)
			training.Training.Epochs, training.Training.Seed = 12, seed
			training.Model.Top, training.Model.BatchNorm = []int{64, 32}, false
			training.Model.Loss, training.Model.Heads = model.SquaredLoss,
				[]model.Head{{Center: center, Scale: 2}}
			mean += mustRun(t, training, r).RMSE / seeds
		}
		if t.Logf("%s: RMSE %.4f", mode, mean); math.Abs(mean-noise) > 0.25*noise {
			t.Errorf("%s: RMSE %.4f, the noise of the labels is %v", mode, mean, noise)
		}
	}
}
