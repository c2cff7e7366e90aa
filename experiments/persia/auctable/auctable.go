// Package auctable measures the AUC of every mode less that of sync, on generated and real data.
//
// Every mode is compared at its own tuned learning rates and at those of sync. Hybrid differs from sync in
// two ways, which a third arm keeps apart: its rows are stale, and each rank's gradient of a row is an
// optimizer step of its own. Sync by rank has only the second.
//
//	hybrid − sync = (hybrid − sync by rank) + (sync by rank − sync) = staleness + merging
//
// Parallel modes run in a simulated cluster that computes the parameters, so all results are repeatable to
// the bit. Sync is trained in sequence, which has its bits.
package auctable

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/internal/cli"
)

// Experiment is the comparison.
type Experiment struct {
	report.ModeFlags
	sets []string
}

// New returns the experiment.
func New() *Experiment { return &Experiment{ModeFlags: report.NewModeFlags()} }

// Name returns "auc-table".
func (*Experiment) Name() string { return "auc-table" }

// Question returns the question of the experiment.
func (*Experiment) Question() string {
	return "What AUC does each mode gain or lose against sync, on real and on generated data?"
}

// Help returns what the experiment measures and writes.
func (*Experiment) Help() string {
	return `Tunes the learning rates of every mode on every data set, the same trials for
each, on rows that are not used afterwards. It then trains all modes under every
seed, each at its own rates and all at those of sync. Parallel modes run in a
simulation of Persia's cluster that computes the parameters, so every run gives
the same bits.

Measures the AUC less that of sync. For hybrid, a third arm divides it: sync by
rank merges row gradients as hybrid does, without staleness. Logistic regression,
a constant guess and, on generated data, the best possible prediction stand
beside. Data sets are adult-income, Frappe and MovieLens, generated ones, and
samples of Avazu, Criteo, IJCAI-18 and Taobao. These are too small for verdicts;
of them, the resolution is reported. Real data other than adult-income need the
data folder.

The full version takes hours, most of them for movielens-1m. --sets and --modes
choose a part, --resume continues.

Writes to a new folder:

  report.html              everything on one page
  trials.jsonl             a line per training, written at its end
  auc-table.json           AUC by seed, differences, rates with their trials
  settings.yaml            the resolved settings
  own-rates.png, .svg      AUC − AUC of sync, each mode at its own rates
  common-rates.png, .svg   the same at the rates of sync` + "\n\n" + job.ModeSettingsHelp()
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (*Experiment) QuickTime() time.Duration { return 70 * time.Second }

// AddFlags adds the flags that only this experiment has.
func (e *Experiment) AddFlags(flags *pflag.FlagSet) {
	e.ModeFlags.AddFlags(flags)
	flags.StringSliceVar(&e.sets, "sets", nil, "choose data sets of the full version, such as\n"+
		"adult-income,frappe (default: all)")
}

// Arguments returns the flags that were set, for the command that repeats a run.
func (e *Experiment) Arguments() []string {
	words := e.ModeFlags.Arguments()
	if len(e.sets) > 0 {
		words = append(words, "--sets", strings.Join(e.sets, ","))
	}
	return words
}

// Run tunes and compares the modes.
func (e *Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	p := fullPlan()
	if o.Quick {
		p = quickPlan()
	}
	p.Modes = e.With(job.Sync, p.Modes)
	if slices.Contains(p.Modes, job.Sequential) {
		return nil, cli.UsageError("leave it out: sync has its bits", "--modes: %s cannot be simulated",
			job.Sequential)
	}
	if err := p.setModes(&e.ModeSet); err != nil {
		return nil, err
	}
	if err := p.choose(e.sets); err != nil {
		return nil, err
	}
	return execute(ctx, p, o)
}

// choose keeps the named data sets, of the full version also in the quick one; no names keep all.
func (p *plan) choose(names []string) error {
	if len(names) == 0 {
		return nil
	}
	all := sets()
	p.Sets = nil
	for _, name := range names {
		at := slices.IndexFunc(all, func(s set) bool { return report.Slug(s.Name) == report.Slug(name) })
		if at < 0 {
			var known []string
			for _, s := range all {
				known = append(known, report.Slug(s.Name))
			}
			return cli.UsageError("choose among "+strings.Join(known, ", "), "--sets: no data set %q", name)
		}
		if !slices.ContainsFunc(p.Sets, func(s set) bool { return s.Name == all[at].Name }) {
			p.Sets = append(p.Sets, all[at])
		}
	}
	return nil
}

// execute runs a plan on the data sets that are there.
func execute(ctx context.Context, p plan, o report.Options) (*report.Report, error) {
	p.Seed, p.Seeds = o.Seed, o.Seeds
	present, absent := report.Present(p.Sets, o.DataFolder)
	p.Sets = present
	results, err := trial.Measure(o, "auc-table", p.trainings(), func(lab *trial.Lab) ([]*result, error) {
		return p.measure(ctx, lab)
	})
	if err != nil {
		return nil, err
	}
	r := p.report(results)
	r.Notes = append(r.Notes, absent...)
	return r, nil
}
