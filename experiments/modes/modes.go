// Package modes compares all training modes: what they learn, how stale their reads are and how fast they
// train, on this machine and on a simulation of Persia's cluster.
package modes

import (
	"context"
	"time"

	"tandem/algo/job"
	"tandem/experiments/report"
)

// Experiment is the comparison.
type Experiment struct{ report.ModeFlags }

// New returns the experiment.
func New() *Experiment { return &Experiment{report.NewModeFlags()} }

// Name returns "modes".
func (*Experiment) Name() string { return "modes" }

// Question returns the question of the experiment.
func (*Experiment) Question() string {
	return "What AUC and speed does each training mode reach, on this machine and on Persia's cluster?"
}

// Help returns what the experiment measures and writes.
func (*Experiment) Help() string {
	return `Trains in every mode on the same rows, in the same order, from the same initial
values, under every seed: on this machine, and in a simulation of Persia's cluster
that computes the parameters. All modes merge and scale gradients in the same way.

--modes chooses the modes; sync is always among them.

Measures AUC and log loss on the test rows, the difference of each mode to sync
with 95 % intervals, the staleness of reads and of the dense network,
and throughput, on generated data and on adult-income. The full version takes
about half an hour on two slow cores.

Writes to a new folder:

  report.html                  everything on one page
  trials.jsonl                 a line per training, written at its end
  modes.csv                    the same as a table
  modes.json                   all trainings
  differences.csv              paired differences by seed
  settings.yaml                the resolved settings
  auc-difference.png, .svg     AUC of each mode − AUC of sync
  throughput.png, .svg         throughput by mode` + "\n\n" + job.ModeSettingsHelp()
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (*Experiment) QuickTime() time.Duration { return 25 * time.Second }

// Run trains in every mode under every seed, real and simulated, and compares the modes.
func (e *Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	p := newPlan(500_000, 1_000_000)
	if o.Quick {
		p = newPlan(50_000, 50_000)
	}
	p.Modes = e.With(job.Sync, p.Modes)
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
