package tuner

import (
	"context"

	"tandem/algo/job"
	"tandem/experiments/internal/arms"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/tune"
)

// result holds the results of one data set: of the modes and of the baseline.
type result struct {
	*arms.Result
	gaps []gap // of every arm but sync
}

// gap is an arm's difference to sync.
type gap struct {
	arm *arms.Arm
	arms.Gap
}

// measure tunes and compares all arms on every data set.
func (p *plan) measure(ctx context.Context, lab arms.Lab) (results []*result, err error) {
	for _, w := range p.DataSets {
		s := p.set(w)
		measured, err := s.Measure(ctx, lab)
		if err != nil {
			return nil, err
		}
		r := &result{Result: measured}
		for _, a := range measured.Arms {
			if a.Name == job.Sync {
				continue
			}
			g, err := r.Gap(lab, a.Name, job.Sync)
			if err != nil {
				return nil, err
			}
			r.gaps = append(r.gaps, gap{a, g})
		}
		results = append(results, r)
	}
	return results, nil
}

// set returns the arms of a data set.
func (p *plan) set(w report.DataSet) *arms.Set {
	var list []tune.Arm
	for _, name := range p.arms() {
		list = append(list, p.arm(w, name))
	}
	return &arms.Set{Data: w, Arms: list, Common: job.Sync, Rates: p.Rates, Seed: p.Seed, Seeds: p.Seeds}
}

// comparisons returns the differences to sync on all data sets, judged.
func comparisons(results []*result) (list []*judge.Comparison) {
	for _, r := range results {
		for _, g := range r.gaps {
			list = append(list, g.Common, g.Own)
		}
	}
	judge.Judge(list)
	return list
}
