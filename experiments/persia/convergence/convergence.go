// Package convergence measures AUC against samples over runs of the lengths of Persia's paper, with rows that
// are generated while it trains: the part convergence on Criteo, with what more ranks change; the parts avazu
// and taobao against sync alone, every arm at rates tuned for it.
//
// Sync is trained sequentially, which has its bits. Hybrid is trained on Persia's cluster in virtual time
// with real gradients: its staleness is an outcome, and every run gives the same bits.
//
// More ranks change two things: the rows of a rank and, if each keeps its batch, the global batch. Weak
// scaling has both, strong scaling the first alone.
//
// Source: Lian and others, arXiv 2111.05897: 5,000, 7,800 and 10,800 steps of 4,096 samples on 8 GPUs for
// Taobao, Avazu and Criteo, read off the axes of a figure.
package convergence

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
	"tandem/internal/cli"
)

// New returns the experiment.
func New() *report.Experiment {
	grid, length, fixed := report.NewGrid(report.Taus), 0, false
	return trial.Study(report.Experiment{
		Name:     "convergence",
		Question: "Does hybrid converge as sync does over a run of Persia's length, and on more ranks?",
		Help: `Trains on generated rows of the preset criteo, streamed, in three arms with the
same rows, order and initial values, on 8 ranks:

  sync merge:step  one optimizer step per row and global batch
  sync merge:rank  one per row, global batch and rank, as in Persia
  hybrid           as sync merge:rank, with late rows: Persia's cluster, simulated,
                   with real gradients (--taus)

and compares AUC along the runs: merging (the second less the first), staleness
(hybrid less the second) and hybrid less sync, their sum. Also on 1 to 8 ranks, in
runs a twentieth as long: weak scaling (the batch of a rank is fixed, so the global
batch grows) and strong scaling (the global batch is fixed).

The full version has 10,800 steps of 4,096 samples. Rates are tuned for every arm on
runs of a twentieth of that; --fixed-rates trains all arms at the same nominal
rates instead. It takes hours; "go run ./experiments --resume FOLDER" trains what
an interrupted run has not. The quick version has short runs of 512 samples a step
and fixed rates, and tests the experiment, not Persia.`,
		QuickTime: 45 * time.Second,
		AddFlags: func(flags *pflag.FlagSet) {
			grid.AddFlags(flags)
			addLength(flags, &length)
			flags.BoolVar(&fixed, "fixed-rates", false, "train all arms at the same nominal rates, without "+
				"tuning")
		},
	}, func(o report.Options) (*plan, error) {
		if err := checkLength(length); err != nil {
			return nil, err
		}
		p := newPlan(o.Quick, grid.Taus(persiaTau, 60), length)
		p.Seed, p.Seeds = o.Seed, o.Seeds
		if fixed {
			p.TuningSteps = 0
		}
		return p, nil
	}, func(p *plan, ctx context.Context, lab *trial.Lab) (*results, error) { return p.measure(ctx, lab) },
		(*plan).report)
}

// NewAvazu returns the experiment avazu.
func NewAvazu() *report.Experiment { return newWhole("Avazu", "avazu", stepsAvazu, 40*time.Second) }

// NewTaobao returns the experiment taobao.
func NewTaobao() *report.Experiment { return newWhole("Taobao", "taobao", stepsTaobao, 90*time.Second) }

