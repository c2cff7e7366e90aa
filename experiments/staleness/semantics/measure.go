package semantics

import (
	"context"
	"fmt"
	"slices"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
)

// result holds the results of all trainings on one data set.
type result struct {
	DataSet  string           `json:"data"`
	Variants []*variantResult `json:"variants"` // in the order of plan.variants
	Moves    []*move          `json:"moves"`    // by optimizer and ranks
}

// variantResult holds the results of one variant.
type variantResult struct {
	Variant variant     `json:"variant"`
	Choice  tune.Choice `json:"choice"`
	// Nominal and Tuned are the quality at the nominal rate and at the chosen one.
	Nominal judge.Quality `json:"nominal"`
	Tuned   judge.Quality `json:"tuned"`
}

// move is a pair of variants: Persia's setting and this project's.
type move struct {
	Optimizer string `json:"optimizer"`
	Ranks     int    `json:"ranks"`
	// Factor is the best rate of this project's setting ÷ the best rate of Persia's, over the seeds of
	// tuning.
	Factor metric.Interval `json:"factor"`
	// Same and TimesN compare this project's setting at Persia's best rate, and at N times that, with its own
	// best rate.
	Same        *judge.Comparison `json:"-"`
	TimesN      *judge.Comparison `json:"-"`
	persia, our *variantResult
}

// measure tunes every variant on every data set and trains it under every seed.
func (p *plan) measure(ctx context.Context, lab *trial.Lab) (results []*result, err error) {
	for _, w := range p.DataSets {
		r := &result{DataSet: w.Name}
		for _, o := range p.Optimizers {
			if err := p.tune(ctx, lab, w, o, r); err != nil {
				return nil, err
			}
		}
		for _, a := range r.Variants {
			if a.Nominal, err = p.train(ctx, lab, w, a.Variant, a.Variant.nominal); err != nil {
				return nil, err
			}
			if a.Tuned, err = p.train(ctx, lab, w, a.Variant, a.Choice.Rows); err != nil {
				return nil, err
			}
		}
		if err := p.measureMoves(ctx, lab, w, r); err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

// tune tunes the variants of an optimizer and adds them to a result.
func (p *plan) tune(ctx context.Context, lab *trial.Lab, w report.DataSet, o optimizer, r *result) error {
	var arms []tune.Arm
	for _, a := range p.variants() {
		if a.Optimizer == o.Kind {
			r.Variants = append(r.Variants, &variantResult{Variant: a})
			arms = append(arms, p.arm(w, a))
		}
	}
	choices, err := tune.Tune(ctx, lab, arms, p.rates(o))
	if err != nil {
		return err
	}
	for i, a := range r.Variants[len(r.Variants)-len(arms):] {
		a.Choice = choices[i]
	}
	return nil
}

// specs returns the trainings of a variant at a rate, by seed.
func (p *plan) specs(w report.DataSet, a variant, rate float64) (specs []trial.Spec) {
	for i := range p.Seeds {
		j := p.job(w, a, p.Seed+uint64(i))
		j.Rows.Optimizer.Rate = rate
		specs = append(specs, trial.Spec{Job: j, Part: trial.Test, Name: w.Name + ", " + a.String()})
	}
	return specs
}

// train returns the quality of a variant at a rate, under every seed.
func (p *plan) train(
	ctx context.Context, lab *trial.Lab, w report.DataSet, a variant, rate float64,
) (q judge.Quality, err error) {
	results, err := lab.Run(ctx, p.specs(w, a, rate))
	q, _ = trial.Quality(results)
	return q, err
}

// measureMoves adds the moves from Persia's setting to this project's.
func (p *plan) measureMoves(ctx context.Context, lab *trial.Lab, w report.DataSet, r *result) error {
	for _, persia := range r.Variants {
		if !persia.Variant.isPersia() {
			continue
		}
		our := r.Variants[slices.IndexFunc(r.Variants, func(b *variantResult) bool {
			return b.Variant.Optimizer == persia.Variant.Optimizer &&
				b.Variant.Ranks == persia.Variant.Ranks &&
				b.Variant.Merge == job.MergeStep && b.Variant.Scale == job.ScaleGlobal
		})]
		m := &move{
			Optimizer: our.Variant.Optimizer, Ranks: our.Variant.Ranks, persia: persia, our: our,
			Factor: tune.RowRatio(our.Choice, persia.Choice),
		}
		var err error
		if m.Same, err = p.compare(ctx, lab, w, m, 1); err != nil {
			return err
		}
		if m.TimesN, err = p.compare(ctx, lab, w, m, our.Variant.Ranks); err != nil {
			return err
		}
		r.Moves = append(r.Moves, m)
	}
	return nil
}

// compare compares this project's setting at a multiple of Persia's best rate with its own best rate.
func (p *plan) compare(
	ctx context.Context, lab *trial.Lab, w report.DataSet, m *move, times int,
) (*judge.Comparison, error) {
	rate := m.persia.Choice.Rows * float64(times)
	there, err := p.train(ctx, lab, w, m.our.Variant, rate)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%s, N = %d: ", m.Optimizer, m.Ranks)
	c := judge.Pair(w.Name, fmt.Sprintf("%sPersia's rate × %d", name, times), name+"own rate", p.Seed, there,
		m.our.Tuned)
	c.RowDeviation, err = lab.RowDeviation(p.specs(w, m.our.Variant, rate),
		p.specs(w, m.our.Variant, m.our.Choice.Rows))
	return c, err
}

// comparisons returns the comparisons of all moves, judged.
func comparisons(results []*result) (list []*judge.Comparison) {
	for _, r := range results {
		for _, m := range r.Moves {
			list = append(list, m.Same, m.TimesN)
		}
	}
	judge.Judge(list)
	return list
}

// belowNominal returns the number of variants whose tuned AUC is more than a standard error below the nominal
// one, and the number of all.
func belowNominal(results []*result) (below, all int) {
	for _, r := range results {
		for _, a := range r.Variants {
			all++
			differences := report.Differences(a.Tuned.AUC, a.Nominal.AUC)
			if metric.MeanInterval(differences).Estimate < -tune.StandardError(differences) {
				below++
			}
		}
	}
	return below, all
}
