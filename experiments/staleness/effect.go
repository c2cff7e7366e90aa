package staleness

import (
	"context"

	"tandem/algo/metric"
	"tandem/experiments/judge"
)

// Names of the effects.
const (
	mergingEffect   = "merging"
	stalenessEffect = "staleness"
)

// effect is the difference of two variants: treated − reference.
type effect struct {
	Name string `json:"effect"`
	Tau  *int   `json:"tau,omitempty"` // for the staleness effect
	*judge.Comparison
}

// compare creates the effects, without verdicts. For real data, whose test rows all seeds share, it measures
// the luck of these rows, which takes seconds, and then drops the predictions.
func (r *dataSetResult) compare(ctx context.Context, p *plan) error {
	r.Effects = nil
	add := func(name string, treated, reference *variantResult) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c := judge.Pair(r.DataSet, treated.Variant.String(), reference.Variant.String(), p.Seed,
			judge.Quality{AUC: treated.AUC, LogLoss: treated.LogLoss},
			judge.Quality{AUC: reference.AUC, LogLoss: reference.LogLoss})
		if treated.probabilities != nil {
			c.RowDeviation = metric.AUCRowDeviation(treated.probabilities, reference.probabilities, r.labels,
				p.Resamples, p.Seed)
		}
		r.Effects = append(r.Effects, effect{name, treated.Variant.Tau, c})
		return nil
	}
	if err := add(mergingEffect, r.Variants[syncRank], r.Variants[syncStep]); err != nil {
		return err
	}
	for _, hybrid := range r.Variants[firstHybrid:] {
		if err := add(stalenessEffect, hybrid, r.Variants[syncRank]); err != nil {
			return err
		}
	}
	for _, v := range r.Variants {
		v.probabilities = nil
	}
	return nil
}

// comparisons returns the comparisons of all effects, judged.
func comparisons(results []*dataSetResult) []*judge.Comparison {
	var list []*judge.Comparison
	for _, r := range results {
		for _, e := range r.Effects {
			list = append(list, e.Comparison)
		}
	}
	judge.Judge(list)
	return list
}
