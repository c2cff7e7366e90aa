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

// effect is the difference of two variants: treated − reference.
type effect struct {
	Name      string `json:"effect"`
	Tau       *int   `json:"tau,omitempty"` // for the staleness effect
	Treated   string `json:"treated"`
	Reference string `json:"reference"`
	// AUC and LogLoss (nats) have intervals over seeds. Bootstrap is the AUC difference under the first seed,
	// with an interval over the test rows.
	AUC       metric.Interval `json:"auc"`
	Bootstrap metric.Interval `json:"auc_bootstrap_first_seed"`
	LogLoss   metric.Interval `json:"log_loss"`
	Verdict   string          `json:"verdict"`

	treated, reference *variantResult
}

// effects returns the pairs of variants, without numbers.
func (r *dataSetResult) effects() []effect {
	pair := func(name string, treated, reference *variantResult) effect {
		return effect{
			Name: name, Tau: treated.Variant.Tau,
			Treated: treated.Variant.String(), Reference: reference.Variant.String(),
			treated: treated, reference: reference,
		}
	}
	effects := []effect{pair(mergingEffect, r.Variants[syncRank], r.Variants[syncStep])}
	for _, hybrid := range r.Variants[firstHybrid:] {
		effects = append(effects, pair(stalenessEffect, hybrid, r.Variants[syncRank]))
	}
	return effects
}

// bootstrap creates the effects with their intervals over the test rows under the first seed, then drops the
// predictions. It checks ctx between effects, each of which takes a few seconds for a million rows.
func (r *dataSetResult) bootstrap(ctx context.Context, labels []float32, resamples int, seed uint64) error {
	r.Effects = r.effects()
	for i := range r.Effects {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		e := &r.Effects[i]
		e.Bootstrap = metric.AUCDifference(
			e.treated.probabilities, e.reference.probabilities, labels, resamples, seed)
	}
	for _, a := range r.Variants {
		a.probabilities = nil
	}
	return nil
}

// compare sets the intervals over seeds and the verdicts.
func (r *dataSetResult) compare() {
	for i := range r.Effects {
		e := &r.Effects[i]
		e.AUC = metric.MeanInterval(report.Differences(e.treated.AUC, e.reference.AUC))
		e.LogLoss = metric.MeanInterval(report.Differences(e.treated.LogLoss, e.reference.LogLoss))
		e.Verdict = metric.Explain(e.AUC, metric.EquivalenceMargin, r.TestRows)
	}
}
