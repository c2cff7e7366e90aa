// Package simvsreal measures how well the simulator predicts this machine.
//
// One sync run measures the time of every piece of work. The means are the times of work of the simulated
// machine. The simulator then predicts every mode, and the same job runs for real. Nothing is fitted to the
// predicted modes: their step times, stages and staleness follow from the roles, the number of cores and the
// times of work in sync. A null model, by which every mode takes as long as sync, stands beside. Settings of
// the job make different resources bind.
package simvsreal

import (
	"context"
	"slices"
	"time"

	"tandem/algo/job"
	"tandem/experiments/internal/report"
)

// Experiment is the comparison.
type Experiment struct{ report.ModeFlags }

// New returns the experiment.
func New() *Experiment { return &Experiment{report.NewModeFlags()} }

// Name returns "simvsreal".
func (*Experiment) Name() string { return "simvsreal" }

// Question returns the question of the experiment.
func (*Experiment) Question() string {
	return "How well does the simulator predict training on this machine?"
}

// Help returns what the experiment measures and writes.
func (*Experiment) Help() string {
	return `Each round has one seed. In every setting of the job, it measures the time of every
piece of work in one sync run, gives the means to the simulator and trains the same
job in every mode, real and simulated, on the same rows from the same initial
values. The order of the real runs rotates from round to round. Compares

  step time and throughput   within max(10 %, 2 × the spread of the real runs),
                             and beside a null model: every mode takes the time
                             of sync
  stage times                medians of GE, FC, BC, DS and PEG
  staleness                  histograms, by their Wasserstein distance
  AUC and log loss           on the test rows

The settings change the network, the batch, the rows, the ranks and the servers.
The stages of a batch are GE (get embeddings), FC (forward), BC (backward), DS
(dense synchronisation) and PEG (put embedding gradients). The same code measures
real and simulated runs, from the events that the roles record. The simulator uses
the times of work and the CPU time of sync, but not its step time, and nothing of
the other modes.

The machine should be idle. --modes chooses the modes; sync is always among them,
and sequential, which has no roles, never. The quick version has two settings, four
modes and at most three rounds. A run takes at least 2 s, the full version about
half an hour.

Writes to a new folder:

  report.html              everything on one page
  simvsreal.csv            a line per run, written at its end
  simvsreal.json           all runs and the times of work
  differences.csv          paired differences by seed
  settings.yaml            the resolved settings
  step-time.png, .svg      simulated by real step time, both ÷ that of sync
  staleness.png, .svg      staleness of reads in hybrid mode, real and simulated

` +
		job.ModeSettingsHelp()
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (*Experiment) QuickTime() time.Duration { return 110 * time.Second }

// Run measures every round and compares the runs.
func (e *Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	p := newPlan(50_000, 50_000)
	if o.Quick {
		p = newPlan(50_000, 20_000)
		p.Settings, p.Modes = p.Settings[:quickSettings], quickModes()
		o.Seeds = min(o.Seeds, quickRounds)
	}
	p.RunSeconds = runSeconds
	p.Modes = slices.DeleteFunc(e.With(job.Sync, p.Modes), sequential)
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
