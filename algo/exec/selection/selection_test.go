package selection

import (
	"context"
	"errors"
	"slices"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/evaluation"
	"tandem/algo/exec/exectest"
	"tandem/algo/exec/reference"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
)

// epochs passes over the rows of a source several times.
type epochs struct {
	*exectest.Columns
	times int
}

func (e epochs) Steps() int                          { return e.times * e.Columns.Steps() }
func (e epochs) Samples(step int) int                { return e.Columns.Samples(step % e.Columns.Steps()) }
func (e epochs) Read(step int) (*batch.Batch, error) { return e.Columns.Read(step % e.Columns.Steps()) }

// candidate returns a candidate of a number of epochs.
func candidate(c *exectest.Columns, times int) Candidate {
	j := exectest.Job(2, 2)
	j.Training.Epochs = times
	return Candidate{Job: j, Source: epochs{c, times}}
}

// A trial is the sequential training of its job: each point is what that training predicts after an epoch,
// the best epoch has the lowest log loss, and the trial ends Patience epochs after it.
func TestRunIsSequentialTraining(t *testing.T) {
	columns, held := exectest.NewColumns(100, 16), exectest.NewColumns(400, 16).All
	c := candidate(columns, 30) // labels are coins, so training soon fits noise
	trial, err := Run(t.Context(), c, held, backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	q, err := reference.NewSequential(c.Job.InMode(job.Sequential), c.Source, backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	best, lowest := 0, []float32(nil)
	for epoch, point := range trial.Curve {
		for step := range columns.Steps() {
			if err := q.Step(epoch*columns.Steps() + step); err != nil {
				t.Fatal(err)
			}
		}
		predicted, err := q.NewTestSet(held).Evaluate(q)
		if err != nil {
			t.Fatal(err)
		}
		want := evaluation.Point{Step: (epoch + 1) * columns.Steps(), Samples: (epoch + 1) * 100,
			Scores: evaluation.NewScores("", predicted, held, 0)}
		if point != want {
			t.Errorf("epoch %d: %+v, want %+v", epoch+1, point, want)
		}
		if epoch == 0 || point.LogLoss < trial.Curve[best].LogLoss {
			best, lowest = epoch, slices.Clone(predicted)
		}
	}
	if got := trial.Job.Training.Epochs; got != best+1 || len(trial.Curve) != best+1+Patience(400) {
		t.Errorf("best of %d epochs: %d, want %d", len(trial.Curve), got, best+1)
	}
	if !slices.Equal(trial.Predicted, lowest) {
		t.Error("the predictions are not those after the best epoch")
	}
	if trial.Best() != trial.Curve[best] || trial.Job.Training.Mode != job.Sync {
		t.Errorf("best %+v in mode %s", trial.Best(), trial.Job.Training.Mode)
	}
}

// Few held-back rows let a trial go on for two epochs without a lower loss, many for one.
func TestPatience(t *testing.T) {
	columns := exectest.NewColumns(100, 16)
	held := exectest.NewColumns(10_000, 16).All
	for rows, want := range map[int]int{9_999: 2, 10_000: 1} {
		trial, err := Run(t.Context(), candidate(columns, 30), batch.Slice(held, 0, rows), backend.Backend{})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(trial.Curve) - trial.Job.Training.Epochs; got != want {
			t.Errorf("%d rows: ended %d epochs after the best, want %d", rows, got, want)
		}
	}
}

// A trial that diverges is an error, not a choice.
func TestDivergedTrial(t *testing.T) {
	columns := exectest.NewColumns(100, 16)
	c := candidate(columns, 5)
	c.Job.Model.BatchNorm = false
	c.Job.Model.Optimizer.Kind, c.Job.Model.Optimizer.Rate = "sgd", 1e30
	if trial, err := Run(t.Context(), c, columns.All, backend.Backend{}); err == nil {
		t.Errorf("%+v", trial)
	}
}

func TestChooseTheLowestLogLoss(t *testing.T) {
	var trials []*Trial
	for _, loss := range []float64{0.7, 0.5, 0.5, 0.6} {
		trials = append(trials, &Trial{Job: job.Default(), Curve: []evaluation.Point{{
			Scores: evaluation.Scores{LogLoss: loss}}}})
	}
	if Choose(trials) != trials[1] {
		t.Error("another one than the first of the lowest")
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	columns := exectest.NewColumns(100, 16)
	_, err := Run(ctx, candidate(columns, 1), columns.All, backend.Backend{})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
