package semantics

import (
	"fmt"
	"math"

	"tandem/algo/job"
	"tandem/algo/numeric/opt"
	"tandem/experiments/report"
)

// plan is everything that is fixed before the first training.
type plan struct {
	Seed       uint64           `yaml:"seed"` // the first
	Seeds      int              `yaml:"seeds"`
	Job        job.Job          `yaml:"job"` // what all variants share
	Optimizers []optimizer      `yaml:"optimizers"`
	Ranks      []int            `yaml:"ranks"`  // ascending, from 1
	Trials     []int            `yaml:"trials"` // log₂ of rate ÷ nominal rate, ascending, with 0
	DataSets   []report.DataSet `yaml:"data"`
}

// optimizer is an optimizer of rows with its nominal learning rate: the order of magnitude that suits one
// rank.
type optimizer struct {
	Kind string  `yaml:"kind"`
	Rate float64 `yaml:"nominal-rate"`
}

// variant is one way to train.
type variant struct {
	Optimizer string `json:"optimizer"`
	Ranks     int    `json:"ranks"`
	Merge     string `json:"merge"`
	Scale     string `json:"scale"`
	nominal   float64
}

func (a variant) String() string {
	if a.Ranks == 1 {
		return a.Optimizer + ", 1 rank"
	}
	return fmt.Sprintf("%s, %d ranks, merge:%s scale:%s", a.Optimizer, a.Ranks, a.Merge, a.Scale)
}

// variants returns the ways to train. One rank has nothing to merge and equal scales, so it is one variant.
func (p *plan) variants() []variant {
	var variants []variant
	for _, o := range p.Optimizers {
		for _, ranks := range p.Ranks {
			if ranks == 1 {
				variants = append(variants, variant{o.Kind, 1, job.MergeStep, job.ScaleGlobal, o.Rate})
				continue
			}
			for _, merge := range []string{job.MergeStep, job.MergeRank} {
				for _, scale := range []string{job.ScaleGlobal, job.ScaleRank} {
					variants = append(variants, variant{o.Kind, ranks, merge, scale, o.Rate})
				}
			}
		}
	}
	return variants
}

// job returns the job of a variant at 2^trial times the nominal rate.
func (p *plan) job(a variant, trial int, seed uint64) job.Job {
	t := p.Job
	t.Rows.Optimizer.Kind, t.Rows.Optimizer.Rate = a.Optimizer, a.nominal*math.Exp2(float64(trial))
	t.Roles.Ranks, t.Training.Merge, t.Training.Scale, t.Training.Seed = a.Ranks, a.Merge, a.Scale, seed
	return t
}

// newPlan returns a plan for all optimizers.
func newPlan(trainRows, testRows int, ranks, trials []int) plan {
	t := job.Default()
	t.Training.Mode = job.Sync
	t.Model.EmbeddingDim, t.Model.Top = 8, []int{32, 16}
	t.Model.Optimizer.Rate = 0.01
	t.Training.GlobalBatch = 256
	return plan{
		Job: t, Ranks: ranks, Trials: trials,
		Optimizers: []optimizer{
			{opt.SGD, 8},
			{opt.Adagrad, 0.1},
			{opt.RowwiseAdagrad, 0.1},
			{opt.Adam, 0.01},
		},
		DataSets: []report.DataSet{report.Generated(0.1, trainRows, testRows), report.AdultIncome()},
	}
}
