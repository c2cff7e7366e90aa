package decomposition

import (
	"context"
	"fmt"

	"tandem/experiments/internal/arms"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
)

// result holds the results of a data set with an optimizer of the network.
type result struct {
	*arms.Result
	// RowDelay and DenseDelay are the means of the delays that async-ps has, in steps of a rank's batch.
	RowDelay   float64 `json:"row_delay_steps"`
	DenseDelay float64 `json:"dense_delay_steps"`
	Parts      []*gap  `json:"parts"` // their sum is Total
	Total      *gap    `json:"total"`
	Beside     []*gap  `json:"beside"`
}

// gap is a difference at both kinds of rates.
type gap struct {
	Name string `json:"name"`
	arms.Gap
}

// measure compares all arms on every data set with every optimizer.
func (p *plan) measure(ctx context.Context, lab arms.Lab) (results []*result, err error) {
	for _, w := range p.DataSets {
		for _, o := range p.Optimizers {
			r, err := p.measureOne(ctx, lab, w, o)
			if err != nil {
				return nil, err
			}
			results = append(results, r)
		}
	}
	judge.Judge(comparisons(results))
	return results, nil
}

func (p *plan) measureOne(ctx context.Context, lab arms.Lab, w report.DataSet, o optimizer) (
	*result, error) {
	inStep, err := within(p.Job.Roles.Ranks)
	if err != nil {
		return nil, err
	}
	late, r, err := p.pilot(ctx, lab, w, o)
	if err != nil {
		return nil, err
	}
	if r.Result, err = p.set(w, o, late, inStep).Measure(ctx, lab); err != nil {
		return nil, err
	}
	pair := func(list []part) (gaps []*gap, err error) {
		for _, one := range list {
			g, err := r.Gap(lab, one.treated, one.reference)
			if err != nil {
				return nil, err
			}
			gaps = append(gaps, &gap{one.name, g})
		}
		return gaps, nil
	}
	if r.Parts, err = pair(parts()); err != nil {
		return nil, err
	}
	if r.Beside, err = pair(beside()); err != nil {
		return nil, err
	}
	whole, err := pair([]part{total()})
	if err != nil {
		return nil, err
	}
	r.Total = whole[0]
	return r, nil
}

// pilot trains async-ps once, under a seed of the tuner, and returns the delays that it had. They do not
// depend on learning rates.
func (p *plan) pilot(ctx context.Context, lab arms.Lab, w report.DataSet, o optimizer) (
	late delays, r *result, err error) {
	j := p.job(w, o, asyncPS, delays{}, delays{}.rows, tune.FirstSeed)
	tune.Rates{Rows: nominalRow, Dense: o.Rate}.Apply(&j)
	one, err := lab.Run(ctx, []trial.Spec{{Job: j, Part: trial.Test, Simulated: true,
		Name: fmt.Sprintf("%s, %s, delays of async-ps", w.Name, o.Kind)}})
	if err != nil {
		return late, nil, err
	}
	if one[0].Diverged != "" {
		return late, nil, fmt.Errorf("async-ps at the nominal rates of %s: %s", o.Kind, one[0].Diverged)
	}
	s := &one[0].Staleness
	return delaysOf(&one[0]), &result{RowDelay: s.Inflight.Mean(), DenseDelay: s.Dense.Mean()}, nil
}

// comparisons returns all differences of the results.
func comparisons(results []*result) (list []*judge.Comparison) {
	for _, r := range results {
		for _, g := range r.all() {
			list = append(list, g.Own, g.Common)
		}
	}
	return list
}

// all returns the parts, the total and what stands beside.
func (r *result) all() []*gap {
	return append(append(append([]*gap{}, r.Parts...), r.Total), r.Beside...)
}
