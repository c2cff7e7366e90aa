// Package hotrows measures how many frequent rows must be synchronised to get back what stale rows cost.
//
// Rows that at least a share of the samples contain are hot. The algorithm keeps hot rows on every rank and
// reduces their gradients with those of the dense network in every step; the other rows stay asynchronous.
// What it learns is measured in sequential training, where hot rows are updated at once and the others late
// by exactly τ steps (training.hot-rows, training.delay). What it costs in speed is simulated (price.go).
//
// The roles cannot run it. A pace.Rule answers for a whole lookup: whether a rank may issue it, and whether a
// PS holds it back. No rule sees the rows in it. To read some rows fresh and others not, Split (of
// algo/protocol/role) must make two lists of signs for a batch: those of PSs, and those of rows that every
// rank holds. For the second list the contract lacks handles of sparse gradients that an all-reduce can sum,
// a stage of the NN worker that gathers and updates rows, and a way for all roles to agree on the list, which
// changes with the data.
package hotrows

import (
	"context"
	"time"

	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// Experiment is the comparison.
type Experiment struct{ report.Grid }

// New returns the experiment.
func New() *Experiment { return &Experiment{report.NewGrid(report.Taus, report.Alphas)} }

// Name returns "hot-rows".
func (*Experiment) Name() string { return "hot-rows" }

// Question returns the question of the experiment.
func (*Experiment) Question() string {
	return "How many hot rows must be synchronised to get back what staleness costs?"
}

// Help returns what the experiment measures and writes.
func (*Experiment) Help() string {
	return `Trains sequentially with row gradients that are late by exactly τ steps, except
those of hot rows, which at least a share of the samples contain. At several
thresholds, compares the AUC with training without delay, under the same seeds,
on generated data, adult-income and the real data sets that are in the data
folder. Learning rates are tuned for every variant, on other rows.

Then simulates the speed of hybrid, sync and hot-rows on the cluster
persia-paper. In hot-rows every rank holds the hot rows of the model, and their
gradients join the all-reduce of the dense network. The full version takes about
10 minutes on two slow cores.

Writes to a new folder:

  report.html                everything on one page
  trials.jsonl               a line per training, written at its end
  hot-rows.json              results of all variants and simulations
  differences.csv            paired differences by seed
  settings.yaml              the resolved settings
  loss-15.png, .svg, …       AUC loss by number of hot rows, for each τ
  speed.png, .svg            simulated speed by number of hot rows`
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (*Experiment) QuickTime() time.Duration { return 30 * time.Second }

// Run trains and simulates all variants.
func (e *Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	p := newPlan(e.Taus(15, 63))
	if p.Taus[0] == 0 {
		return nil, cli.UsageError("0 steps late is the training that all are compared with: leave 0 out",
			"--taus: 0 steps")
	}
	alphas := e.Alphas(0.01, 0.5)
	if o.Quick {
		p.quick(alphas)
	} else {
		p.full(alphas, o.DataFolder)
	}
	return p.execute(ctx, o)
}

// execute runs a plan.
func (p plan) execute(ctx context.Context, o report.Options) (*report.Report, error) {
	p.Seed, p.Seeds = o.Seed, o.Seeds
	r, err := p.measure(ctx, o)
	if err != nil {
		return nil, err
	}
	return p.report(r), nil
}
