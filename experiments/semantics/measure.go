package semantics

import (
	"context"
	"math"
	"slices"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/experiments/report"
	"tandem/experiments/trial"
	"tandem/experiments/tune"
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
	Nominal quality     `json:"nominal"`
	Tuned   quality     `json:"tuned"`
	// Gain is the AUC at the chosen rate less that at the nominal one.
	Gain metric.Interval `json:"gain"`
}

// quality is the quality on the test rows, by seed.
type quality struct {
	AUC     []float64 `json:"auc"`
	LogLoss []float64 `json:"log_loss"` // nats
}

// move is a pair of variants: Persia's setting and this project's.
type move struct {
	Optimizer string `json:"optimizer"`
	Ranks     int    `json:"ranks"`
	// Factor is the best rate of this project's setting ÷ the best rate of Persia's, over the seeds of
	// tuning.
	Factor metric.Interval `json:"factor"`
	// LostSame and LostTimesN are the AUC that this project's setting loses with Persia's best rate, and with
	// N times that, instead of its own best rate.
	LostSame    metric.Interval `json:"auc_lost_same_rate"`
	LostTimesN  metric.Interval `json:"auc_lost_n_times"`
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
			a.Gain = metric.MeanInterval(report.Differences(a.Tuned.AUC, a.Nominal.AUC))
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

// train returns the quality of a variant at a rate, under every seed.
func (p *plan) train(
	ctx context.Context, lab *trial.Lab, w report.DataSet, a variant, rate float64,
) (q quality, err error) {
	var specs []trial.Spec
	for i := range p.Seeds {
		j := p.job(w, a, p.Seed+uint64(i))
		j.Rows.Optimizer.Rate = rate
		specs = append(specs, trial.Spec{Job: j, Part: trial.Test, Name: w.Name + ", " + a.String()})
	}
	results, err := lab.Run(ctx, specs)
	for _, one := range results {
		q.AUC, q.LogLoss = append(q.AUC, one.AUC), append(q.LogLoss, one.LogLoss)
	}
	return q, err
}

// measureMoves adds the moves from Persia's setting to this project's.
func (p *plan) measureMoves(ctx context.Context, lab *trial.Lab, w report.DataSet, r *result) error {
	for _, persia := range r.Variants {
		if persia.Variant.Merge != job.MergeRank || persia.Variant.Scale != job.ScaleRank {
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
		for _, at := range []struct {
			lost  *metric.Interval
			times float64
		}{{&m.LostSame, 1}, {&m.LostTimesN, float64(our.Variant.Ranks)}} {
			there, err := p.train(ctx, lab, w, our.Variant, persia.Choice.Rows*at.times)
			if err != nil {
				return err
			}
			*at.lost = metric.MeanInterval(report.Differences(our.Tuned.AUC, there.AUC))
		}
		r.Moves = append(r.Moves, m)
	}
	return nil
}

// belowNominal returns the number of variants whose tuned AUC is more than a standard error below the nominal
// one, and the number of all.
func belowNominal(results []*result) (below, all int) {
	for _, r := range results {
		for _, a := range r.Variants {
			all++
			differences := report.Differences(a.Tuned.AUC, a.Nominal.AUC)
			sum, squares, n := 0.0, 0.0, float64(len(differences))
			for _, d := range differences {
				sum += d
				squares += d * d
			}
			mean := sum / n
			if mean < -math.Sqrt(max(squares/n-mean*mean, 0)/(n-1)) {
				below++
			}
		}
	}
	return below, all
}
