package hotrows

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/algo/numeric/opt"
	"tandem/algo/protocol/pace"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
	"tandem/internal/cli"
)

// NewRemedies returns the experiment remedies.
func NewRemedies() *report.Experiment {
	steps, fixed := 0, false
	return trial.Study(report.Experiment{
		Name:     "remedies",
		Question: "What else than hot rows gets back what hybrid loses early in a run?",
		Help: `Trains sync and hybrid at τ = 9 on generated rows of the preset avazu, streamed, on
8 ranks, hybrid on Persia's cluster, simulated, with real gradients; and hybrid

  with the hot rows that the job chooses
  at τ = 3
  with a τ that grows from 0 over a third of the run
  with a learning rate of rows that rises from 0 over a third of the run
  with the rate of a row's gradient divided by the updates that it missed (Zhang
    and others, IJCAI 2016), so that frequent rows have smaller rates
  with Adam for rows, beside sync with Adam
  with batch norm in the network, beside sync with batch norm

The rates of every arm are chosen on runs of the same length, on other rows;
--fixed-rates takes those that sync and hybrid chose on Avazu, or 0.002 for Adam.
The full version has 480 steps of 4,096 samples, and takes half an hour on a core;
the quick one has short steps and fixed rates, and tests the experiment.`,
		QuickTime: 20 * time.Second,
		AddFlags: func(flags *pflag.FlagSet) {
			flags.IntVar(&steps, "steps", 0, "set the length of the runs in steps (default 480; with "+
				"--quick 120)")
			flags.BoolVar(&fixed, "fixed-rates", false, "train all arms at nominal rates, without tuning")
		},
	}, func(o report.Options) (*remedyPlan, error) {
		if steps < 0 {
			return nil, cli.UsageError("give a number of steps, such as 480", "--steps: %d is negative",
				steps)
		}
		p := newRemedyPlan(o, steps)
		if fixed {
			p.TuningSeeds = 0
		}
		return p, nil
	}, (*remedyPlan).measure, (*remedyPlan).report)
}

// remedyPlan is everything that is fixed before the first training.
type remedyPlan struct {
	Seed  uint64         `yaml:"seed"` // the first
	Seeds int            `yaml:"seeds"`
	Job   job.Job        `yaml:"job"`  // of plain hybrid
	Data  report.DataSet `yaml:"data"` // without the number of training rows
	Steps int            `yaml:"steps"`
	// TuningSeeds is the number of seeds under which rates are chosen; 0: all arms have the nominal rates.
	TuningSeeds int `yaml:"tuning-seeds"`
}

const remedyTau = 9

// newRemedyPlan returns a plan whose nominal rates are those which short runs of sync and of hybrid chose in
// the experiment convergence on Avazu.
func newRemedyPlan(o report.Options, steps int) *remedyPlan {
	j, tau := persiaRun(0.18, 0.003), remedyTau
	j = j.InMode(job.Hybrid)
	j.Training.Staleness, j.Training.Prefetch, j.Training.Scale = &tau, tau+1, job.ScaleGlobal
	data := job.Synthetic{Preset: "avazu", TestRows: 200_000, Stream: true}
	p := &remedyPlan{
		Seed: o.Seed, Seeds: o.Seeds, Job: j, Steps: cmp.Or(steps, 480), TuningSeeds: 2,
		Data: report.DataSet{Name: "avazu", Data: job.Data{Kind: job.KindSynthetic, Synthetic: &data}},
	}
	if o.Quick {
		p.Steps, p.TuningSeeds = cmp.Or(steps, 120), 0
		p.Job.Training.GlobalBatch, data.TestRows = 512, 20_000
	}
	return p
}

// remedy is a way to train.
type remedy struct {
	name   string
	of     string           // the arm of sync that it is compared with; empty: it is one
	change func(j *job.Job) // of plain hybrid, or of sync; nil: none
}

// The arms of sync.
const (
	syncAdam = "sync, Adam rows"
	syncNorm = "sync, batch norm"
	plain    = "hybrid"
)

