// Package modes compares all training modes in both worlds: what they learn, how
// stale their reads are and how fast they train, on this machine for real and on
// Persia's cluster simulated.
package modes

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

// Name returns "modes".
func (*Experiment) Name() string { return "modes" }

// Question returns what the experiment asks.
func (*Experiment) Question() string {
	return "What does each training mode give in AUC and speed, here and on Persia's cluster?"
}

// Help says what the experiment measures and writes.
func (*Experiment) Help() string {
	return `It trains in every mode on the same rows in the same order from the same initial
values, under every seed: for real on this machine, and simulated with numbers on
Persia's cluster. All modes merge gradients by rank and scale them alike.

It measures AUC and log loss on the test rows, the difference of each mode to sync
with 95 % intervals over seeds, the staleness of reads and of the dense network,
and throughput. Data are generated, and adult-income. The full version takes about
half an hour on two slow cores.

It writes into a new folder:

  report.html                  everything on one page
  modes.csv                    a line per training, written as soon as it is done
  modes.json                   all trainings
  settings.yaml                the resolved settings
  auc-difference.png, .svg     AUC of each mode less that of sync
  throughput.png, .svg         samples a second, by mode` + "\n\n" + job.ModeSettingsHelp()
}

// QuickTime is about how long the quick version takes on two slow cores.
func (*Experiment) QuickTime() time.Duration { return 120 * time.Second }

// Run trains every mode under all seeds in both worlds and compares them.
func (e *Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	p := newPlan(500_000, 1_000_000)
	if o.Quick {
		p = newPlan(50_000, 50_000)
	}
	if err := p.set(&e.ModeSet); err != nil {
		return nil, err
	}
	return execute(ctx, p, o)
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
