// Package convergence measures AUC against samples over a run of Persia's length on Criteo, with rows that
// are generated while it trains, and what more ranks change.
//
// There are three arms with the same rows in the same order, the same initial values and the same scale of
// the gradient:
//
//	sync merge:step   one optimizer step per row and global batch
//	sync merge:rank   one per row, global batch and rank that has the row, as in Persia
//	hybrid τ          as sync merge:rank, with rows late by what happens in a simulated cluster
//
//	merging = (sync merge:rank) − (sync merge:step)
//	staleness = hybrid − (sync merge:rank)
//	hybrid − sync = hybrid − (sync merge:step), the sum of both
//
// Sync is trained sequentially, which has its bits. Hybrid is trained on Persia's cluster in virtual time
// with real gradients: its staleness is an outcome, and every run gives the same bits.
//
// More ranks change two things: the rows of a rank and, if each keeps its batch, the global batch. Weak
// scaling has both, strong scaling the first alone.
//
// Source: Lian and others, arXiv 2111.05897: 10,800 steps of 4,096 samples on 8 GPUs for Criteo.
package convergence

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/pflag"

	"tandem/algo/job"
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
			flags.IntVar(&length, "steps", 0, "set the length of the runs in steps; those of tuning and "+
				"scaling follow it (default 10800; with --quick 240)")
			flags.BoolVar(&fixed, "fixed-rates", false, "train all arms at the same nominal rates, without "+
				"tuning")
		},
	}, func(o report.Options) (*plan, error) {
		if length < 0 {
			return nil, cli.UsageError("give a number of steps, such as 1080", "--steps: %d is negative",
				length)
		}
		p := newPlan(o.Quick, grid.Taus(9, 60), length)
		p.Seed, p.Seeds = o.Seed, o.Seeds
		if fixed {
			p.TuningSteps = 0
		}
		return p, nil
	}, func(p *plan, ctx context.Context, lab *trial.Lab) (*results, error) { return p.measure(ctx, lab) },
		(*plan).report)
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
	// TuningSteps is the length of the runs that choose rates; 0: all arms have the nominal ones.
	TuningSteps int       `yaml:"tuning-steps"`
	Tuning      tune.Plan `yaml:"tuning"`
	// ScalingRanks are numbers of ranks, ascending; the first is the reference of the others, the last is
	// that of the job. ScalingSamples is the length of these runs.
	ScalingRanks   []int `yaml:"scaling-ranks"`
	ScalingSamples int   `yaml:"scaling-samples"`
}

// The lengths of runs in steps: that of Persia's run on Criteo, read off a figure of its paper (Lian and
// others, KDD 2022), with its global batch on 8 GPUs, and that of the quick version.
const (
	stepsPersia = 10_800
	batchPersia = 4096
	stepsQuick  = 240
)

// newPlan returns the plan of the quick or the full version. The quick one has short runs of small batches,
// and rates that are not tuned. Steps is the length of the runs; 0: that of the version.
func newPlan(quick bool, taus []int, steps int) *plan {
	j := job.Default()
	j.Roles.Ranks = 8
	j.Model.EmbeddingDim, j.Model.Top = 16, []int{64, 32}
	// Adagrad with one accumulator for a row keeps 25 million rows in less than 3 GiB.
	j.Rows.Optimizer.Kind = opt.RowwiseAdagrad
	j.Rows.Optimizer.Rate, j.Model.Optimizer.Rate = 0.06, 0.001
	j.Training.GlobalBatch, j.Training.Scale, j.Training.Shuffle = batchPersia, job.ScaleGlobal, false
	data := job.Synthetic{Preset: job.PresetCriteo, TestRows: 200_000, Stream: true}
	p := &plan{
		Job: j, Taus: taus, Points: 12,
		Data: report.DataSet{Name: "criteo", Data: job.Data{Kind: job.KindSynthetic, Synthetic: &data}},
	}
	nominal := p.nominal()
	p.Tuning = tune.Plan{
		Rows: tune.Grid(nominal.Rows, 3, 1), Dense: tune.Grid(nominal.Dense, 3, 1), Seeds: tune.SeedsMin,
	}
	if quick {
		p.Steps = cmp.Or(steps, stepsQuick)
		p.Job.Training.GlobalBatch, data.TestRows = 512, 20_000
		p.ScalingRanks, p.ScalingSamples = []int{2, 8}, max(p.Steps/2, 1)*p.batch()
		return p
	}
	p.Steps = cmp.Or(steps, stepsPersia)
	p.TuningSteps = max(p.Steps/20, 1)
	p.ScalingRanks, p.ScalingSamples = []int{1, 2, 4, 8}, p.TuningSteps*p.batch()
	return p
}

// isShort reports whether the runs have fewer samples than Persia's.
func (p *plan) isShort() bool { return p.samples() < stepsPersia*batchPersia }
