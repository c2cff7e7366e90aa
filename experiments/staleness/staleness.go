// Package staleness asks what asynchronous embedding updates cost in AUC.
//
// Three ways of training are compared at equal scale of the gradient, on the
// same rows in the same order from the same initial values:
//
//	sync, merge: step   one optimizer step per row and global batch
//	sync, merge: rank   one per rank that has the row, as Persia
//	hybrid(τ)           as before, but rows may be stale, up to τ batches
//
// so that two effects, which a plain comparison of sync and hybrid mixes, come
// apart:
//
//	merging effect   = (sync, merge: rank) − (sync, merge: step)
//	staleness effect = hybrid(τ) − (sync, merge: rank)
//
// Hybrid knows only merge: rank. The theory says that staleness costs more the
// more often the most frequent id occurs (α), hence data of several α.
//
// Source: Lian and others, arXiv 2111.05897, the analysis of the hybrid
// algorithm.
package staleness

import (
	"context"
	"time"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/experiments/report"
	"tandem/runtime/train"
)

// Runner trains and evaluates; train.Run is one.
type Runner func(ctx context.Context, t job.Job, source batch.Source, test *batch.Batch,
	o train.Options) (*train.Result, error)

// Experiment is the comparison.
type Experiment struct{ run Runner }

// New returns the experiment on the real runtime.
func New() Experiment { return Experiment{train.Run} }

// Name returns "staleness".
func (Experiment) Name() string { return "staleness" }

// Question returns what the experiment asks.
func (Experiment) Question() string {
	return "What do stale embedding rows cost in AUC, apart from how gradients are merged?"
}

// Help says what the experiment measures and writes.
func (Experiment) Help() string {
	return `It trains on the same rows in the same order from the same initial values, under
every seed: sync with gradients merged per step, sync with gradients merged per
rank, and hybrid at several τ, where rows may be stale by up to τ batches.

  merging effect    sync merge:rank − sync merge:step
  staleness effect  hybrid(τ) − sync merge:rank

It measures AUC and log loss on the test rows with 95 % intervals over seeds, the
interval of a bootstrap of the test rows, and how stale reads really were. Data
are generated, with the most frequent id in several shares α of the rows, and
adult-income. The full version takes about half an hour on two slow cores.

It writes into a new folder:

  report.html               everything on one page
  staleness.csv             a line per training, written as soon as it is done
  staleness.json            effects, variants and histograms of staleness
  settings.yaml             the resolved settings
  auc-difference.png, .svg  the effect of staleness by τ
  staleness.png, .svg       how stale reads were, by τ`
}

// QuickTime is about how long the quick version takes on two slow cores.
func (Experiment) QuickTime() time.Duration { return 60 * time.Second }

// Run trains all variants under all seeds and compares them. Every training that is
// done is a line of staleness.csv in o.Folder at once.
func (e Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	if o.Quick {
		return e.execute(ctx, quickPlan(), o)
	}
	return e.execute(ctx, fullPlan(), o)
}

// execute runs a plan.
func (e Experiment) execute(ctx context.Context, p plan, o report.Options) (*report.Report, error) {
	p.Seed, p.Seeds = o.Seed, o.Seeds
	results, err := e.measure(ctx, p, o)
	if err != nil {
		return nil, err
	}
	return p.report(results), nil
}
