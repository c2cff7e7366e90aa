package tuner

import (
	"context"
	"fmt"
	"slices"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/datasets"
	"tandem/experiments/report"
	"tandem/experiments/trial"
	"tandem/experiments/tune"
)

// result holds the results of one data set.
type result struct {
	DataSet  string       `json:"data"`
	TestRows int          `json:"test_rows"`
	Arms     []*armResult `json:"arms"` // in the order of plan.arms
	// Oracle is the AUC of the probabilities that the labels were drawn with, by seed; none for real data.
	Oracle []float64 `json:"oracle_auc,omitempty"`
}

// armResult holds the results of one mode, or of the baseline.
type armResult struct {
	Name   string      `json:"arm"`
	Choice tune.Choice `json:"choice"`
	// RowRatio is the best rate of rows ÷ that of sync, over the seeds of tuning.
	RowRatio metric.Interval `json:"row_rate_ratio"`
	// Common and Own are the AUC at the rates of sync and at the arm's own rates, by seed.
	Common []float64 `json:"auc_common"`
	Own    []float64 `json:"auc_own"`
	// CommonGap and OwnGap are the differences to sync at its own rates.
	CommonGap metric.Interval `json:"gap_common"`
	OwnGap    metric.Interval `json:"gap_own"`
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
		if a.Own, err = p.train(ctx, lab, w, r, name, a.Choice.Rates); err != nil {
			return nil, err
		}
		if a.Common, err = p.train(ctx, lab, w, r, name, choices[at].Rates); err != nil {
			return nil, err
		}
		r.Arms = append(r.Arms, a)
	}
	sync := r.Arms[at]
	for _, a := range r.Arms {
		a.CommonGap = metric.MeanInterval(report.Differences(a.Common, sync.Own))
		a.OwnGap = metric.MeanInterval(report.Differences(a.Own, sync.Own))
	}
	return r, p.addOracle(w, r)
}

// train returns the AUC of an arm at some rates, by seed.
func (p *plan) train(
	ctx context.Context, lab *trial.Lab, w report.DataSet, r *result, name string, rates tune.Rates,
) (auc []float64, err error) {
	var specs []trial.Spec
	for i := range p.Seeds {
		j := p.job(w, name, p.Seed+uint64(i))
		rates.Apply(&j)
		specs = append(specs, trial.Spec{Job: j, Part: trial.Test, Simulated: simulated(name),
			Name: fmt.Sprintf("%s, %s, seed %d", w.Name, name, j.Training.Seed)})
	}
	results, err := lab.Run(ctx, specs)
	for _, one := range results {
		auc, r.TestRows = append(auc, one.AUC), one.TestRows
	}
	return auc, err
}

// addOracle evaluates the true probabilities of generated data.
func (p *plan) addOracle(w report.DataSet, r *result) error {
	if w.Data.Synthetic == nil {
		return nil
	}
	for i := range p.Seeds {
		data, err := datasets.Open(w.WithSeed(p.Seed+uint64(i)), "")
		if err != nil {
			return err
		}
		scores := make([]float32, len(data.TestProbability))
		for i, v := range data.TestProbability {
			scores[i] = float32(v)
		}
		r.Oracle = append(r.Oracle, metric.AUC(scores, data.Test.Labels))
	}
	return nil
}
