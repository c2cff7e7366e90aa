package semantics

import (
	"context"
	"fmt"
	"slices"

	"tandem/algo/metric"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
)

// result holds the results of all trainings on one data set.
type result struct {
	DataSet  string           `json:"data"`
	Variants []*variantResult `json:"variants"` // by optimizer, in the order of plan.variants
	Moves    []*move          `json:"moves"`    // by optimizer and ranks
}

// variantResult holds the results of one variant.
type variantResult struct {
	Variant variant     `json:"variant"`
	Choice  tune.Choice `json:"choice"`
	// Nominal and Tuned are the quality at the nominal rate and at the chosen one.
	Nominal judge.Quality `json:"nominal"`
	Tuned   judge.Quality `json:"tuned"`

	arm tune.Arm
}

// move is a pair of variants: Persia's setting and this project's.
type move struct {
	Optimizer string `json:"optimizer"`
	Ranks     int    `json:"ranks"`
	// Factor is the best rate of this project's setting ÷ the best rate of Persia's, over the seeds of
	// tuning.
	Factor metric.Interval `json:"factor"`
	AtEdge bool            `json:"at_edge"` // of the grid: one of the two rates
	// Same and TimesN compare this project's setting at Persia's best rate, and at N times that, with its own
	// best rate.
	Same   *judge.Comparison `json:"at_persias_rate"`
	TimesN *judge.Comparison `json:"at_n_times_persias_rate"`
}

// comparisons returns the comparisons of all moves.
func comparisons(results []*result) (list []*judge.Comparison) {
	for _, r := range results {
		for _, m := range r.Moves {
			list = append(list, m.Same, m.TimesN)
		}
	}
	return list
}

// measure tunes every variant on every data set and trains it under every seed.
func (p *plan) measure(ctx context.Context, lab *trial.Lab) (results []*result, err error) {
	trainings := 0
	for _, o := range p.Optimizers {
		rates := p.rates(o)
		trainings += len(p.variants(o))*(rates.Trials()+2*p.Seeds) + (len(p.Ranks)-1)*2*p.Seeds
	}
	lab.Expect(trainings * len(p.DataSets))
	for _, w := range p.DataSets {
		r := &result{DataSet: w.Name}
		for _, o := range p.Optimizers {
			if err := p.measureOptimizer(ctx, lab, w, o, r); err != nil {
				return nil, err
			}
		}
		results = append(results, r)
	}
	judge.Judge(comparisons(results))
	return results, nil
}

// measureOptimizer tunes and trains the variants of an optimizer, and adds them and the moves to a result.
func (p *plan) measureOptimizer(
	ctx context.Context, lab *trial.Lab, w report.DataSet, o optimizer, r *result,
) error {
	var arms []tune.Arm
	for _, v := range p.variants(o) {
		arms = append(arms, p.arm(w, v, o.Rate))
	}
	choices, err := tune.Tune(ctx, lab, arms, p.rates(o))
	if err != nil {
		return err
	}
	for i, v := range p.variants(o) {
		one := &variantResult{Variant: v, Choice: choices[i], arm: arms[i]}
		if one.Nominal, err = p.train(ctx, lab, &one.arm, o.Rate); err != nil {
			return err
		}
		if one.Tuned, err = p.train(ctx, lab, &one.arm, one.Choice.Rows); err != nil {
			return err
		}
		r.Variants = append(r.Variants, one)
	}
	for _, ranks := range p.Ranks {
		if ranks == 1 {
			continue
		}
		ours, theirs := r.find(our(o.Kind, ranks)), r.find(persia(o.Kind, ranks))
		m := &move{
			Optimizer: o.Kind, Ranks: ranks, Factor: tune.RowRatio(ours.Choice, theirs.Choice),
			AtEdge: ours.Choice.AtEdge || theirs.Choice.AtEdge,
		}
		if m.Same, err = p.compare(ctx, lab, w, ours, theirs.Choice.Rows, 1); err != nil {
			return err
		}
		if m.TimesN, err = p.compare(ctx, lab, w, ours, theirs.Choice.Rows, ranks); err != nil {
			return err
		}
		r.Moves = append(r.Moves, m)
	}
	return nil
}

// find returns the results of a variant.
func (r *result) find(want variant) *variantResult {
	return r.Variants[slices.IndexFunc(r.Variants, func(v *variantResult) bool { return v.Variant == want })]
}

// specs returns the trainings of an arm at a rate of rows, by seed.
func (p *plan) specs(a *tune.Arm, rate float64) (specs []trial.Spec) {
	for i := range p.Seeds {
		j := a.JobAt(tune.Rates{Rows: rate, Dense: a.Nominal.Dense}, p.Seed+uint64(i))
		specs = append(specs, trial.Spec{Job: j, Part: trial.Test, Name: a.Name})
	}
	return specs
}

// train returns the quality of an arm at a rate of rows, under every seed.
func (p *plan) train(
	ctx context.Context, lab *trial.Lab, a *tune.Arm, rate float64,
) (q judge.Quality, err error) {
	results, err := lab.Run(ctx, p.specs(a, rate))
	q, _ = trial.Quality(results)
	return q, err
}

// compare compares this project's setting at a multiple of Persia's best rate with its own best rate.
func (p *plan) compare(
	ctx context.Context, lab *trial.Lab, w report.DataSet, ours *variantResult, persias float64, times int,
) (*judge.Comparison, error) {
	rate := persias * float64(times)
	there, err := p.train(ctx, lab, &ours.arm, rate)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%s, N = %d: ", ours.Variant.Optimizer, ours.Variant.Ranks)
	c := judge.Pair(w.Name, fmt.Sprintf("%sPersia's rate × %d", name, times), name+"own rate", p.Seed, there,
		ours.Tuned)
	c.RowDeviation, err = lab.RowDeviation(p.specs(&ours.arm, rate), p.specs(&ours.arm, ours.Choice.Rows))
	return c, err
}
