// Package auctable measures the AUC of every mode less that of sync: the part auc-table on generated and real
// data sets with what stale rows and merging do of it, the part tuner with the rates that each mode needs.
//
// Every mode is compared at its own tuned learning rates and at those of sync. A mode that takes other
// optimizer steps needs other rates: async-ps takes N steps of an adaptive optimizer where sync takes one, so
// a comparison at one rate measures the rate as much as the mode.
//
// Hybrid differs from sync in two ways, which a third arm keeps apart: its rows are stale, and each rank's
// gradient of a row is an optimizer step of its own. Sync by rank has only the second.
//
//	hybrid − sync = (hybrid − sync by rank) + (sync by rank − sync) = staleness + merging
//
// Parallel modes run in a simulated cluster that computes the parameters, so all results are repeatable to
// the bit. Sync is trained in sequence, which has its bits.
package auctable

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/pace"
	"tandem/experiments/internal/arms"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
	"tandem/internal/cli"
)

// New returns the experiment auc-table.
func New() *report.Experiment {
	flags, names := report.NewModeFlags(), []string(nil)
	return trial.Study(report.Experiment{
		Name:     "auc-table",
		Question: "What AUC does each mode gain or lose against sync, on real and on generated data?",
		Help: `Tunes the learning rates of every mode on every data set, the same trials for
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

` + job.ModeSettingsHelp(),
		QuickTime: 70 * time.Second,
		AddFlags: func(set *pflag.FlagSet) {
			flags.AddFlags(set)
			set.StringSliceVar(&names, "sets", nil, "choose data sets of the full version, such as\n"+
				"adult-income,frappe (default: all)")
		},
	}, func(o report.Options) (*plan, error) {
		p := tablePlan(o.Quick)
		if err := p.choose(names, sets()); err != nil {
			return nil, err
		}
		p.Sets, p.Absent = report.Present(p.Sets, o.DataFolder)
		return p, p.complete(o, &flags)
	}, (*plan).train, (*plan).reportTable)
}

// NewTuner returns the experiment tuner.
func NewTuner() *report.Experiment {
	flags := report.NewModeFlags(report.Rates)
	return trial.Study(report.Experiment{
		Name:     "tuner",
		Question: "Which learning rates does each mode need, and what do modes differ by at their own rates?",
		Help: `Tunes the learning rates of rows and network for every mode, and for logistic
regression as a baseline, with the same number of trials each, on rows that are
not used afterwards. It then trains every mode under every seed, on the same rows
from the same initial values, at the rates that are best for sync and at its own.
Parallel modes run in a simulation of Persia's cluster that computes the
parameters, so every run gives the same bits.

Measures AUC on the test rows and its difference to sync with 95 % intervals over
seeds, and the ratio of each mode's best rate of rows to that of sync, on
generated data and on adult-income. The full version takes about half an hour on
two slow cores.

` + job.ModeSettingsHelp(),
		QuickTime: 30 * time.Second,
		AddFlags:  flags.AddFlags,
	}, func(o report.Options) (*plan, error) {
		p := tunerPlan(o.Quick)
		return p, p.complete(o, &flags)
	}, (*plan).train, (*plan).reportTuner)
}

// plan is everything that is fixed before the first training.
type plan struct {
	Seed    uint64     `yaml:"seed"` // the first
	Seeds   int        `yaml:"seeds"`
	Job     job.Job    `yaml:"job"`   // of all arms
	Modes   []string   `yaml:"modes"` // with sync
	Nominal tune.Rates `yaml:"nominal"`
	Rates   tune.Plan  `yaml:"candidates"` // centred on the nominal ones
	Sets    []set      `yaml:"data"`
	// ByRank merges the gradients of a row by rank in all arms, so that they differ in nothing else.
	// Otherwise each mode merges as it does by default, and sync by rank is an arm besides.
	ByRank bool `yaml:"by-rank"`
	// Hot makes hybrid with the hot rows that the job chooses an arm, in place of sync by rank.
	Hot bool `yaml:"hot,omitempty"`
	// ModeSettings are, by mode, the values of the settings that only this mode has.
	ModeSettings map[string]map[string]int `yaml:"mode-settings"`
	// Absent are notes on data sets whose files are not there.
	Absent []string `yaml:"absent,omitempty"`

	named bool // the command names the modes
}

// set is a data set with what depends on its size.
type set struct {
	report.DataSet `yaml:",inline"`
	// Batch is the global batch: a power of two, at most 256, with which the epoch has some hundred steps.
	// The smallest one has two samples for each rank.
	Batch int `yaml:"batch"`
	// Judged says that the test rows are enough for a verdict. Of small samples, only the resolution is
	// reported.
	Judged bool `yaml:"judged"`
}

