package simvsreal

import (
	"math"
	"slices"

	"tandem/algo/job"
	"tandem/experiments/paired"
	"tandem/experiments/report"
)

// The budget of the error of a step time, as a share of it: budgetLeast or, if that is more, budgetSpreads
// times the spread of the real runs.
const (
	budgetLeast   = 0.10
	budgetSpreads = 2
)

// spreadMost is the largest spread for which staying within the budget is evidence.
const spreadMost = 0.25

func stepTime(r *paired.Run) float64 { return r.StepSeconds }

// errors returns the relative errors of the simulated step times by round.
func (m *modeResult) errors() []float64 {
	list := make([]float64, len(m.Real))
	for i := range list {
		list[i] = m.Simulated[i].StepSeconds/m.Real[i].StepSeconds - 1
	}
	return list
}

// spread returns half the range of the real step times, as a share of their median.
func (m *modeResult) spread() float64 {
	times := paired.Values(m.Real, stepTime)
	return (slices.Max(times) - slices.Min(times)) / 2 / report.Median(times)
}

// error returns the median size of the errors. budget returns the largest allowed value.
func (m *modeResult) error() float64  { return report.Median(sizes(m.errors())) }
func (m *modeResult) budget() float64 { return max(budgetLeast, budgetSpreads*m.spread()) }

// overall returns the median size of the errors of all predicted modes, and their median budget.
func (r *results) overall() (err, budget float64) {
	var errors, budgets []float64
	for _, m := range r.Modes {
		if m.Mode != job.Sync {
			errors = append(errors, sizes(m.errors())...)
			budgets = append(budgets, m.budget())
		}
	}
	return report.Median(errors), report.Median(budgets)
}

func sizes(values []float64) []float64 {
	list := make([]float64, len(values))
	for i, v := range values {
		list[i] = math.Abs(v)
	}
	return list
}
