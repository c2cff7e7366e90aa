package staleness

import (
	"context"

	"tandem/algo/metric"
	"tandem/experiments/report"
)

// Names of the effects.
const (
	mergingEffect   = "merging"
	stalenessEffect = "staleness"
)

// effect is the difference of two variants, treated − reference.
type effect struct {
	Name      string `json:"effect"`
	Tau       *int   `json:"tau,omitempty"` // of the staleness effect
	Treated   string `json:"treated"`
	Reference string `json:"reference"`
	// AUC and LogLoss (nats) have intervals from seeds; Bootstrap is the AUC
	// difference under the first seed with an interval from its test rows.
	AUC       metric.Interval `json:"auc"`
	Bootstrap metric.Interval `json:"auc_bootstrap_first_seed"`
	LogLoss   metric.Interval `json:"log_loss"`
	Verdict   string          `json:"verdict"`

	treated, reference *variantResult
}

// effects pairs the variants; all numbers are still to be filled in.
func (r *dataSetResult) effects() []effect {
	pair := func(name string, treated, reference *variantResult) effect {
		return effect{
			Name: name, Tau: treated.Variant.Tau, Treated: treated.Variant.String(), Reference: reference.Variant.String(),
			treated: treated, reference: reference,
		}
	}
	effects := []effect{pair(mergingEffect, r.Variants[syncRank], r.Variants[syncStep])}
	for _, hybrid := range r.Variants[firstHybrid:] {
		effects = append(effects, pair(stalenessEffect, hybrid, r.Variants[syncRank]))
	}
	return effects
}

// bootstrap sets up the effects with their intervals from the test rows of the
// first seed, then lets go of the predictions. It looks at ctx between effects,
// each of which takes some seconds for a million rows.
func (r *dataSetResult) bootstrap(ctx context.Context, labels []float32, resamples int, seed uint64) error {
	r.Effects = r.effects()
	for i := range r.Effects {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		e := &r.Effects[i]
		e.Bootstrap = metric.AUCDifference(e.treated.probabilities, e.reference.probabilities, labels, resamples, seed)
	}
	for _, a := range r.Variants {
		a.probabilities = nil
	}
	return nil
}

// compare fills in the intervals from seeds and the verdicts.
func (r *dataSetResult) compare() {
	for i := range r.Effects {
		e := &r.Effects[i]
		e.AUC = metric.MeanInterval(report.Differences(e.treated.AUC, e.reference.AUC))
		e.LogLoss = metric.MeanInterval(report.Differences(e.treated.LogLoss, e.reference.LogLoss))
		e.Verdict = metric.Explain(e.AUC, metric.EquivalenceMargin, r.TestRows)
	}
}
