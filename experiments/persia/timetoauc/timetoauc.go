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
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/internal/cli"
)

// Experiment is the comparison by time or by dollars.
type Experiment struct {
	flags
	money bool
}

// New returns the experiment that compares times.
func New() *Experiment { return &Experiment{flags: newFlags()} }

// NewCost returns the experiment that compares dollars.
func NewCost() *Experiment { return &Experiment{flags: newFlags(), money: true} }

// flags are the flags of both experiments.
type flags struct {
	report.ModeFlags
	gpus   []int
	share  float64
	prices []string
}

func newFlags() flags { return flags{ModeFlags: report.NewModeFlags(), share: targetShare} }

// AddFlags adds the flags.
func (f *flags) AddFlags(set *pflag.FlagSet) {
	*f = newFlags()
	f.ModeFlags.AddFlags(set)
	set.IntSliceVar(&f.gpus, "gpus", nil, "train on these numbers of GPUs (default 8,64,512; quick: 8,64)")
	set.Float64Var(&f.share, "target-share", targetShare,
		"set the target: the AUC of sync on the fewest GPUs after this share of the rows")
	set.StringSliceVar(&f.prices, "price", nil,
		"set the price of an accelerator or host in dollars an hour, as T4=0.35; may be repeated")
}

// Arguments returns the flags that were set.
func (f *flags) Arguments() []string {
	words := f.ModeFlags.Arguments()
	if f.gpus != nil {
		var list []string
		for _, n := range f.gpus {
			list = append(list, strconv.Itoa(n))
		}
		words = append(words, "--gpus", strings.Join(list, ","))
	}
	if f.share != targetShare {
		words = append(words, "--target-share", strconv.FormatFloat(f.share, 'g', -1, 64))
	}
	if f.prices != nil {
		words = append(words, "--price", strings.Join(f.prices, ","))
	}
	return words
}

// check returns a usage error for values out of range.
func (f *flags) check() error {
	for _, n := range f.gpus {
		if n < 1 || n > job.RolesMax {
			return cli.UsageError("see --help", "--gpus: %d; want 1 to %d", n, job.RolesMax)
		}
	}
	if !(f.share > 0 && f.share < 1) {
		return cli.UsageError("see --help", "--target-share: %v; want above 0 and below 1", f.share)
	}
	return nil
}

// Name returns "time-to-auc" or "cost-to-auc".
func (e *Experiment) Name() string {
	if e.money {
		return "cost-to-auc"
	}
	return "time-to-auc"
}

// Question returns the question of the experiment.
func (e *Experiment) Question() string {
	if e.money {
		return "What does a target AUC cost, and which cluster should I rent for it?"
	}
	return "How long do modes and clusters train until a target AUC?"
}

// Help returns what the experiment measures and writes.
func (e *Experiment) Help() string {
	name, unit := e.Name(), "time"
	figure := `curve-a100, …              AUC by simulated time on a cluster (.png, .svg)`
	if e.money {
		unit = "cost"
		figure = `dollars-a100, …            cost by GPUs on a cluster (.png, .svg)`
	}
	return fmt.Sprintf(`Trains generated data under simulated time on several clusters, with 8 to 512
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

Writes to a new folder:

  report.html                everything on one page
  trials.jsonl               a line per training, written at its end
  %-26s every training, intervals, tuned rates
  settings.yaml              the resolved settings, with all prices
  options.png, .svg          %s ÷ that of the best option
  %s`+"\n\n"+job.ModeSettingsHelp(), name+".json", unit, figure)
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (*Experiment) QuickTime() time.Duration { return 55 * time.Second }

// Run trains all options.
func (e *Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	make := fullPlan
	if o.Quick {
		make = quickPlan
	}
	p, err := make()
	if err != nil {
		return nil, err
	}
	if err := p.set(&e.flags); err != nil {
		return nil, err
	}
	return p.execute(ctx, o, e.money)
}

// execute runs a plan and reports times or dollars.
func (p *plan) execute(ctx context.Context, o report.Options, money bool) (*report.Report, error) {
	p.Seed, p.Seeds = o.Seed, o.Seeds
	r, err := trial.Measure(o, "time-to-auc", 0, func(lab *trial.Lab) (*results, error) {
		return p.measure(ctx, lab)
	})
	if err != nil {
		return nil, err
	}
	if money {
		return p.report(r, inCents()), nil
	}
	return p.report(r, inTime()), nil
}
