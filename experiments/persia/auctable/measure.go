package auctable

import (
	"context"

	"tandem/algo/job"
	"tandem/experiments/internal/arms"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/trial"
)

// effect is a difference that is compared on all data sets: treated − reference.
type effect struct {
	name               string // in the names of quantities
	text               string
	treated, reference string // arms
}

// effects returns all effects: those of hybrid with their parts, then those of the other modes.
func (p *plan) effects() (list []effect) {
	less := func(arm string) effect { return effect{arm + "-less-sync", arm + " − sync", arm, job.Sync} }
	for _, mode := range p.Modes {
		if mode != job.Sync {
			list = append(list, less(mode))
		}
		if mode == job.Hybrid && !p.ByRank {
			list = append(list,
				effect{"hybrid-staleness", "hybrid − sync, staleness", job.Hybrid, byRank},
				effect{"hybrid-merging", "hybrid − sync, merging", byRank, job.Sync})
		}
	}
	if p.ByRank {
		list = append(list, less(logistic))
	}
	return list
}

type result struct {
	*arms.Result
	Judged  bool   `json:"judged"`
	Effects []*gap `json:"effects"` // in the order of plan.effects
}

// gap is an effect on a data set.
type gap struct {
	Name string `json:"effect"`
	arms.Gap
}

// train measures with a lab that knows how many trainings come.
func (p *plan) train(ctx context.Context, lab *trial.Lab) ([]*result, error) {
	trainings := 0
	for _, s := range p.Sets {
		trainings += p.arms(s).Trainings()
	}
	lab.Expect(trainings)
	return p.measure(ctx, lab)
}

func (p *plan) measure(ctx context.Context, lab arms.Lab) (results []*result, err error) {
	for _, s := range p.Sets {
		r := &result{Judged: s.Judged}
		if r.Result, err = p.arms(s).Measure(ctx, lab); err != nil {
			return nil, err
		}
		for _, e := range p.effects() {
			g, err := r.Gap(lab, e.treated, e.reference)
			if err != nil {
				return nil, err
			}
			r.Effects = append(r.Effects, &gap{e.name, g})
		}
		results = append(results, r)
	}
	judge.Judge(comparisons(results, true, arms.Own, arms.Common))
	// The others are judged for their intervals; their verdicts are not reported.
	judge.Judge(comparisons(results, false, arms.Own, arms.Common))
	return results, nil
}

// comparisons returns the differences at kinds of rates, on the data sets that are judged or on the others.
func comparisons(results []*result, judged bool, kinds ...arms.Kind) (list []*judge.Comparison) {
	for _, r := range results {
		for _, g := range r.Effects {
			for _, kind := range kinds {
				if r.Judged == judged {
					list = append(list, g.At(kind))
				}
			}
		}
	}
	return list
}
