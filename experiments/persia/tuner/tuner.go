// Package tuner finds the learning rates of every training mode and compares the modes twice: at the rates
// that suit sync, and each at its own.
//
// A mode that takes other optimizer steps needs other rates. Async-ps takes N steps of an adaptive optimizer
// where sync takes one, so a comparison at one rate measures the rate as much as the mode.
package tuner

import (
	"context"
	"time"

	"tandem/algo/job"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/internal/cli"
)

// Experiment is the comparison.
type Experiment struct{ report.ModeFlags }

// New returns the experiment.
func New() *Experiment { return &Experiment{report.NewModeFlags(report.Rates)} }

// Name returns "tuner".
func (*Experiment) Name() string { return "tuner" }

// Question returns the question of the experiment.
func (*Experiment) Question() string {
	return "Which learning rates does each mode need, and what do modes differ by at their own rates?"
}

// Help returns what the experiment measures and writes.
func (*Experiment) Help() string {
	return `Tunes the learning rates of rows and network for every mode, and for logistic
regression as a baseline, with the same number of trials each, on rows that are
not used afterwards. It then trains every mode under every seed, on the same rows
from the same initial values, at the rates that are best for sync and at its own.
Parallel modes run in a simulation of Persia's cluster that computes the
parameters, so every run gives the same bits.

Measures AUC on the test rows and its difference to sync with 95 % intervals over
seeds, and the ratio of each mode's best rate of rows to that of sync, on
generated data and on adult-income. The full version takes about half an hour on
two slow cores.

Writes to a new folder:

  report.html               everything on one page
  trials.jsonl              a line per training, written at its end
  tuner.json                choices with all their trials, and differences
  settings.yaml             the resolved settings
  auc-difference.png, .svg  AUC of each mode − AUC of sync, at both rates` + "\n\n" + job.ModeSettingsHelp()
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (*Experiment) QuickTime() time.Duration { return 30 * time.Second }

// Run tunes and compares the modes.
func (e *Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	p := fullPlan()
	if o.Quick {
		p = quickPlan()
	}
	p.Modes, p.Rates.Rows = e.With(job.Sync, p.Modes), e.ModeFlags.Rates(p.Rates.Rows...)
	if err := p.Rates.Validate(); err != nil {
		return nil, cli.UsageError("each rate is the same multiple of the one before, as 0.025,0.1,0.4",
			"--rates: %v", err)
	}
	if err := p.setModes(&e.ModeSet); err != nil {
		return nil, err
	}
	return execute(ctx, p, o)
}

// execute runs a plan.
func execute(ctx context.Context, p plan, o report.Options) (*report.Report, error) {
	p.Seed, p.Seeds = o.Seed, o.Seeds
	results, err := trial.Measure(o, "tuner", p.trainings(), func(lab *trial.Lab) ([]*result, error) {
		return p.measure(ctx, lab)
	})
	if err != nil {
		return nil, err
	}
	return p.report(results), nil
}
