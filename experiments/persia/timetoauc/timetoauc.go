// Package timetoauc measures how long, and for how many dollars, an option trains until it reaches an AUC. An
// option is a mode on a number of GPUs of a cluster.
//
// Every training is simulated with its numbers: the network that is trained is the network that is priced,
// and the order of events on the cluster, with its staleness, decides the numbers. A training has a seed,
// which is a generated world of its own, and a point of the box of what is unknown of the cluster and of its
// prices. All options share seeds and points, so two of them are compared training by training.
//
// The target of a world is the AUC of sync on the fewest GPUs, at the nominal rates, after a share of the
// rows; the share was lowered once, after a pilot. Every mode has learning rates of its own for every number
// of GPUs, because at common rates the comparison would measure the rate.
//
//	time to target = simulated seconds of the first evaluation with at least the target's AUC
//	cost           = time · price of GPUs, servers, EWs, PSs, dense PSs and loader, an hour, at that point
//
// The null model is that a mode takes the steps of sync, each in the mean time of a step of sync.
package timetoauc

import (
	"slices"
	"time"

	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/internal/cli"
)

// New returns the experiment that compares times.
func New() *report.Experiment {
	return study("time-to-auc", "How long do modes and clusters train until a target AUC?", inTime())
}

// NewCost returns the experiment that compares dollars.
func NewCost() *report.Experiment {
	return study("cost-to-auc", "What does a target AUC cost, and which cluster should I rent for it?",
		inCents())
}

// study returns the experiment that compares options by a measure.
func study(name, question string, m measured) *report.Experiment {
	var f flags
	return trial.Study(report.Experiment{
		Name: name, Question: question,
		Help: `Trains generated data under simulated time on several clusters, with 8 to 512
GPUs, in sync and in asynchronous modes (--modes), each at rates tuned for it.
The target is the AUC of sync on the fewest GPUs after an eighth of the rows
(--target-share). Seconds are simulated, and dollars are those of all machines at
dated list prices on demand: GPUs, servers, embedding workers, PSs and loader.
Prices that are not known are ranges, unless --price sets them.

Every option is trained under each seed at one point of what is unknown of its
cluster: an interval is where the next such training would be. What was trained
on another cluster, or with another network, is in a table of its own.

The quick version has 2 clusters, 8 and 64 GPUs and one network. The full one has
3, up to 512, and two; it takes about half an hour on two cores.

` + job.ModeSettingsHelp(),
		QuickTime: 55 * time.Second,
		AddFlags:  f.add,
	}, func(o report.Options) (*plan, error) {
		p, err := newPlan(o.Quick)
		if err != nil {
			return nil, err
		}
		p.Seed, p.Seeds = o.Seed, o.Seeds
		return p, p.set(&f)
	}, (*plan).measure, func(p *plan, r *results) *report.Report { return p.report(r, m) })
}

// flags are the flags of both experiments.
type flags struct {
	report.ModeFlags
	gpus   []int
	share  float64
	prices []string
}

// add adds the flags to a command.
func (f *flags) add(set *pflag.FlagSet) {
	*f = flags{ModeFlags: report.NewModeFlags()}
	f.AddFlags(set)
	set.IntSliceVar(&f.gpus, "gpus", nil, "train on these numbers of GPUs (default 8,64,512; quick: 8,64)")
	set.Float64Var(&f.share, "target-share", targetShare,
		"set the target: the AUC of sync on the fewest GPUs after this share of the rows")
	set.StringSliceVar(&f.prices, "price", nil,
		"set the price of an accelerator or host in dollars an hour, as T4=0.35; may be repeated")
}

// set takes the flags of a command line.
func (p *plan) set(f *flags) error {
	p.Modes = f.With(job.Sync, p.Modes)
	if err := f.Apply(&p.Job, p.Modes); err != nil {
		return err
	}
	p.ModeSettings = report.ModeSettings(p.Job, p.Modes)
	for _, n := range f.gpus {
		if n < 1 || n > job.RolesMax {
			return cli.UsageError("see --help", "--gpus: %d; want 1 to %d", n, job.RolesMax)
		}
	}
	if f.gpus != nil {
		p.GPUs = slices.Compact(slices.Sorted(slices.Values(f.gpus)))
	}
	if !(f.share > 0 && f.share < 1) {
		return cli.UsageError("see --help", "--target-share: %v; want above 0 and below 1", f.share)
	}
	p.TargetShare = f.share
	return p.setPrices(f.prices)
}
