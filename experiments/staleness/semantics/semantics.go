// Package semantics measures how the best learning rate of embedding rows depends on how the row gradients of
// several ranks are merged and scaled:
//
//	merge: step    the gradients of one step are added; one optimizer step per row
//	merge: rank    one optimizer step per row and rank that has the row, as in Persia
//	scale: global  gradients are divided by the samples of the step
//	scale: rank    gradients are divided by the samples of the rank, as in Persia: N times as large
//
// For SGD, scale: rank with N equal ranks is exactly scale: global with N times the learning rate. Adaptive
// optimizers divide by the size of past gradients, so they have no such factor. With merge: rank, they also
// see different gradients: N per step, each with more noise.
package semantics

import (
	"context"
	"time"

	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
)

// Experiment is the comparison.
type Experiment struct{}

// New returns the experiment.
func New() Experiment { return Experiment{} }

// Name returns "semantics".
func (Experiment) Name() string { return "semantics" }

// Question returns the question of the experiment.
func (Experiment) Question() string {
	return "How does the best learning rate of rows depend on the merging and scaling of gradients?"
}

// Help returns what the experiment measures and writes.
func (Experiment) Help() string {
	return `Trains with each way to merge (step, rank) and to scale (global, rank) row
gradients, with SGD, Adagrad, row-wise Adagrad and Adam for rows, on several
numbers of ranks. The tuner gives every variant the same trials, on rows that are
not used afterwards. The variant is then trained under every seed at the nominal
rate of the optimizer, at its best rate and, for the move from Persia's setting
to this project's, at the best rate of the other. The rate of the dense network
is fixed.

The result is the factor for the learning rate when moving from Persia's setting
(merge rank, scale rank) to this project's (merge step, scale global), on
generated data and on adult-income. The full version takes about an hour on two
cores.

Writes to a new folder:

  report.html               everything on one page
  trials.jsonl              a line per training, written at its end
  semantics.json            all variants with their trials
  settings.yaml             the resolved settings
  <optimizer>.png, .svg     AUC by learning rate, a line per variant`
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (Experiment) QuickTime() time.Duration { return 60 * time.Second }

// Run tunes and trains every variant.
func (Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	if o.Quick {
		return execute(ctx, newPlan(20_000, 20_000, []int{1, 4}, tune.Grid(1, 4, 3)), o)
	}
	return execute(ctx,
		newPlan(200_000, 200_000, []int{1, 4, 8}, tune.Grid(1, 2, 6)), o)
}

// execute runs a plan.
func execute(ctx context.Context, p plan, o report.Options) (*report.Report, error) {
	p.Seed, p.Seeds = o.Seed, o.Seeds
	results, err := trial.Measure(o, "semantics", p.trainings(), func(lab *trial.Lab) ([]*result, error) {
		return p.measure(ctx, lab)
	})
	if err != nil {
		return nil, err
	}
	return p.report(results), nil
}
