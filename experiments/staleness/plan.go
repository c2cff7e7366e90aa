package staleness

import (
	"fmt"
	"slices"

	"tandem/algo/job"
	"tandem/experiments/report"
)

// plan is everything that is fixed before the first training.
type plan struct {
	Seed  uint64 `yaml:"seed"` // the first
	Seeds int    `yaml:"seeds"`
	// Job is the job of all variants; a variant sets mode, merge and staleness.
	Job      job.Job          `yaml:"job"`
	Taus     []int            `yaml:"taus"` // ascending
	DataSets []report.DataSet `yaml:"data"`
	// Resamples is the number of resamples of the test rows of real data.
	Resamples int `yaml:"bootstrap-resamples"`
}

// variant is one way to train.
type variant struct {
	Mode  string `json:"mode"`
	Merge string `json:"merge"`
	Tau   *int   `json:"tau,omitempty"` // hybrid only
}

// variants returns the two synchronous variants, then the hybrid ones by ascending τ.
func (p plan) variants() []variant {
	variants := []variant{{job.Sync, job.MergeStep, nil}, {job.Sync, job.MergeRank, nil}}
	for _, tau := range p.Taus {
		variants = append(variants, variant{job.Hybrid, job.MergeRank, &tau})
	}
	return variants
}

// Indices of plan.variants.
const (
	syncStep = iota
	syncRank
	firstHybrid
)

// String names a variant in tables and messages.
func (a variant) String() string {
	if a.Tau != nil {
		return fmt.Sprintf("hybrid τ=%d", *a.Tau)
	}
	return a.Mode + " merge:" + a.Merge
}

// job returns the job of a variant under a seed.
func (p plan) job(a variant, seed uint64) job.Job {
	t := p.Job
	t.Training.Mode, t.Training.Merge, t.Training.Staleness, t.Training.Seed = a.Mode, a.Merge, a.Tau, seed
	return t
}

// quickPlan takes the time that QuickTime returns.
func quickPlan(g *report.Grid) plan {
	return newPlan(g.Taus(0, 3, 15), g.Alphas(0.01, 0.5), 80_000, 50_000, 400)
}

// fullPlan takes about half an hour on two slow cores. A million test rows make the luck of the rows smaller
// than the margin of equivalence.
func fullPlan(g *report.Grid) plan {
	return newPlan(g.Taus(0, 1, 4, 16, 64), g.Alphas(0.01, 0.1, 0.5), 1_000_000, 1_000_000, 500)
}

func newPlan(taus []int, alphas []float64, trainRows, testRows, resamples int) plan {
	p := plan{Job: commonJob(slices.Max(taus)), Taus: taus, Resamples: resamples}
	for _, alpha := range alphas {
		p.DataSets = append(p.DataSets, report.Generated(alpha, trainRows, testRows))
	}
	p.DataSets = append(p.DataSets, report.AdultIncome())
	return p
}

// commonJob returns the job of all variants.
//
// The learning rates were chosen before any variant was run, by sequential training on generated data of
// the quick plan's size with α = 0.1 and seed 1000, which are in no quick report. Of the dense rates 0.003,
// 0.01, 0.03 and the row rates 0.03, 0.1, 0.3, this pair had the highest AUC: 0.7095, compared with 0.7043
// to 0.7088.
func commonJob(tauMax int) job.Job {
	t := job.Default()
	t.Model.EmbeddingDim, t.Model.Top = 8, []int{32, 16}
	t.Model.Optimizer.Rate, t.Rows.Optimizer.Rate = 0.01, 0.1
	t.Training.GlobalBatch = 256
	t.Training.Prefetch = tauMax + 1 // staleness is bounded by τ, not by the queue
	t.Training.Scale = job.ScaleGlobal
	return t
}
