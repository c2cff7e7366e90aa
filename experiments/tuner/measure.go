package tuner

import (
	"context"
	"fmt"
	"slices"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/experiments/judge"
	"tandem/experiments/report"
	"tandem/experiments/trial"
	"tandem/experiments/tune"
)

// result holds the results of one data set.
type result struct {
	DataSet  string       `json:"data"`
	TestRows int          `json:"test_rows"`
	Diverged int          `json:"diverged"` // trainings, which count as a guess of ½
	Arms     []*armResult `json:"arms"`     // in the order of plan.arms
	// Oracle is the AUC of the probabilities that the labels were drawn with, by seed; none for real data.
	Oracle []float64 `json:"oracle_auc,omitempty"`
}

// armResult holds the results of one mode, or of the baseline.
type armResult struct {
	Name   string      `json:"arm"`
	Choice tune.Choice `json:"choice"`
	// RowRatio is the best rate of rows ÷ that of sync, over the seeds of tuning.
	RowRatio metric.Interval `json:"row_rate_ratio"`
	// Common and Own are the quality at the rates of sync and at the arm's own rates.
	Common judge.Quality `json:"at_rates_of_sync"`
	Own    judge.Quality `json:"at_own_rates"`
	// CommonGap and OwnGap are the differences to sync at its own rates; nil for sync.
	CommonGap *judge.Comparison `json:"-"`
	OwnGap    *judge.Comparison `json:"-"`
}

// measure tunes and compares all arms on every data set.
func (p *plan) measure(ctx context.Context, lab *trial.Lab) (results []*result, err error) {
	for _, w := range p.DataSets {
		r, err := p.measureData(ctx, lab, w)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

func (p *plan) measureData(ctx context.Context, lab *trial.Lab, w report.DataSet) (*result, error) {
	var arms []tune.Arm
	for _, name := range p.arms() {
		arms = append(arms, p.arm(w, name))
	}
	choices, err := tune.Tune(ctx, lab, arms, p.Rates)
	if err != nil {
		return nil, err
	}
	r := &result{DataSet: w.Name}
	at := slices.Index(p.Modes, job.Sync)
	for i, name := range p.arms() {
		a := &armResult{Name: name, Choice: choices[i], RowRatio: tune.RowRatio(choices[i], choices[at])}
		if a.Own, err = p.train(ctx, lab, r, p.specs(w, name, a.Choice.Rates)); err != nil {
			return nil, err
		}
		if a.Common, err = p.train(ctx, lab, r, p.specs(w, name, choices[at].Rates)); err != nil {
			return nil, err
		}
		r.Arms = append(r.Arms, a)
	}
	sync := r.Arms[at]
	reference := p.specs(w, job.Sync, sync.Choice.Rates)
	for _, a := range r.Arms {
		if a == sync {
			continue
		}
		a.CommonGap = judge.Pair(w.Name, a.Name+", rates of sync", job.Sync, p.Seed, a.Common, sync.Own)
		a.OwnGap = judge.Pair(w.Name, a.Name+", own rates", job.Sync, p.Seed, a.Own, sync.Own)
		a.CommonGap.RowDeviation, err = lab.RowDeviation(p.specs(w, a.Name, sync.Choice.Rates), reference)
		if err != nil {
			return nil, err
		}
		a.OwnGap.RowDeviation, err = lab.RowDeviation(p.specs(w, a.Name, a.Choice.Rates), reference)
		if err != nil {
			return nil, err
		}
	}
	oracle, err := w.Oracle(p.Seed, p.Seeds)
	r.Oracle = oracle.AUC
	return r, err
}

// specs returns the trainings of an arm at some rates, by seed.
func (p *plan) specs(w report.DataSet, name string, rates tune.Rates) (specs []trial.Spec) {
	for i := range p.Seeds {
		j := p.job(w, name, p.Seed+uint64(i))
		rates.Apply(&j)
		specs = append(specs, trial.Spec{Job: j, Part: trial.Test, Simulated: simulated(name),
			Name: fmt.Sprintf("%s, %s, seed %d", w.Name, name, j.Training.Seed)})
	}
	return specs
}

// train returns the quality of an arm, by seed.
func (p *plan) train(ctx context.Context, lab *trial.Lab, r *result, specs []trial.Spec) (
	q judge.Quality, err error) {
	results, err := lab.Run(ctx, specs)
	if err != nil {
		return q, err
	}
	q, diverged := trial.Quality(results)
	r.Diverged += diverged
	r.TestRows = results[0].TestRows
	return q, nil
}

// comparisons returns the differences to sync on all data sets, judged.
func comparisons(results []*result) (list []*judge.Comparison) {
	for _, r := range results {
		for _, a := range r.Arms {
			if a.OwnGap != nil {
				list = append(list, a.CommonGap, a.OwnGap)
			}
		}
	}
	judge.Judge(list)
	return list
}