// newWhole returns an experiment of a data set of the paper's.
func newWhole(title, preset string, steps int, quickTime time.Duration) *report.Experiment {
	grid, length, with := report.NewGrid(report.Taus), 0, more{}
	return trial.Study(report.Experiment{
		Name:     preset,
		Question: "Does hybrid end where sync does, over a run of Persia's length on " + title + "?",
		Help: fmt.Sprintf(`Trains on generated rows of the preset %s, streamed, with the same rows, order
and initial values on 8 ranks: sync, hybrid at τ = %d (--taus) and, with --hot,
hybrid with the hot rows that the job chooses, with --async, async-ps, and with
--average, async-average; all but sync on Persia's cluster, simulated, with real
gradients. Compares AUC along the runs.

The full version has %s steps of 4,096 samples, the length in the paper. The rates
of every arm are tuned on runs of a twentieth of that, and chosen again, each rate
apart, on runs of a quarter. It takes hours; "go run ./experiments --resume FOLDER"
trains what an interrupted run has not. The quick version has short runs of 512
samples a step and fixed rates, and tests the experiment, not Persia.`, preset, persiaTau,
			report.Thousands(steps)),
		QuickTime: quickTime,
		AddFlags: func(flags *pflag.FlagSet) {
			grid.AddFlags(flags)
			addLength(flags, &length)
			flags.BoolVar(&with.Async, "async", false, "train async-ps, too, which takes half as long again")
			flags.BoolVar(&with.Average, "average", false, "train async-average, too, which takes half as "+
				"long again")
			flags.BoolVar(&with.Hot, "hot", false, "train hybrid with hot rows, too, which takes half as "+
				"long again")
		},
	}, func(o report.Options) (*plan, error) {
		if err := checkLength(length); err != nil {
			return nil, err
		}
		p := wholePlan(o.Quick, preset, grid.Taus(persiaTau), length, steps)
		p.Seed, p.Seeds, p.more = o.Seed, o.Seeds, with
		return p, nil
	}, func(p *plan, ctx context.Context, lab *trial.Lab) (*results, error) { return p.measure(ctx, lab) },
		(*plan).report)
}

func addLength(flags *pflag.FlagSet, length *int) {
	flags.IntVar(length, "steps", 0, fmt.Sprintf("set the length of the runs in steps; those of tuning and "+
		"scaling follow it (default: the paper's; with --quick %d)", stepsQuick))
}

func checkLength(steps int) error {
	if steps < 0 {
		return cli.UsageError("give a number of steps, such as 1080", "--steps: %d is negative", steps)
	}
	return nil
}

// plan is everything that is fixed before the first training.
type plan struct {
	Seed  uint64 `yaml:"seed"` // the first
	Seeds int    `yaml:"seeds"`
	// Job is the job of all arms, with the nominal rates; arms set mode, ranks, batch, τ and rates.
	Job  job.Job        `yaml:"job"`
	Data report.DataSet `yaml:"data"` // without the number of training rows
	Taus []int          `yaml:"taus"` // ascending
	// Steps is the length of the runs whose curves are compared, and Points the number of their evaluations.
	Steps  int `yaml:"steps"`
	Points int `yaml:"points"`
	// PaperSteps is the length of the paper's run, of batchPersia samples a step.
	PaperSteps int `yaml:"paper-steps"`
	// TuningSteps is the length of the runs that choose rates; 0: all arms have the nominal ones.
	TuningSteps int       `yaml:"tuning-steps"`
	Tuning      tune.Plan `yaml:"tuning"`
	// RefiningSteps is the length of the runs that choose again among rates near the tuned ones, which shows
	// whether the order of rates depends on the length of a run; 0: the tuned ones are kept.
	RefiningSteps int `yaml:"refining-steps"`
	// Parts says that merging and staleness are measured apart, and that the arms are compared at common
	// rates as well.
	Parts bool `yaml:"parts"`
	more  `yaml:",inline"`
	// ScalingRanks are numbers of ranks, ascending; the first is the reference of the others, the last is
	// that of the job. ScalingSamples is the length of these runs. None: more ranks are not tried.
	ScalingRanks   []int `yaml:"scaling-ranks"`
	ScalingSamples int   `yaml:"scaling-samples"`
}

// more are arms beside sync and hybrid.
type more struct {
	Async   bool `yaml:"async"`   // async-ps
	Average bool `yaml:"average"` // async-average
	Hot     bool `yaml:"hot"`     // hybrid with hot rows
}

// persiaTau is τ of hybrid on all data sets: the default of job files.
const persiaTau = 9

// The lengths of Persia's runs in steps, read off a figure of its paper (Lian and others, KDD 2022), with its
// global batch on 8 GPUs, and that of the quick version.
const (
	stepsCriteo = 10_800
	stepsAvazu  = 7800
	stepsTaobao = 5000
	batchPersia = 4096
	stepsQuick  = 240
)

