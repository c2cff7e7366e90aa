// Package staleness measures what late embedding rows cost in AUC, apart from the effect of merging
// gradients.
//
// Hybrid differs from sync in two ways: its rows are late, and each rank's gradient of a row is an optimizer
// step of its own. The primary arms are sequential trainings, which give the same bits in every run and have
// one of the two each. Hybrid with real threads confirms them. Three further arms impose on a sequential
// training what hybrid has measured under the same seed, each with more of it than the one before; nothing is
// left out of the last, so its bits must be those of hybrid.
//
// Source: Lian and others, arXiv 2111.05897, the analysis of the hybrid algorithm.
package staleness

import (
	"context"
	"time"

	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
)

// New returns the experiment. The flags --taus and --alphas set delays and data.
func New() *report.Experiment {
	grid := report.NewGrid(report.Taus, report.Alphas)
	return trial.Study(report.Experiment{
		Name:     "staleness",
		Question: "What do stale embedding rows cost in AUC, apart from the effect of merging gradients?",
		Help: `Trains on the same rows, in the same order, from the same initial values, under
every seed, at equal scale of the gradients. The primary arms are sequential:

  merging     merge:rank − merge:step
  staleness   row gradients late by τ steps − merge:rank
  lag         the last τ steps left out − merge:rank

Confirmed by:

  threads     hybrid with real threads − merge:rank
  runtime     hybrid − sequential with the own staleness that hybrid measured
              as delays, drawn step by step
  steps       hybrid − sequential with the delay of each step as measured
  reads       hybrid − sequential with each read and update of rows in turn as
              measured: the same bits, if nothing else differs
  simulated   hybrid on up to 64 simulated ranks − merge:rank of as many

The full version also has longer runs and, at tuned rates, SGD, Adagrad, Adam and
FTRL on rows. Data are generated, with the most frequent id in several shares α of
the rows, and adult-income. --taus and --alphas set other values. The full version
takes about 20 minutes on two cores, longer runs about an hour more.`,
		QuickTime: 20 * time.Second,
		AddFlags:  grid.AddFlags,
	}, func(o report.Options) (*plan, error) {
		return newPlan(o, &grid), nil
	}, func(p *plan, ctx context.Context, lab *trial.Lab) ([]*dataSetResult, error) {
		lab.Expect(p.trainings())
		return p.measure(ctx, lab)
	}, (*plan).report)
}