// remedies returns all arms, those of sync before what is compared with them.
func (p *remedyPlan) remedies() []remedy {
	adam := func(j *job.Job) { j.Rows.Optimizer.Kind, j.Rows.Optimizer.Rate = opt.Adam, 0.002 }
	norm := func(j *job.Job) { j.Model.BatchNorm = true }
	return []remedy{
		{name: syncArm}, {name: syncAdam, change: adam}, {name: syncNorm, change: norm},
		{plain, syncArm, nil},
		{"hot rows", syncArm, func(j *job.Job) { j.Rows.Hot = job.Hot{Auto: true} }},
		{"τ = 3", syncArm, func(j *job.Job) {
			tau := 3
			j.Training.Staleness, j.Training.Prefetch = &tau, tau+1
		}},
		{"τ grows", syncArm, func(j *job.Job) { j.Training.StalenessWarmUp = p.Steps / 3 }},
		{"rate of rows rises", syncArm, func(j *job.Job) { j.Rows.Optimizer.Schedule.WarmUp = p.Steps / 3 }},
		{"rate ÷ missed", syncArm, func(j *job.Job) { j.Training.Mode = scaledMode }},
		{"Adam rows", syncAdam, adam},
		{"batch norm", syncNorm, norm},
	}
}

// job returns the job of an arm under a seed, at its nominal rates.
func (p *remedyPlan) job(r remedy, seed uint64) job.Job {
	j := p.Job
	if r.of == "" {
		j = p.Job.InMode(job.Sequential) // has the bits of sync
	}
	d := p.Data
	j.Data, j.Training.Seed = d.WithSeed(seed), seed
	j.Data.Synthetic.TrainRows = p.Steps * j.Training.GlobalBatch
	if r.change != nil {
		r.change(&j)
	}
	return j
}

// scaledMode is hybrid with the learning rate of a row's gradient divided by the updates that it missed. It
// is a mode of this experiment alone.
const scaledMode = "hybrid-scaled"

type scaledRule struct{ pace.Hybrid }

// Name implements pace.Rule.
func (scaledRule) Name() string { return scaledMode }

// Weight implements pace.Weigher.
func (scaledRule) Weight(missed int) float32 { return 1 / float32(max(missed, 1)) }

var registerScaled = sync.OnceFunc(func() {
	pace.Register(pace.Mode{Name: scaledMode, Overlaps: []string{"none", "ds"},
		New: func(s pace.Settings) pace.Rule {
			return scaledRule{pace.Hybrid{Staleness: s.Staleness, Overlap: pace.HybridOverlap(s.Overlap)}}
		}})
})

// remedyResult has the trainings of an arm.
type remedyResult struct {
	Arm   string     `json:"arm"`
	Rates tune.Rates `json:"rates"`
	judge.Quality
	HotRows float64 `json:"hot_rows,omitempty"`
	// Step is the simulated time of a step ÷ that of plain hybrid; 0 for sync, which is not simulated.
	Step float64 `json:"step_to_hybrid,omitempty"`
	// ToSync is the difference to its arm of sync; nil for these.
	ToSync  *judge.Comparison `json:"to_sync,omitempty"`
	Refined *tune.Refined     `json:"refined,omitempty"`
}

func (p *remedyPlan) measure(ctx context.Context, lab *trial.Lab) ([]*remedyResult, error) {
	registerScaled()
	results, err := p.chosenRates(ctx, lab)
	if err != nil {
		return nil, err
	}
	var specs []trial.Spec
	for seed := p.Seed; seed < p.Seed+uint64(p.Seeds); seed++ {
		for i, r := range p.remedies() {
			s := trial.Spec{Job: p.job(r, seed), Part: trial.Test, Simulated: r.of != "",
				Name: fmt.Sprintf("%s, seed %d", r.name, seed)}
			results[i].Rates.Apply(&s.Job)
			specs = append(specs, s)
		}
	}
	trained, err := lab.Run(ctx, specs)
	if err != nil {
		return nil, err
	}
	step := make([]float64, len(results))
	for i, r := range results {
		var own []trial.Result
		for k := i; k < len(trained); k += len(results) {
			own = append(own, trained[k])
		}
		r.Quality, _ = trial.Quality(own)
		cost := costOf(own)
		r.HotRows, step[i] = cost.HotRows, cost.stepSeconds
	}
	p.compare(results, step)
	return results, nil
}