// Arms that are no modes.
const (
	byRank   = "sync by rank" // sync with an optimizer step of a row for every rank, as hybrid has
	hotRows  = "hot-rows"     // hybrid with the hot rows that the job chooses
	logistic = "logistic"
)

// sets returns all data sets of auc-table, chosen before any training.
func sets() []set {
	return []set{
		{report.AdultIncome(), 128, true},
		{report.Frappe(), 128, true},
		{report.MovieLens1M(), 128, true},
		{report.MovieLens100K(), 128, true},
		{report.Generated(0.1, 40_000, 30_000), 128, true},
		{report.Like("criteo", 40_000, 30_000), 128, true},
		{report.Like("avazu", 40_000, 30_000), 128, true},
		{report.Avazu(), 32, false},
		{report.CriteoHead(), 32, false},
		{report.IJCAI18(), 128, false},
		{report.TaobaoAd(), 8, false},
	}
}

func tablePlan(quick bool) *plan {
	p := newPlan(job.Modes()[1:], 0.003, 1, sets())
	if quick {
		p.Modes = []string{job.Sync, job.Hybrid, job.AsyncPS, pace.GBA{}.Name()}
		p.Rates.Dense = tune.Grid(p.Nominal.Dense, 4, 1)
		p.Sets = []set{
			{report.AdultIncome(), 128, true},
			{report.Generated(0.1, 12_000, 12_000), 128, true},
			{report.Like("criteo", 8_000, 12_000), 64, true},
		}
	}
	return p
}

func tunerPlan(quick bool) *plan {
	modes, rows, seeds := job.Modes()[1:], 100_000, tune.SeedsWanted
	if quick {
		modes, rows, seeds = []string{job.Sync, job.Hybrid, job.AsyncPS}, 20_000, tune.SeedsMin
	}
	p := newPlan(modes, 0.01, 2, []set{
		{report.Generated(0.1, rows, rows), 256, true}, {report.AdultIncome(), 256, true},
	})
	p.ByRank, p.Rates.Seeds = true, seeds
	return p
}

// newPlan returns a plan with a nominal rate of the network, and candidates for the rate of rows on a number
// of steps around the nominal one.
func newPlan(modes []string, dense float64, steps int, data []set) *plan {
	j := job.Default()
	j.Model.EmbeddingDim, j.Model.Top = 8, []int{32, 16}
	j.Training.Prefetch = 4
	j.Cluster = job.PersiaCluster()
	nominal := tune.Rates{Rows: 0.1, Dense: dense}
	return &plan{
		Job: j, Modes: modes, Sets: data, Nominal: nominal,
		Rates: tune.Plan{
			Rows: tune.Grid(nominal.Rows, 4, steps), Dense: tune.Grid(nominal.Dense, 4, 2),
			Seeds: tune.SeedsMin,
		},
	}
}

// complete adds the options and flags of a command line.
func (p *plan) complete(o report.Options, flags *report.ModeFlags) error {
	p.Seed, p.Seeds, p.named = o.Seed, o.Seeds, flags.Modes() != nil
	p.Modes, p.Rates.Rows = flags.With(job.Sync, p.Modes), flags.Rates(p.Rates.Rows...)
	if slices.Contains(p.Modes, job.Sequential) {
		return cli.UsageError("leave it out: sync has its bits", "--modes: %s cannot be simulated",
			job.Sequential)
	}
	if err := p.Rates.Validate(); err != nil {
		return cli.UsageError("each rate is the same multiple of the one before, as 0.025,0.1,0.4",
			"--rates: %v", err)
	}
	var err error
	p.ModeSettings, err = flags.Settle(&p.Job, p.Modes)
	return err
}

// Restore implements report.Restorer. Unless the command names the modes, they are those of the stored arms:
// a default of all modes may have been fewer when the run was made.
func (p *plan) Restore(results []*result) error {
	if len(results) > 0 && !p.named {
		p.Modes = nil
		for _, a := range results[0].Arms {
			if !slices.Contains([]string{byRank, hotRows, logistic}, a.Name) {
				p.Modes = append(p.Modes, a.Name)
			}
		}
		maps.DeleteFunc(p.ModeSettings, func(mode string, _ map[string]int) bool {
			return !slices.Contains(p.Modes, mode)
		})
	}
	want := p.armNames()
	for _, r := range results {
		var got []string
		for _, a := range r.Arms {
			got = append(got, a.Name)
		}
		if !slices.Equal(got, want) || len(r.Effects) != len(p.effects()) {
			return fmt.Errorf("%s: %d effects of the arms %s; the command has %d effects of %s", r.DataSet,
				len(r.Effects), strings.Join(got, ", "), len(p.effects()), strings.Join(want, ", "))
		}
	}
	return nil
}

