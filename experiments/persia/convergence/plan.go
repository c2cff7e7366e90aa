package convergence

import (
	"fmt"
	"slices"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
)

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

// arm is a way to train.
type arm struct {
	Mode  string `json:"mode"`
	Merge string `json:"merge"`
	Ranks int    `json:"ranks"`
	Batch int    `json:"global_batch"`
	Tau   int    `json:"tau,omitempty"`   // bounds the own staleness of hybrid
	Model string `json:"model,omitempty"` // empty: that of the job
}

// String names an arm in tables and messages.
func (a arm) String() string {
	switch {
	case a.Model == model.LogisticRegression:
		return "logistic"
	case a.Mode == job.Hybrid:
		return fmt.Sprintf("hybrid τ=%d", a.Tau)
	}
	return "sync merge:" + a.Merge
}

// ofSize names an arm with its ranks and its batch, where these differ.
func (a arm) ofSize() string {
	return fmt.Sprintf("%v, N=%d, batch %s", a, a.Ranks, report.Thousands(a.Batch))
}

// sync returns synchronous training with all ranks of the job. With merge: step, it has the same bits for any
// number of ranks that divides the groups.
func (p *plan) sync(merge string, batch int) arm {
	return arm{Mode: job.Sequential, Merge: merge, Ranks: p.Job.Roles.Ranks, Batch: batch}
}

// hybrid returns hybrid training.
func (p *plan) hybrid(tau, ranks, batch int) arm {
	return arm{Mode: job.Hybrid, Merge: job.MergeRank, Ranks: ranks, Batch: batch, Tau: tau}
}

// logistic returns the simplest model that learns from ids.
func (p *plan) logistic() arm {
	a := p.sync(job.MergeStep, p.batch())
	a.Model = model.LogisticRegression
	return a
}

func (p *plan) batch() int { return p.Job.Training.GlobalBatch }

// mainArms returns the arms whose curves are compared: sync merge:step, sync merge:rank, then hybrid.
func (p *plan) mainArms() []arm {
	arms := []arm{p.sync(job.MergeStep, p.batch()), p.sync(job.MergeRank, p.batch())}
	for _, tau := range p.Taus {
		arms = append(arms, p.hybrid(tau, p.Job.Roles.Ranks, p.batch()))
	}
	return arms
}

// scale is how the work grows with the ranks.
type scale string

// The scales.
const (
	weak   scale = "weak"   // the batch of a rank is fixed
	strong scale = "strong" // the global batch is fixed
)

// scaled returns hybrid on a number of ranks, at the smallest τ, and sync with the same global batch.
func (p *plan) scaled(s scale, ranks int) (hybrid, sync arm) {
	batch := p.batch()
	if s == weak {
		batch = batch / p.Job.Roles.Ranks * ranks
	}
	return p.hybrid(p.Taus[0], ranks, batch), p.sync(job.MergeStep, batch)
}

// tunedArms returns all arms, each once.
func (p *plan) tunedArms() []arm {
	arms := append(p.mainArms(), p.logistic())
	for _, s := range []scale{weak, strong} {
		for _, ranks := range p.ScalingRanks {
			hybrid, sync := p.scaled(s, ranks)
			arms = append(arms, hybrid, sync)
		}
	}
	var distinct []arm
	for _, a := range arms {
		if !slices.Contains(distinct, a) {
			distinct = append(distinct, a)
		}
	}
	return distinct
}

// spec returns the training of an arm on a number of samples. Points is the number of evaluations.
func (p *plan) spec(a arm, samples, points int, r tune.Rates, seed uint64) trial.Spec {
	j := p.Job
	j.Data = p.Data.WithSeed(seed)
	j.Data.Synthetic.TrainRows = samples
	j.Training.Mode, j.Training.Merge, j.Training.GlobalBatch = a.Mode, a.Merge, a.Batch
	j.Training.Seed, j.Roles.Ranks = seed, a.Ranks
	if points > 1 {
		j.Training.EvaluateEvery = job.Every{Steps: max(samples/a.Batch/points, 1)}
	}
	if a.Model != "" {
		j.Model.Kind, j.Model.Top = a.Model, nil
	}
	simulated := a.Mode == job.Hybrid
	if simulated {
		j.Training.Staleness, j.Training.Prefetch = &a.Tau, a.Tau+1
		j.Cluster = job.PersiaCluster()
	}
	r.Apply(&j)
	return trial.Spec{Job: j, Part: trial.Test, Simulated: simulated,
		Name: fmt.Sprintf("%s, %s steps, seed %d", a.ofSize(), report.Thousands(samples/a.Batch), seed)}
}

// nominal returns the rates of all arms that are not tuned.
func (p *plan) nominal() tune.Rates {
	return tune.Rates{Rows: p.Job.Rows.Optimizer.Rate, Dense: p.Job.Model.Optimizer.Rate}
}

// stepsPersia is the length of Persia's run on Criteo, read off a figure of its paper (Lian and others, KDD
// 2022), and batchPersia its global batch on 8 GPUs.
const (
	stepsPersia = 10_800
	batchPersia = 4096
)

// fullPlan has runs of a number of steps.
func fullPlan(taus []int, steps int) plan {
	j := job.Default()
	j.Roles.Ranks = 8
	j.Model.EmbeddingDim, j.Model.Top = 16, []int{64, 32}
	// Adagrad with one accumulator for a row keeps 25 million rows in less than 3 GiB.
	j.Rows.Optimizer.Kind = opt.RowwiseAdagrad
	j.Rows.Optimizer.Rate, j.Model.Optimizer.Rate = 0.06, 0.001
	j.Training.GlobalBatch, j.Training.Scale, j.Training.Shuffle = batchPersia, job.ScaleGlobal, false
	p := plan{
		Job: j, Taus: taus, Steps: steps, Points: 12,
		Data: report.DataSet{Name: "criteo", Data: job.Data{Kind: job.KindSynthetic,
			Synthetic: &job.Synthetic{Preset: job.PresetCriteo, TestRows: 200_000, Stream: true}}},
		TuningSteps:  max(steps/20, 1),
		ScalingRanks: []int{1, 2, 4, 8}, ScalingSamples: max(steps/20, 1) * batchPersia,
	}
	nominal := p.nominal()
	p.Tuning = tune.Plan{
		Rows: tune.Grid(nominal.Rows, 3, 1), Dense: tune.Grid(nominal.Dense, 3, 1), Seeds: tune.SeedsMin,
	}
	return p
}

// quickPlan has short runs of small batches, and rates that are not tuned.
func quickPlan(taus []int, steps int) plan {
	p := fullPlan(taus, steps)
	p.Job.Training.GlobalBatch = 512
	p.Data.Data.Synthetic.TestRows = 20_000
	p.TuningSteps = 0
	p.ScalingRanks, p.ScalingSamples = []int{2, 8}, max(steps/2, 1)*p.batch()
	return p
}

// isShort reports whether the runs have fewer samples than Persia's.
func (p *plan) isShort() bool { return p.Steps*p.batch() < stepsPersia*batchPersia }