// chosenRates returns a result for every arm, with the rates that it is compared at.
func (p *remedyPlan) chosenRates(ctx context.Context, lab *trial.Lab) (list []*remedyResult, err error) {
	var tuned []tune.Arm
	var nominal []tune.Choice
	for _, r := range p.remedies() {
		j := p.job(r, 0)
		rates := tune.Rates{Rows: j.Rows.Optimizer.Rate, Dense: j.Model.Optimizer.Rate}
		list = append(list, &remedyResult{Arm: r.name, Rates: rates})
		nominal = append(nominal, tune.Choice{Rates: rates})
		tuned = append(tuned, tune.Arm{Name: r.name, Nominal: rates, Simulated: r.of != "",
			Job: func(seed uint64) job.Job { return p.job(r, seed) }})
	}
	if p.TuningSeeds == 0 {
		return list, nil
	}
	const factor = 3
	refined, err := tune.Refine(ctx, lab, tuned, nominal, factor, p.TuningSeeds)
	if err != nil {
		return nil, err
	}
	for i := range refined {
		list[i].Rates, list[i].Refined = refined[i].Rates, &refined[i]
	}
	return list, nil
}

// compare adds the differences to sync and the times of steps.
func (p *remedyPlan) compare(results []*remedyResult, step []float64) {
	find := func(name string) int {
		return slices.IndexFunc(results, func(r *remedyResult) bool { return r.Arm == name })
	}
	var comparisons []*judge.Comparison
	for i, r := range p.remedies() {
		if r.of == "" {
			continue
		}
		of := results[find(r.of)]
		results[i].Step = step[i] / step[find(plain)]
		results[i].ToSync = judge.Pair(p.Data.Name, r.name, r.of, p.Seed, results[i].Quality, of.Quality)
		comparisons = append(comparisons, results[i].ToSync)
	}
	judge.Judge(comparisons)
}

func (p *remedyPlan) report(results []*remedyResult) *report.Report {
	out := &report.Report{Notes: []string{fmt.Sprintf("%s steps of %s samples on %d ranks, in one epoch, "+
		"hybrid at τ = %d unless an arm says otherwise.", report.Thousands(p.Steps),
		report.Thousands(p.Job.Training.GlobalBatch), p.Job.Roles.Ranks, remedyTau)}}
	t := cli.Table{
		Caption: "AUC, and less that of sync, in thousandths, ± half the 95 % interval; * different, = " +
			"equivalent, after Holm's adjustment; step: simulated time ÷ that of hybrid",
		Header: []string{"arm", "rates", "AUC", "less sync", "step"}, Words: 2,
	}
	edge := 0
	for _, x := range results { // of an earlier run, perhaps, which had other arms
		less, step := "–", "–"
		if x.ToSync != nil {
			less, step = report.MilliVerdict(x.ToSync), report.Digits(x.Step, 3)
			out.Comparisons = append(out.Comparisons, x.ToSync)
			out.Findings = append(out.Findings, fmt.Sprintf("%s: AUC less that of %s is %s (%s).", x.Arm,
				x.ToSync.Reference, report.PlusMinus(x.ToSync.AUC), x.ToSync.Text()))
		}
		if x.Refined != nil && x.Refined.AtEdge {
			edge++
		}
		t.Add(x.Arm, report.Digits(x.Rates.Rows, 2)+", "+report.Digits(x.Rates.Dense, 2),
			report.Level(x.AUC), less, step)
	}
	out.Tables = []cli.Table{t}
	if p.TuningSeeds == 0 {
		out.Notes = append(out.Notes, "Rates are not tuned.")
		return out
	}
	out.Notes = append(out.Notes, fmt.Sprintf("Rates a factor 3 apart, of rows and then of the network, are "+
		"chosen under %d seeds that no comparison has; the best are the last that were tried in %d of %d "+
		"arms.", p.TuningSeeds, edge, len(results)))
	return out
}
