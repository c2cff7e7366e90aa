package convergence

import (
	"fmt"
	"slices"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
)

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

// mainArms returns the arms whose curves are compared: sync merge:step, sync merge:rank, then hybrid.
func (p *plan) mainArms() []arm {
	arms := []arm{p.sync(job.MergeStep, p.batch()), p.sync(job.MergeRank, p.batch())}
	for _, tau := range p.Taus {
		arms = append(arms, arm{Mode: job.Hybrid, Merge: job.MergeRank, Ranks: p.Job.Roles.Ranks,
			Batch: p.batch(), Tau: tau})
	}
	return arms
}

// scaled returns hybrid on a number of ranks, at the smallest τ, and sync with the same global batch.
func (p *plan) scaled(scale string, ranks int) (hybrid, sync arm) {
	hybrid = p.mainArms()[2]
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
	weak      = "weak"   // the batch of a rank is fixed
	strong    = "strong" // the global batch is fixed
)

// Kinds of rates.
const (
	ownRates    = "own"    // each arm at its own tuned rates
	commonRates = "common" // all arms at the rates of sync merge:step
)

// kinds returns the kinds of rates: common ones alone, unless rates are tuned.
func (p *plan) kinds() []string {
	if p.TuningSteps == 0 {
		return []string{commonRates}
	}
	return []string{ownRates, commonRates}
}

// difference is an effect that is measured: treated − reference.
type difference struct {
	name, kind         string
	ranks              int
	treated, reference arm
}

// effects returns what is measured on the long runs: merging and staleness, and their sum.
func (p *plan) effects() (list []difference) {
	arms, ranks := p.mainArms(), p.Job.Roles.Ranks
	for _, kind := range p.kinds() {
		list = append(list, difference{merging, kind, ranks, arms[1], arms[0]})
		for _, hybrid := range arms[2:] {
			list = append(list, difference{staleness, kind, ranks, hybrid, arms[1]},
				difference{total, kind, ranks, hybrid, arms[0]})
		}
	}
	return list
}

// scaling returns the effects of more ranks: on hybrid, and, where the batch grows, on sync.
func (p *plan) scaling() (list []difference) {
	for _, scale := range []string{weak, strong} {
		firstHybrid, firstSync := p.scaled(scale, p.ScalingRanks[0])
		for _, ranks := range p.ScalingRanks[1:] {
			hybrid, sync := p.scaled(scale, ranks)
			list = append(list, difference{scale, p.kinds()[0], ranks, hybrid, firstHybrid})
			if scale == weak {
				list = append(list, difference{scale, p.kinds()[0], ranks, sync, firstSync})
			}
		}
	}
	return list
}

// side names an arm of an effect in comparisons.
func (p *plan) side(name, kind string, a arm) string {
	switch {
	case name == weak || name == strong:
		return a.ofSize()
	case kind == commonRates && len(p.kinds()) > 1:
		return a.String() + ", common rates"
	}
	return a.String()
}

// tunedArms returns all arms, each once.
func (p *plan) tunedArms() []arm {
	arms := append(p.mainArms(), p.logistic())
	for _, d := range p.scaling() {
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
	j := p.Job
	j.Data = p.Data.WithSeed(seed)
	j.Data.Synthetic.TrainRows = samples
	j.Training.Mode, j.Training.Merge, j.Training.GlobalBatch = a.Mode, a.Merge, a.Batch
	j.Training.Seed, j.Roles.Ranks = seed, a.Ranks
	if samples == p.samples() && p.Points > 1 {
		j.Training.EvaluateEvery = job.Every{Steps: max(samples/a.Batch/p.Points, 1)}
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
