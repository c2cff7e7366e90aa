// Package modes compares all training modes: what they learn, how stale their reads are and how fast they
// train, on this machine and on a simulation of Persia's cluster.
package modes

import (
	"time"

	"tandem/algo/job"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
)

// New returns the experiment.
func New() *report.Experiment {
	flags := report.NewModeFlags()
	return trial.Study(report.Experiment{
		Name: "modes",
		Question: "What AUC and speed does each training mode reach, on this machine and on Persia's " +
			"cluster?",
		Help: `Trains in every mode on the same rows, in the same order, from the same initial
values, under every seed: on this machine, and in a simulation of Persia's cluster
that computes the parameters. All modes merge and scale gradients in the same way.

--modes chooses the modes; sync is always among them.

Measures AUC and log loss on the test rows, the difference of each mode to sync
with 95 % intervals, the staleness of reads and of the dense network,
and throughput, on generated data and on adult-income. The full version takes
about half an hour on two slow cores.

` + job.ModeSettingsHelp(),
		QuickTime: 25 * time.Second,
		AddFlags:  flags.AddFlags,
	}, func(o report.Options) (*plan, error) {
		p := newPlan(500_000, 1_000_000)
		if o.Quick {
			p = newPlan(50_000, 50_000)
		}
		p.Seed, p.Seeds = o.Seed, o.Seeds
		p.Modes = flags.With(job.Sync, p.Modes)
		return &p, p.set(&flags.ModeSet)
	}, (*plan).measure, (*plan).report)
}
