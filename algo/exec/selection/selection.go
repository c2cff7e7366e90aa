// Package selection chooses settings of a job, and its number of epochs, by rows that are held back from
// training.
//
// Every candidate is trained sequentially, which gives equal bits everywhere and can stop after any epoch.
// The chosen job is then trained again on all rows for the epochs that were best here, in any mode. So a
// model needs no state of an earlier step, no row is lost to the choice, and the job file that says the
// number of epochs trains the same model without a choice.
package selection

import (
	"context"
	"fmt"
	"math"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/evaluation"
	"tandem/algo/exec/reference"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
)

// Candidate is a job that may be chosen.
type Candidate struct {
	Job job.Job // Training.Epochs is the largest number of epochs
	// Source has the training rows that are not held back, for Training.Epochs epochs.
	Source batch.Source
}

// Trial is a candidate as it was tried.
type Trial struct {
	Job   job.Job            // of the candidate; Training.Epochs is the best number of epochs
	Curve []evaluation.Point // on the rows held back, after each epoch
	// Predicted are the predictions for the rows held back after the best epoch.
	Predicted []float32
}

// Best returns the point of the best epoch, the one with the lowest log loss or RMSE.
func (t *Trial) Best() evaluation.Point { return t.Curve[t.Job.Training.Epochs-1] }

// Patience returns the number of epochs in a row without a lower log loss or RMSE after which a trial ends,
// by the number of rows held back: 2, and 1 of 10,000 rows or more. With one, the noise of few rows ends
// some trials too early.
func Patience(rows int) int {
	if rows < rowsMany {
		return 2
	}
	return 1
}

// rowsMany is the number of held-back rows whose draw hardly moves a difference of two epochs.
const rowsMany = 10_000

// Run tries a candidate on the rows held back, which must have the labels of its source. A training that
// diverges is an error.
func Run(ctx context.Context, c Candidate, held *batch.Batch, m backend.Backend) (*Trial, error) {
	one := c.Job.InMode(job.Sequential)
	one.Training.ClearDelays()
	sequential, err := reference.NewSequential(one, c.Source, m)
	if err != nil {
		return nil, fmt.Errorf("selection: %w", err)
	}
	rows := sequential.NewTestSet(held)
	steps := c.Source.Steps() / one.Training.Epochs // of an epoch
	trial := &Trial{Job: c.Job}
	lowest, samples := math.Inf(1), 0
	for epoch := 1; epoch <= one.Training.Epochs; epoch++ {
		for step := (epoch - 1) * steps; step < epoch*steps; step++ {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if err := sequential.Step(step); err != nil {
				return nil, err
			}
			samples += c.Source.Samples(step)
		}
		predicted, err := rows.Evaluate(sequential)
		if err != nil {
			return nil, err
		}
		point := evaluation.Point{Step: epoch * steps, Samples: samples,
			Scores: evaluation.NewScores(one.Model.Loss, predicted, held, 0)}
		trial.Curve = append(trial.Curve, point)
		if point.Loss() < lowest {
			lowest, trial.Job.Training.Epochs = point.Loss(), epoch
			trial.Predicted = append(trial.Predicted[:0], predicted...)
		}
		if epoch-trial.Job.Training.Epochs >= Patience(held.Samples) {
			break
		}
	}
	return trial, nil
}

// Predict returns what a candidate predicts for other rows after all of its epochs.
func Predict(ctx context.Context, c Candidate, rows *batch.Batch, m backend.Backend) ([]float32, error) {
	sequential, err := reference.NewSequential(c.Job, c.Source, m)
	if err != nil {
		return nil, fmt.Errorf("selection: %w", err)
	}
	set := sequential.NewTestSet(rows)
	for step := range c.Source.Steps() {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := sequential.Step(step); err != nil {
			return nil, err
		}
	}
	return set.Evaluate(sequential)
}

// Choose returns the trial with the lowest log loss or RMSE, the first one of equals.
func Choose(trials []*Trial) *Trial {
	best := trials[0]
	for _, t := range trials[1:] {
		if t.Best().Loss() < best.Best().Loss() {
			best = t
		}
	}
	return best
}
