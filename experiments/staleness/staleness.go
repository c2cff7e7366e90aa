// Package staleness measures what asynchronous embedding updates cost in AUC.
//
// It compares three variants with equal scale of the gradient, on the same rows in the same order from the
// same initial values:
//
//	sync, merge: step   one optimizer step per row and global batch
//	sync, merge: rank   one optimizer step per row, global batch and rank that has the row, as in Persia
//	hybrid(τ)           as sync, merge: rank, but rows may be stale by up to τ batches
//
// A direct comparison of sync and hybrid would mix two effects. The variants separate them:
//
//	merging effect   = (sync, merge: rank) − (sync, merge: step)
//	staleness effect = hybrid(τ) − (sync, merge: rank)
//
// Hybrid supports only merge: rank. According to the theory, the cost of staleness grows with the frequency
// α of the most frequent id. The experiment therefore uses data sets with several α.
//
// Source: Lian and others, arXiv 2111.05897, the analysis of the hybrid algorithm.
package staleness

import (
	"context"
	"time"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/experiments/report"
	"tandem/runtime/train"
)

// Runner trains and evaluates, as train.Run does.
type Runner func(ctx context.Context, t job.Job, source batch.Source, test *batch.Batch,
	o train.Options) (*train.Result, error)

// Experiment is the comparison.
type Experiment struct {
	report.Grid
	run Runner
}

// New returns the experiment with the real runtime.
func New() *Experiment {
	return &Experiment{Grid: report.NewGrid(report.Taus, report.Alphas), run: train.Run}
}

// Name returns "staleness".
func (*Experiment) Name() string { return "staleness" }

// Question returns the question of the experiment.
func (*Experiment) Question() string {
	return "What do stale embedding rows cost in AUC, apart from the effect of merging gradients?"
}

// Help returns what the experiment measures and writes.
func (*Experiment) Help() string {
	return `Trains on the same rows, in the same order, from the same initial values, under
every seed: sync with gradients merged per step, sync with gradients merged per
rank, and hybrid at several τ, where rows may be stale by up to τ batches.

  merging effect    sync merge:rank − sync merge:step
  staleness effect  hybrid(τ) − sync merge:rank

Measures AUC and log loss on the test rows with 95 % intervals, and the staleness
of reads, on generated data whose most frequent id is in several shares α of the
rows, and on adult-income. --taus and --alphas set other values. The full version
takes about half an hour on two slow cores.

Writes to a new folder:

  report.html               everything on one page
  staleness.csv             a line per training, written at its end
  staleness.json            effects, variants and histograms of staleness
  differences.csv           paired differences by seed
  settings.yaml             the resolved settings
  auc-difference.png, .svg  the staleness effect by τ
  staleness.png, .svg       the staleness of reads by τ`
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (*Experiment) QuickTime() time.Duration { return 60 * time.Second }

// Run trains all variants under all seeds and compares them. It writes a line to staleness.csv in o.Folder
// at the end of every training.
func (e *Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	if o.Quick {
		return e.execute(ctx, quickPlan(&e.Grid), o)
	}
	return e.execute(ctx, fullPlan(&e.Grid), o)
}

// execute runs a plan.
func (e *Experiment) execute(ctx context.Context, p plan, o report.Options) (*report.Report, error) {
	p.Seed, p.Seeds = o.Seed, o.Seeds
	results, err := e.measure(ctx, p, o)
	if err != nil {
		return nil, err
	}
	return p.report(results), nil
}
