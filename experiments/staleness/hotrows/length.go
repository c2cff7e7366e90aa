package hotrows

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"tandem/algo/job"
	"tandem/algo/numeric/opt"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/internal/cli"
)

// NewLength returns the experiment hot-length.
func NewLength() *report.Experiment {
	grid, steps := report.NewGrid(report.Taus), 0
	return trial.Study(report.Experiment{
		Name:     "hot-length",
		Question: "Is hybrid with hot rows as good as sync over a run as long as Persia's?",
		Help: `Trains sync, hybrid, and hybrid with the hot rows that the job chooses, on
generated rows of the preset criteo, streamed, on 8 ranks, all at the rates of the
experiment convergence. Hybrid runs on Persia's cluster, simulated, with real
gradients.

The full version has Persia's 10,800 steps of 4,096 samples, and takes hours:
--steps shortens it, --resume continues. The quick version has short steps too, and
tests the experiment.`,
		QuickTime: 15 * time.Second,
		AddFlags: func(flags *pflag.FlagSet) {
			grid.AddFlags(flags)
			flags.IntVar(&steps, "steps", 0, "set the length of the runs in steps (default 10800; with "+
				"--quick 240)")
		},
	}, func(o report.Options) (*lengthPlan, error) {
		if steps < 0 {
			return nil, cli.UsageError("give a number of steps, such as 1080", "--steps: %d is negative",
				steps)
		}
		return newLengthPlan(o, grid.Taus(9), steps), nil
	}, (*lengthPlan).measure, (*lengthPlan).report)
}

// lengthPlan is everything that is fixed before the first training.
type lengthPlan struct {
	Seed  uint64         `yaml:"seed"` // the first
	Seeds int            `yaml:"seeds"`
	Job   job.Job        `yaml:"job"`  // what all trainings share
	Data  report.DataSet `yaml:"data"` // without the number of training rows
	Taus  []int          `yaml:"taus"` // the bounds on own staleness, in steps
	Steps int            `yaml:"steps"`
}

// persiaRun returns a job with the model and the optimizers of the experiment convergence, at some rates of
// rows and network.
func persiaRun(rows, dense float64) job.Job {
	j := job.Default()
	j.Roles.Ranks, j.Model.EmbeddingDim, j.Model.Top = 8, 16, []int{64, 32}
	j.Rows.Optimizer.Kind, j.Rows.Optimizer.Rate = opt.RowwiseAdagrad, rows
	j.Model.Optimizer.Rate, j.Training.GlobalBatch, j.Training.Shuffle = dense, 4096, false
	j.Cluster = job.PersiaCluster()
	return j
}

// newLengthPlan returns a plan with the rates of the experiment convergence. The length is that of Persia's
// run on Criteo, read off a figure (Lian and others, KDD 2022).
func newLengthPlan(o report.Options, taus []int, steps int) *lengthPlan {
	j := persiaRun(0.06, 0.001)
	data := job.Synthetic{Preset: job.PresetCriteo, TestRows: 200_000, Stream: true}
	p := &lengthPlan{
		Seed: o.Seed, Seeds: o.Seeds, Job: j, Taus: taus, Steps: cmp.Or(steps, 10_800),
		Data: report.DataSet{Name: "criteo", Data: job.Data{Kind: job.KindSynthetic, Synthetic: &data}},
	}
	if o.Quick {
		p.Steps = cmp.Or(steps, 240)
		p.Job.Training.GlobalBatch, data.TestRows = 512, 20_000
	}
	return p
}

// arms returns sync and then, for every τ, hybrid without and with hot rows.
func (p *lengthPlan) arms() []rankArm {
	list := []rankArm{{}}
	for _, tau := range p.Taus {
		list = append(list, rankArm{Tau: tau}, rankArm{tau, job.Hot{Auto: true}})
	}
	return list
}

func (p *lengthPlan) specs(a rankArm) (specs []trial.Spec) {
	for i := range p.Seeds {
		seed := p.Seed + uint64(i)
		d := p.Data
		d.Data = d.WithSeed(seed)
		d.Data.Synthetic.TrainRows = p.Steps * p.Job.Training.GlobalBatch
		specs = append(specs, trial.Spec{Job: a.job(p.Job, d, seed), Part: trial.Test, Simulated: a.Tau > 0,
			Name: fmt.Sprintf("%v, seed %d", a, seed)})
	}
	return specs
}

// lengthResult has the trainings of an arm.
type lengthResult struct {
	Arm string `json:"arm"`
	judge.Quality
	Cost rankCost `json:"cost"`
	// ToSync is the difference to sync, nil for sync itself.
	ToSync *judge.Comparison `json:"to_sync,omitempty"`
}

func (p *lengthPlan) measure(ctx context.Context, lab *trial.Lab) (results []*lengthResult, err error) {
	var specs []trial.Spec
	for _, a := range p.arms() {
		specs = append(specs, p.specs(a)...)
	}
	trained, err := lab.Run(ctx, specs)
	if err != nil {
		return nil, err
	}
	var comparisons []*judge.Comparison
	for i, a := range p.arms() {
		own := trained[i*p.Seeds:][:p.Seeds]
		r := &lengthResult{Arm: a.String(), Cost: costOf(own)}
		r.Quality, _ = trial.Quality(own)
		if i > 0 {
			r.ToSync = judge.Pair(p.Data.Name, r.Arm, syncArm, p.Seed, r.Quality, results[0].Quality)
			comparisons = append(comparisons, r.ToSync)
		}
		results = append(results, r)
	}
	judge.Judge(comparisons)
	return results, nil
}

func (p *lengthPlan) report(results []*lengthResult) *report.Report {
	out := &report.Report{Notes: []string{fmt.Sprintf("%s steps of %s samples on %d ranks, in one epoch, "+
		"all arms at the same rates. Persia's run on Criteo has 10,800 of 4,096.", report.Thousands(p.Steps),
		report.Thousands(p.Job.Training.GlobalBatch), p.Job.Roles.Ranks)}}
	t := cli.Table{
		Caption: "AUC of sync and of hybrid, and less that of sync, in thousandths, ± half the 95 % " +
			"interval; * different, = equivalent, after Holm's adjustment",
		Header: []string{"τ", "hot from", "AUC", "less sync", "rows", "share", "missed"}, Words: 2,
	}
	for i, a := range p.arms() {
		r := results[i]
		less := "–"
		if r.ToSync != nil {
			less = report.MilliVerdict(r.ToSync)
			out.Comparisons = append(out.Comparisons, r.ToSync)
			out.Findings = append(out.Findings, fmt.Sprintf("%s: AUC less that of sync is %s (%s).", r.Arm,
				report.PlusMinus(r.ToSync.AUC), r.ToSync.Text()))
		}
		tau := fmt.Sprint(a.Tau)
		if a.Tau == 0 {
			tau = syncArm
		}
		t.Add(tau, a.hot(), report.Level(r.AUC), less, report.Thousands(int(r.Cost.HotRows+0.5)),
			wholePercent(r.Cost.HotShare), report.Digits(r.Cost.Missed, 2))
	}
	out.Tables = []cli.Table{t}
	return out
}