// choose keeps the data sets of among with some names, in the quick version too; no names keep all of the
// plan.
func (p *plan) choose(names []string, among []set) error {
	if len(names) == 0 {
		return nil
	}
	p.Sets = nil
	for _, name := range names {
		var known []string
		at := slices.IndexFunc(among, func(s set) bool {
			known = append(known, report.Slug(s.Name))
			return report.Slug(s.Name) == report.Slug(name)
		})
		if at < 0 {
			return cli.UsageError("choose among "+strings.Join(known, ", "), "--sets: no data set %q", name)
		}
		chosen := among[at]
		if !slices.ContainsFunc(p.Sets, func(s set) bool { return s.Name == chosen.Name }) {
			p.Sets = append(p.Sets, chosen)
		}
	}
	return nil
}

// armNames returns the names of all arms: the modes, then those that are no modes.
func (p *plan) armNames() []string {
	names := slices.Clone(p.Modes)
	switch {
	case p.Hot:
		names = append(names, hotRows)
	case !p.ByRank:
		names = append(names, byRank)
	}
	return append(names, logistic)
}

// arms returns the arms of a data set, in the order of armNames.
func (p *plan) arms(s set) *arms.Set {
	a := &arms.Set{Data: s.DataSet, Common: job.Sync, Rates: p.Rates, Seed: p.Seed, Seeds: p.Seeds}
	for _, name := range p.armNames() {
		a.Arms = append(a.Arms, tune.Arm{
			Name: name, Nominal: p.Nominal, Simulated: simulated(name),
			Job: func(seed uint64) job.Job { return p.job(s, name, seed) },
		})
	}
	return a
}

// simulated reports whether an arm is trained on the simulated cluster. Sync has the bits of sequential
// training with its merging, which takes less time.
func simulated(name string) bool { return name != job.Sync && name != byRank && name != logistic }

func (p *plan) job(s set, name string, seed uint64) job.Job {
	mode := name
	switch {
	case name == hotRows:
		mode = job.Hybrid
	case !simulated(name):
		mode = job.Sequential
	}
	j := p.Job.InMode(mode)
	j.Data = s.WithSeed(seed)
	j.Training.GlobalBatch, j.Training.Seed = s.Batch, seed
	if p.ByRank || name == byRank {
		j.Training.Merge = job.MergeRank
	}
	if name == hotRows {
		j.Rows.Hot = job.Hot{Auto: true}
	}
	if name == logistic {
		j.Model.Spec = model.Spec{Kind: model.LogisticRegression, EmbeddingDim: 1}
	}
	return j
}

// effects returns all effects: those of hybrid with their parts, then those of the other modes.
func (p *plan) effects() (list []arms.Difference) {
	less := func(arm string) arms.Difference {
		return arms.Less(arm+"-less-sync", arm+" − sync", arm, job.Sync)
	}
	for _, mode := range p.Modes {
		if mode != job.Sync {
			list = append(list, less(mode))
		}
		if mode == job.Hybrid && !p.ByRank && !p.Hot {
			list = append(list,
				arms.Less("hybrid-staleness", "hybrid − sync, staleness", job.Hybrid, byRank),
				arms.Less("hybrid-merging", "hybrid − sync, merging", byRank, job.Sync))
		}
	}
	switch {
	case p.Hot:
		list = append(list, less(hotRows))
	case p.ByRank:
		list = append(list, less(logistic))
	}
	return list
}

type result struct {
	*arms.Result
	Judged  bool        `json:"judged"`
	Effects []*arms.Gap `json:"effects"` // in the order of plan.effects
}

// train measures with a lab that knows how many trainings come.
func (p *plan) train(ctx context.Context, lab *trial.Lab) ([]*result, error) {
	trainings := 0
	for _, s := range p.Sets {
		trainings += p.arms(s).Trainings()
	}
	lab.Expect(trainings)
	return p.measure(ctx, lab)
}

func (p *plan) measure(ctx context.Context, lab arms.Lab) (results []*result, err error) {
	for _, s := range p.Sets {
		r := &result{Judged: s.Judged}
		if r.Result, err = p.arms(s).Measure(ctx, lab); err != nil {
			return nil, err
		}
		if r.Effects, err = r.Gaps(lab, p.effects()); err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	judge.Judge(comparisons(results, true, arms.Own, arms.Common))
	// The others are judged for their intervals; their verdicts are not reported.
	judge.Judge(comparisons(results, false, arms.Own, arms.Common))
	return results, nil
}

// comparisons returns the differences at kinds of rates, on the data sets that are judged or on the others.
func comparisons(results []*result, judged bool, kinds ...arms.Kind) (list []*judge.Comparison) {
	for _, r := range results {
		for _, g := range r.Effects {
			for _, kind := range kinds {
				if r.Judged == judged {
					list = append(list, g.At(kind))
				}
			}
		}
	}
	return list
}
