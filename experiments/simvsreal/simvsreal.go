// Package simvsreal asks how well the simulator predicts this machine.
//
// One sync run is timed piece of work by piece of work. The medians of these times
// price the work of the simulated machine; every mode is then predicted, and
// trained for real beside it. Nothing is fitted to the modes that are predicted:
// their step times, staleness and stages follow from the roles, the number of
// cores and the times of sync's work.
package simvsreal

import (
	"context"
	"time"

	"tandem/algo/job"
	"tandem/experiments/report"
)

// Experiment is the comparison.
type Experiment struct{ report.ModeSet }

// New returns the experiment.
func New() *Experiment { return &Experiment{} }

// Name returns "simvsreal".
func (*Experiment) Name() string { return "simvsreal" }

// Question returns what the experiment asks.
func (*Experiment) Question() string {
	return "Does the simulator predict what training on this machine shows?"
}

// Help says what the experiment measures and writes.
func (*Experiment) Help() string {
	return `A round has one seed. It times every piece of work of one sync run, gives the
simulator the medians, and has the same job trained in every mode, for real and
simulated with numbers, on the same rows from the same initial values. Real runs
of a round take turns, in another order every round. It compares

  step time and throughput   against max(10 %, 2 × the spread of the real runs)
  stage times                medians of GE, FC, BC, DS and PEG
  staleness                  histograms, by their Wasserstein distance
  AUC and log loss           on the test rows

all measured by the same code from the records of the roles. Sync lends its work
times and not its step time; of the other modes nothing is used. The machine
should be idle. The full version takes some minutes.

It writes into a new folder:

  report.html              everything on one page
  simvsreal.csv            a line per run, written as soon as it is done
  simvsreal.json           all runs, and the times of work
  settings.yaml            the resolved settings
  step-time.png, .svg      simulated against real step time
  staleness.png, .svg      how stale reads were in hybrid mode, in both worlds` + "\n\n" + job.ModeSettingsHelp()
}

// QuickTime is about how long the quick version takes on two slow cores.
func (*Experiment) QuickTime() time.Duration { return 90 * time.Second }

// Run measures every round and compares.
func (e *Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	p := newPlan(200_000, 50_000)
	if o.Quick {
		p = newPlan(50_000, 20_000)
	}
	if err := p.set(&e.ModeSet); err != nil {
		return nil, err
	}
	return execute(ctx, p, o)
}

// execute runs a plan.
func execute(ctx context.Context, p plan, o report.Options) (*report.Report, error) {
	p.Seed, p.Rounds = o.Seed, o.Seeds
	r, err := p.measure(ctx, o)
	if err != nil {
		return nil, err
	}
	return p.report(r), nil
}
