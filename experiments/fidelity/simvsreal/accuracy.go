package simvsreal

import (
	"math"
	"slices"

	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
)

// The budget of the error of a step time, as a share of it: budgetLeast or, if that is more, budgetSpreads
// times the spread of the real runs.
const (
	budgetLeast   = 0.10
	budgetSpreads = 2
)

// spreadMost is the largest spread for which staying within the budget is evidence.
const spreadMost = 0.25

// What a prediction must do better than its null model: an error of at most this share of the null model's,
// and at least this rank correlation of the step times by mode.
const (
	nullShare = 0.5
	rankLeast = 0.95
)

func stepTime(r *run) float64 { return r.StepSeconds }

// median returns the median of a quantity of runs.
func median(runs []*run, quantity func(r *run) float64) float64 {
	return report.Median(values(runs, quantity))
}

// relative returns predicted ÷ real step times − 1, by round.
func relative(predicted, real []*run) []float64 {
	list := make([]float64, len(real))
	for i := range list {
		list[i] = predicted[i].StepSeconds/real[i].StepSeconds - 1
	}
	return list
}

// errors returns the relative errors of the simulated step times, and nullErrors those of the null model:
// every mode takes the real time of sync.
func (m *modeResult) errors() []float64 { return relative(m.Simulated, m.Real) }

func (m *modeResult) nullErrors(sync *modeResult) []float64 { return relative(sync.Real, m.Real) }

// spread returns half the range of the real step times, as a share of their median.
func (m *modeResult) spread() float64 {
	times := values(m.Real, stepTime)
	return (slices.Max(times) - slices.Min(times)) / 2 / report.Median(times)
}

// error returns the median size of the errors. budget returns the largest allowed value.
func (m *modeResult) error() float64  { return report.Median(sizes(m.errors())) }
func (m *modeResult) budget() float64 { return max(budgetLeast, budgetSpreads*m.spread()) }

// accuracy is how good the predictions of one or more settings are.
type accuracy struct {
	Error  float64 `json:"median_error"`
	Null   float64 `json:"null_median_error"`
	Budget float64 `json:"median_budget"`
	// Rank is the rank correlation between simulated and real step times, each divided by that of sync in its
	// setting: how settings differ is no merit of the prediction, because each is calibrated.
	Rank float64 `json:"rank_correlation"`
}

// accuracy returns the accuracy of all predicted modes. Error and Null are those of one round, or of all for
// −1; Budget and Rank are always those of all.
func (r results) accuracy(round int) accuracy {
	var errors, nulls, budgets, real, simulated []float64
	for _, s := range r {
		sync := s.sync()
		for _, m := range s.predicted() {
			e, null := sizes(m.errors()), sizes(m.nullErrors(sync))
			if round >= 0 {
				e, null = e[round:round+1], null[round:round+1]
			}
			errors, nulls = append(errors, e...), append(nulls, null...)
			budgets = append(budgets, m.budget())
			base := median(sync.Real, stepTime)
			real = append(real, median(m.Real, stepTime)/base)
			simulated = append(simulated, median(m.Simulated, stepTime)/base)
		}
	}
	return accuracy{
		Error: report.Median(errors), Null: report.Median(nulls), Budget: report.Median(budgets),
		Rank: judge.Spearman(real, simulated),
	}
}

func sizes(values []float64) []float64 {
	list := make([]float64, len(values))
	for i, v := range values {
		list[i] = math.Abs(v)
	}
	return list
}
