// Package semantics asks what the learning rate of rows means: how row gradients
// of several ranks are merged and scaled decides which rate is right.
//
//	merge: step   gradients of one step are added up, one optimizer step a row
//	merge: rank   one optimizer step for every rank that has the row, as Persia
//	scale: global gradients are divided by the samples of the step
//	scale: rank   by those of the rank's part, as Persia: N times as large
//
// For SGD, scale: rank with N equal ranks is scale: global with N times the rate,
// exactly. Adaptive optimizers divide by the size of past gradients, so for them
// no such factor exists, and merging per rank shows them other gradients: a rank's
// part has more noise, and there are N of them.
package semantics

import (
	"context"
	"time"

	"tandem/experiments/report"
)

// Experiment is the comparison.
type Experiment struct{}

// New returns the experiment.
func New() Experiment { return Experiment{} }

// Name returns "semantics".
func (Experiment) Name() string { return "semantics" }

// Question returns what the experiment asks.
func (Experiment) Question() string {
	return "What does the learning rate of rows mean, when gradients are merged and scaled otherwise?"
}

// Help says what the experiment measures and writes.
func (Experiment) Help() string {
	return `It trains in sync mode with every way to merge (step, rank) and scale (global,
rank) row gradients, with SGD, Adagrad, row-wise Adagrad and Adam for rows, on
several numbers of ranks. Every variant gets the same trials of the rate, judged on
the last tenth of the training rows; it is then trained under every seed at its
optimizer's nominal rate and at its best. The rate of the dense network is fixed.

It answers by what to multiply a rate when moving from Persia's setting (merge
rank, scale rank) to this project's (merge step, scale global). Data are
generated, and adult-income. The full version takes about an hour on two cores.

It writes into a new folder:

  report.html               everything on one page
  semantics.csv             a line per training, written as soon as it is done
  semantics.json            all variants with their trials
  settings.yaml             the resolved settings
  <optimizer>.png, .svg     AUC by rate, a line per variant`
}

// QuickTime is about how long the quick version takes on two slow cores.
func (Experiment) QuickTime() time.Duration { return 150 * time.Second }

// Run tunes and trains every variant.
func (Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	if o.Quick {
		return execute(ctx, newPlan(20_000, 20_000, []int{1, 4}, []int{-6, -4, -2, 0, 2, 4, 6}), o)
	}
	return execute(ctx, newPlan(200_000, 200_000, []int{1, 4, 8}, []int{-6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6}), o)
}

// execute runs a plan.
func execute(ctx context.Context, p plan, o report.Options) (*report.Report, error) {
	p.Seed, p.Seeds = o.Seed, o.Seeds
	results, err := p.measure(ctx, o)
	if err != nil {
		return nil, err
	}
	return p.report(results), nil
}
