package auctable

import (
	"context"

	"tandem/algo/job"
	"tandem/experiments/internal/arms"
	"tandem/experiments/internal/judge"
)

// effect is a difference that is compared on all data sets: treated − reference.
type effect struct {
	name               string // in the names of quantities
	text               string
	treated, reference string // arms
}

// effects returns all effects: those of hybrid with their parts, then those of the other modes.
func (p *plan) effects() (list []effect) {
	for _, mode := range p.Modes {
		if mode == job.Sync {
			continue
		}
		list = append(list, effect{mode + "-less-sync", mode + " − sync", mode, job.Sync})
		if mode == job.Hybrid {
			list = append(list,
				effect{"hybrid-staleness", "hybrid − sync, staleness", job.Hybrid, byRank},
				effect{"hybrid-merging", "hybrid − sync, merging", byRank, job.Sync})
		}
	}
	return list
}

// result holds the results of one data set.
type result struct {
	*arms.Result
	Judged  bool   `json:"judged"`
	Effects []*gap `json:"effects"` // in the order of plan.effects

	set set
}

// gap is an effect on a data set.
type gap struct {
	Name string `json:"effect"`
	arms.Gap
}

// measure tunes and compares all arms on every data set.
func (p *plan) measure(ctx context.Context, lab arms.Lab) (results []*result, err error) {
	for _, s := range p.Sets {
		measured, err := p.arms(s).Measure(ctx, lab)
		if err != nil {
			return nil, err
		}
		r := &result{Result: measured, Judged: s.Judged, set: s}
		for _, e := range p.effects() {
			g, err := r.Gap(lab, e.treated, e.reference)
			if err != nil {
				return nil, err
			}
			r.Effects = append(r.Effects, &gap{e.name, g})
		}
		results = append(results, r)
	}
	judge.Judge(comparisons(results, true))
	judge.Judge(comparisons(results, false)) // for their intervals; their verdicts are not reported
	return results, nil
}

// comparisons returns the differences on the data sets that are judged, or on the others.
func comparisons(results []*result, judged bool) (list []*judge.Comparison) {
	for _, r := range results {
		if r.Judged != judged {
			continue
		}
		for _, g := range r.Effects {
			list = append(list, g.Own, g.Common)
		}
	}
	return list
}