// newPlan returns the plan of the quick or the full version on Criteo. The quick one has short runs of small
// batches, and rates that are not tuned. Steps is the length of the runs; 0: that of the version.
func newPlan(quick bool, taus []int, steps int) *plan {
	p := basicPlan(quick, job.PresetCriteo, taus, steps, stepsCriteo)
	p.Parts = true
	if quick {
		p.ScalingRanks, p.ScalingSamples = []int{2, 8}, max(p.Steps/2, 1)*p.batch()
		return p
	}
	p.ScalingRanks, p.ScalingSamples = []int{1, 2, 4, 8}, p.TuningSteps*p.batch()
	return p
}

// wholePlan returns the plan of another data set: sync and hybrid at the rates of each, without parts of
// their difference or other numbers of ranks. Its full version also refines the rates.
func wholePlan(quick bool, preset string, taus []int, steps, paper int) *plan {
	p := basicPlan(quick, preset, taus, steps, paper)
	if !quick {
		p.RefiningSteps = max(p.Steps/4, 1)
	}
	return p
}

// basicPlan returns what all plans have. Paper is the length of the paper's run in steps.
func basicPlan(quick bool, preset string, taus []int, steps, paper int) *plan {
	j := job.Default()
	j.Roles.Ranks = 8
	j.Model.EmbeddingDim, j.Model.Top = 16, []int{64, 32}
	// Adagrad with one accumulator for a row keeps 25 million rows in less than 3 GiB.
	j.Rows.Optimizer.Kind = opt.RowwiseAdagrad
	j.Rows.Optimizer.Rate, j.Model.Optimizer.Rate = 0.06, 0.001
	j.Training.GlobalBatch, j.Training.Scale, j.Training.Shuffle = batchPersia, job.ScaleGlobal, false
	data := job.Synthetic{Preset: preset, TestRows: 200_000, Stream: true}
	p := &plan{
		Job: j, Taus: taus, Points: 12, PaperSteps: paper,
		Data: report.DataSet{Name: preset, Data: job.Data{Kind: job.KindSynthetic, Synthetic: &data}},
	}
	nominal := p.nominal()
	p.Tuning = tune.Plan{
		Rows: tune.Grid(nominal.Rows, 3, 1), Dense: tune.Grid(nominal.Dense, 3, 1), Seeds: tune.SeedsMin,
	}
	if quick {
		p.Steps = cmp.Or(steps, stepsQuick)
		p.Job.Training.GlobalBatch, data.TestRows = 512, 20_000
		return p
	}
	p.Steps = cmp.Or(steps, paper)
	p.TuningSteps = max(p.Steps/20, 1)
	return p
}

// isShort reports whether the runs have fewer samples than Persia's.
func (p *plan) isShort() bool { return p.samples() < p.PaperSteps*batchPersia }

type arm struct {
	Mode  string `json:"mode"`
	Merge string `json:"merge"`
	Ranks int    `json:"ranks"`
	Batch int    `json:"global_batch"`
	Tau   int    `json:"tau,omitempty"`   // prefetched batches; it bounds the own staleness of hybrid
	Hot   bool   `json:"hot,omitempty"`   // with the hot rows that the job chooses
	Model string `json:"model,omitempty"` // empty: that of the job
}

// String names an arm in tables and messages.
func (a arm) String() string {
	switch {
	case a.Model == model.LogisticRegression:
		return "logistic"
	case a.Hot:
		return fmt.Sprintf("hybrid τ=%d, hot", a.Tau)
	case a.Mode == job.Hybrid:
		return fmt.Sprintf("hybrid τ=%d", a.Tau)
	case a.Mode == job.AsyncPS || a.Mode == job.AsyncAverage:
		return a.Mode
	}
	return "sync merge:" + a.Merge
}

// ofSize names an arm with its ranks and its batch, where these differ.
func (a arm) ofSize() string {
	return fmt.Sprintf("%v, N=%d, batch %s", a, a.Ranks, report.Thousands(a.Batch))
}

func (p *plan) batch() int { return p.Job.Training.GlobalBatch }

