package train

import (
	"math"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/opt"
	"tandem/algo/protocol/event"
)

// Averaging after every step of plain SGD is synchronous training: the mean of the replicas is the old
// parameters minus the rate times the mean gradient, except for rounding. Averaging less often is different.
func TestLocalSGDOfEveryStepIsSynchronous(t *testing.T) {
	r := newRows(64*20, 64, 4, 8)
	reference := small(job.Sync, 4)
	reference.Rows.Admission, reference.Model.BatchNorm = 1e-300, false // rows would be stale
	reference.Model.Optimizer = opt.DenseSpec{Kind: "sgd", Rate: 0.1}
	want := mustRun(t, reference, r).LogLoss
	for every, same := range map[int]bool{1: true, 5: false} {
		training := reference
		training.Training.Mode, training.Training.ModeSettings = "local-sgd", map[string]int{"every": every}
		if got := mustRun(t, training, r).LogLoss; math.Abs(got-want) < 1e-6 != same {
			t.Errorf("every %d steps: log loss %v, synchronous training has %v", every, got, want)
		}
	}
}

// All ranks take part in every round, and no rank trains on before it has the mean.
func TestLocalSGDWaitsForEveryMean(t *testing.T) {
	const ranks, steps, every = 3, 10, 4
	r := newRows(64*steps, 64, 4, 3)
	training := small("local-sgd", ranks)
	training.Training.ModeSettings = map[string]int{"every": every}
	var averages [ranks]int32
	watch := func(e event.Record) {
		switch e.Kind {
		case event.Averaged:
			averages[e.Rank]++
		case event.ForwardStarted:
			if averages[e.Rank] != e.Step/every {
				t.Errorf("rank %d starts step %d after %d averages", e.Rank, e.Step, averages[e.Rank])
			}
		}
	}
	if _, err := Run(t.Context(), training, r, r.all, Options{Observer: observer(watch)}); err != nil {
		t.Fatal(err)
	}
	for rank, n := range averages {
		if n != (steps+every-1)/every {
			t.Errorf("rank %d averages %d times", rank, n)
		}
	}
}
