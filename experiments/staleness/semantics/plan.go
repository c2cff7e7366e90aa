package semantics

import (
	"fmt"

	"tandem/algo/job"
	"tandem/algo/numeric/opt"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/tune"
)

// plan is everything that is fixed before the first training.
type plan struct {
	Seed       uint64      `yaml:"seed"` // the first
	Seeds      int         `yaml:"seeds"`
	Job        job.Job     `yaml:"job"` // what all variants share
	Optimizers []optimizer `yaml:"optimizers"`
	Ranks      []int       `yaml:"ranks"` // ascending, from 1
	// TuningSeeds are the seeds under which the tuner compares the best candidates.
	TuningSeeds int `yaml:"tuning-seeds"`
	// Factors are the candidates of the tuner: rate ÷ nominal rate, ascending, with 1.
	Factors  []float64        `yaml:"factors"`
	DataSets []report.DataSet `yaml:"data"`
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

// job returns the job of a variant on rows of a data set, at the nominal rate.
func (p *plan) job(w report.DataSet, a variant, seed uint64) job.Job {
	j := p.Job
	j.Data = w.WithSeed(seed)
	j.Rows.Optimizer.Kind, j.Rows.Optimizer.Rate = a.Optimizer, a.nominal
	j.Roles.Ranks, j.Training.Merge, j.Training.Scale, j.Training.Seed = a.Ranks, a.Merge, a.Scale, seed
	return j
}

// arm returns the arm of a variant for the tuner.
func (p *plan) arm(w report.DataSet, a variant) tune.Arm {
	return tune.Arm{
		Name: w.Name + ", " + a.String(), Nominal: tune.Rates{Rows: a.nominal,
			Dense: p.Job.Model.Optimizer.Rate},
		Job: func(seed uint64) job.Job { return p.job(w, a, seed) },
	}
}

// rates returns the candidates of the tuner for an optimizer. The rate of the network is fixed.
func (p *plan) rates(o optimizer) tune.Plan {
	t := tune.Plan{Dense: []float64{p.Job.Model.Optimizer.Rate}, Seeds: p.TuningSeeds}
	for _, factor := range p.Factors {
		t.Rows = append(t.Rows, o.Rate*factor)
	}
	return t
}

// trainings returns how many trainings there are: of the tuner, at the nominal and the own rates, and at
// Persia's rate × 1 and × N.
func (p *plan) trainings() (n int) {
	for _, o := range p.Optimizers {
		t := p.rates(o)
		for _, a := range p.variants() {
			if a.Optimizer != o.Kind {
				continue
			}
			n += t.Trials() + 2*p.Seeds
			if a.isPersia() {
				n += 2 * p.Seeds
			}
		}
	}
	return n * len(p.DataSets)
}

// isPersia reports whether a variant merges and scales as Persia does.
func (a variant) isPersia() bool { return a.Merge == job.MergeRank && a.Scale == job.ScaleRank }

// newPlan returns a plan for all optimizers. Sequential training merges and scales as the ranks of sync do,
// and gives its bits.
func newPlan(trainRows, testRows int, ranks []int, factors []float64) plan {
	t := job.Default()
	t.Training.Mode = job.Sequential
	t.Model.EmbeddingDim, t.Model.Top = 8, []int{32, 16}
	t.Model.Optimizer.Rate = 0.01
	t.Training.GlobalBatch = 256
	return plan{
		Job: t, Ranks: ranks, Factors: factors, TuningSeeds: tune.SeedsWanted,
		Optimizers: []optimizer{
			{opt.SGD, 8},
			{opt.Adagrad, 0.1},
			{opt.RowwiseAdagrad, 0.1},
			{opt.Adam, 0.01},
		},
		DataSets: []report.DataSet{report.Generated(0.1, trainRows, testRows), report.AdultIncome()},
	}
}
