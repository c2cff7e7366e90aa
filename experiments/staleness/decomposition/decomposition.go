// Package decomposition divides the AUC that asynchronous training loses into its causes.
//
// Async-ps differs from sync in several ways at once: each rank's gradient is an optimizer step of its own,
// for the rows and for the network, and both are late. A chain of arms changes one of them at a time, in
// sequential training with imposed delays; the last arm is async-ps itself. The difference of neighbours is
// a part, and the parts add up to async-ps − sync:
//
//	sync → rows by rank → N applications → rows late → network late → async-ps
//
// The last part is the residual: what the delays do not explain. Parts are compared at the rates of sync and
// with each arm at its own, with Adam and with SGD for the network.
package decomposition

import (
	"context"
	"time"

	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
)

// Experiment is the comparison.
type Experiment struct{}

// New returns the experiment.
func New() Experiment { return Experiment{} }

// Name returns "async-decomposition".
func (Experiment) Name() string { return "async-decomposition" }

// Question returns the question of the experiment.
func (Experiment) Question() string { return "Why is asynchronous training worse than synchronous?" }

// Help returns what the experiment measures and writes.
func (Experiment) Help() string {
	return `Divides the AUC of async-ps less that of sync into parts. Each arm of a chain
changes one thing of the arm before:

  sync
  rows by rank    each rank's gradient of a row is an optimizer step
  N applications  each rank's gradient of the network is a step, too; all N are
                  computed from the same parameters
  rows late       rows have the delays that async-ps has
  network late    so has the network
  async-ps        on the simulated cluster; the rest is the residual

Beside them: batches of 1/N without delay, and async-average. All trainings are
deterministic. Arms are compared at the tuned rates of sync and each at its own,
on generated data and on adult-income, with Adam and with SGD for the network.
The full version takes about an hour on two slow cores.

Writes to a new folder:

  report.html               everything on one page
  trials.jsonl              a line per training, written at its end
  async-decomposition.json  AUC by seed, parts, rates with their trials
  settings.yaml             the resolved settings
  own-rates.png, .svg       the parts, each arm at its own rates
  common-rates.png, .svg    the parts at the rates of sync`
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (Experiment) QuickTime() time.Duration { return 55 * time.Second }

// Run trains and compares all arms.
func (Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	p := fullPlan()
	if o.Quick {
		p = quickPlan()
	}
	return execute(ctx, p, o)
}

// execute runs a plan.
func execute(ctx context.Context, p plan, o report.Options) (*report.Report, error) {
	p.Seed, p.Seeds = o.Seed, o.Seeds
	measure := func(lab *trial.Lab) ([]*result, error) { return p.measure(ctx, lab) }
	results, err := trial.Measure(o, "async-decomposition", p.trainings(), measure)
	if err != nil {
		return nil, err
	}
	return p.report(results), nil
}
