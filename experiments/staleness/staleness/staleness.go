// Package staleness measures what late embedding rows cost in AUC, apart from the effect of merging
// gradients.
//
// All arms have the same rows in the same order, the same initial values and the same scale of the gradient:
//
//	merge: step   one optimizer step per row and global batch
//	merge: rank   one optimizer step per row, global batch and rank that has the row, as in Persia
//	late          as merge: rank, but row gradients take effect some steps later
//
// A direct comparison of the first and the last would mix two effects. The second separates them:
//
//	merging effect   = (merge: rank) − (merge: step)
//	staleness effect = late − (merge: rank)
//
// The primary arms are sequential trainings, which give the same bits in every run; without delay, sync mode
// has their bits. The delay is exactly τ, or has no bound: geometric with a mean of τ. What is late by τ
// steps has also learned from τ steps less, so a lag control leaves out the last τ steps.
//
// Hybrid mode with real threads confirms them. Three further arms impose on a sequential training what
// hybrid has measured under the same seed, each with more of it than the one before:
//
//	drawn      the histogram of staleness, from which delays are drawn
//	by steps   the delay of each step, in turn
//	by reads   the order of every read and update of rows on every PS
//
// The difference of hybrid from each is what the arm leaves out of the runtime; nothing is left out of the
// last, so its bits must be those of hybrid. On larger numbers of ranks, hybrid is simulated, with real
// gradients in virtual time.
//
// According to the theory, the cost grows with the frequency α of the most frequent id, so data have several
// α.
//
// Source: Lian and others, arXiv 2111.05897, the analysis of the hybrid algorithm.
package staleness

import (
	"context"
	"time"

	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
)

// Experiment is the comparison.
type Experiment struct{ report.Grid }

// New returns the experiment.
func New() *Experiment { return &Experiment{report.NewGrid(report.Taus, report.Alphas)} }

// Name returns "staleness".
func (*Experiment) Name() string { return "staleness" }

// Question returns the question of the experiment.
func (*Experiment) Question() string {
	return "What do stale embedding rows cost in AUC, apart from the effect of merging gradients?"
}

// Help returns what the experiment measures and writes.
func (*Experiment) Help() string {
	return `Trains on the same rows, in the same order, from the same initial values, under
every seed, at equal scale of the gradients. The primary arms are sequential:

  merging     merge:rank − merge:step
  staleness   row gradients late by τ steps − merge:rank
  unbounded   the same with geometric delays of mean τ
  lag         the last τ steps left out − merge:rank

Confirmed by:

  threads     hybrid with real threads − merge:rank
  runtime     hybrid − sequential with the own staleness that hybrid measured
              as delays, drawn step by step
  steps       hybrid − sequential with the delay of each step as measured
  reads       hybrid − sequential with each read and update of rows in turn as
              measured: the same bits, if nothing else differs
  order       delays of each step as measured − drawn
  simulated   hybrid on up to 64 simulated ranks − merge:rank of as many

The full version also has longer runs and, at tuned rates, SGD, Adagrad, Adam and
FTRL on rows. Data are generated, with the most frequent id in several shares α of
the rows, and adult-income. --taus and --alphas set other values. The full version
takes about 20 minutes on two cores, longer runs about an hour more.

Writes to a new folder:

  report.html               everything on one page
  trials.jsonl              a line per training, written at its end
  staleness.json            effects, arms and histograms of staleness
  differences.csv           paired differences by seed
  settings.yaml             the resolved settings
  auc-difference.png, .svg  the effects by τ`
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (*Experiment) QuickTime() time.Duration { return 20 * time.Second }

// Run trains all arms under all seeds and compares them.
func (e *Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	p := fullPlan(&e.Grid)
	if o.Quick {
		p = quickPlan(&e.Grid)
	}
	p.Seed, p.Seeds = o.Seed, o.Seeds
	return execute(ctx, p, o)
}

// execute runs a plan.
func execute(ctx context.Context, p plan, o report.Options) (*report.Report, error) {
	measure := func(lab *trial.Lab) ([]*dataSetResult, error) { return p.measure(ctx, lab) }
	results, err := trial.Measure(o, "staleness", p.trainings(), measure)
	if err != nil {
		return nil, err
	}
	return p.report(results), nil
}