// samples is the length of the runs whose curves are compared.
func (p *plan) samples() int { return p.Steps * p.batch() }

// sync returns synchronous training with all ranks of the job. With merge: step, it has the same bits for any
// number of ranks that divides the groups.
func (p *plan) sync(merge string, batch int) arm {
	return arm{Mode: job.Sequential, Merge: merge, Ranks: p.Job.Roles.Ranks, Batch: batch}
}

// logistic returns the simplest model that learns from ids.
func (p *plan) logistic() arm {
	a := p.sync(job.MergeStep, p.batch())
	a.Model = model.LogisticRegression
	return a
}

// hybrids returns hybrid at every τ.
func (p *plan) hybrids() (arms []arm) {
	for _, tau := range p.Taus {
		arms = append(arms, arm{Mode: job.Hybrid, Merge: job.MergeRank, Ranks: p.Job.Roles.Ranks,
			Batch: p.batch(), Tau: tau})
	}
	return arms
}

// plain returns the hybrid beside which other arms stand: that at the τ of Persia, or at the smallest.
func (p *plan) plain() arm { return p.hybrids()[max(slices.Index(p.Taus, persiaTau), 0)] }

// hot returns hybrid with hot rows.
func (p *plan) hot() arm {
	a := p.plain()
	a.Hot = true
	return a
}

// without returns a mode whose ranks do not wait for each other and prefetch as many batches as those of
// hybrid. Each of its ranks takes steps of its own.
func (p *plan) without(mode string) arm {
	a := p.plain()
	a.Mode, a.Merge = mode, ""
	return a
}

// mainArms returns the arms whose curves are compared: sync merge:step, and as the plan has them sync
// merge:rank, hybrid at every τ, hybrid with hot rows, async-ps and async-average.
func (p *plan) mainArms() []arm {
	arms := []arm{p.sync(job.MergeStep, p.batch())}
	if p.Parts {
		arms = append(arms, p.sync(job.MergeRank, p.batch()))
	}
	arms = append(arms, p.hybrids()...)
	if p.Hot {
		arms = append(arms, p.hot())
	}
	for _, mode := range p.asynchronous() {
		arms = append(arms, p.without(mode))
	}
	return arms
}

// asynchronous returns the modes of the plan in which no rank waits for another.
func (p *plan) asynchronous() (modes []string) {
	if p.Async {
		modes = append(modes, job.AsyncPS)
	}
	if p.Average {
		modes = append(modes, job.AsyncAverage)
	}
	return modes
}

// scaled returns hybrid on a number of ranks, at the smallest τ, and sync with the same global batch.
func (p *plan) scaled(scale string, ranks int) (hybrid, sync arm) {
	hybrid = p.hybrids()[0]
	if scale == weak {
		hybrid.Batch = p.batch() / p.Job.Roles.Ranks * ranks
	}
	hybrid.Ranks = ranks
	return hybrid, p.sync(job.MergeStep, hybrid.Batch)
}

// Names of the effects: on the long runs, and of more ranks.
const (
	merging   = "merging"
	staleness = "staleness"
	total     = "hybrid − sync"
	hotRows   = "hot rows − sync" // hybrid with hot rows
	weak      = "weak"            // the batch of a rank is fixed
	strong    = "strong"          // the global batch is fixed
)

// Kinds of rates.
const (
	ownRates    = "own"    // each arm at its own tuned rates
	commonRates = "common" // all arms at the rates of sync merge:step
)

// kinds returns the kinds of rates, the one that matters most first: common ones alone, unless rates are
// tuned.
func (p *plan) kinds() []string {
	switch {
	case p.TuningSteps == 0:
		return []string{commonRates}
	case !p.Parts:
		return []string{ownRates}
	}
	return []string{ownRates, commonRates}
}

// difference is an effect that is measured, on runs of a number of samples: treated − reference.
type difference struct {
	name, kind         string
	ranks, samples     int
	treated, reference arm
}

// differences returns all that is measured: on the long runs, hybrid, hybrid with hot rows and the modes in
// which no rank waits less sync, and, where the plan has parts, merging and staleness, whose sum is hybrid
// less sync; and of more ranks, the effects on hybrid, and, where the batch grows, on sync.
func (p *plan) differences() (list []difference) {
	sync, byRank := p.sync(job.MergeStep, p.batch()), p.sync(job.MergeRank, p.batch())
	ranks, samples := p.Job.Roles.Ranks, p.samples()
	for _, kind := range p.kinds() {
		add := func(name string, treated, reference arm) {
			list = append(list, difference{name, kind, ranks, samples, treated, reference})
		}
		if p.Parts {
			add(merging, byRank, sync)
		}
		for _, hybrid := range p.hybrids() {
			add(total, hybrid, sync)
			if p.Parts {
				add(staleness, hybrid, byRank)
			}
		}
		if p.Hot {
			add(hotRows, p.hot(), sync)
		}
		for _, mode := range p.asynchronous() {
			add(lessSync(mode), p.without(mode), sync)
		}
	}
	if len(p.ScalingRanks) == 0 {
		return list
	}
	kind := p.kinds()[0]
	samples = p.ScalingSamples
	for _, scale := range []string{weak, strong} {
		firstHybrid, firstSync := p.scaled(scale, p.ScalingRanks[0])
		for _, ranks := range p.ScalingRanks[1:] {
			hybrid, sync := p.scaled(scale, ranks)
			list = append(list, difference{scale, kind, ranks, samples, hybrid, firstHybrid})
			if scale == weak {
				list = append(list, difference{scale, kind, ranks, samples, sync, firstSync})
			}
		}
	}
	return list
}

// lessSync names the effect of a mode in which no rank waits for another.
func lessSync(mode string) string { return mode + " − sync" }

// isScaling reports whether an effect is one of more ranks.
func isScaling(name string) bool { return name == weak || name == strong }

// side names an arm of an effect in comparisons.
func (p *plan) side(name, kind string, a arm) string {
	switch {
	case isScaling(name):
		return a.ofSize()
	case kind == commonRates && len(p.kinds()) > 1:
		return a.String() + ", common rates"
	}
	return a.String()
}

// tunedArms returns all arms, each once.
func (p *plan) tunedArms() []arm {
	arms := append(p.mainArms(), p.logistic())
	for _, d := range p.differences() {
		for _, a := range []arm{d.treated, d.reference} {
			if !slices.Contains(arms, a) {
				arms = append(arms, a)
			}
		}
	}
	return arms
}

// spec returns the training of an arm on a number of samples. Long runs are evaluated on their way.
func (p *plan) spec(a arm, samples int, r tune.Rates, seed uint64) trial.Spec {
	j := p.Job.InMode(a.Mode)
	j.Data = p.Data.WithSeed(seed)
	j.Data.Synthetic.TrainRows = samples
	j.Training.Merge, j.Training.GlobalBatch = a.Merge, a.Batch
	j.Training.Seed, j.Roles.Ranks = seed, a.Ranks
	if samples == p.samples() && p.Points > 1 {
		j.Training.EvaluateEvery = job.Every{Steps: max(samples/a.Batch/p.Points, 1)}
	}
	if a.Model != "" {
		j.Model.Kind, j.Model.Top = a.Model, nil
	}
	simulated := a.Mode != job.Sequential
	if simulated {
		j.Training.Prefetch, j.Cluster = a.Tau+1, job.PersiaCluster()
	}
	if a.Mode == job.Hybrid {
		j.Training.Staleness = &a.Tau
	}
	if a.Hot {
		j.Rows.Hot = job.Hot{Auto: true}
	}
	r.Apply(&j)
	return trial.Spec{Job: j, Part: trial.Test, Simulated: simulated,
		Name: fmt.Sprintf("%s, %s steps, seed %d", a.ofSize(), report.Thousands(samples/a.Batch), seed)}
}

// nominal returns the rates of all arms that are not tuned.
func (p *plan) nominal() tune.Rates {
	return tune.Rates{Rows: p.Job.Rows.Optimizer.Rate, Dense: p.Job.Model.Optimizer.Rate}
}
