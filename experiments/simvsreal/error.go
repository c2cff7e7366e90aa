package simvsreal

import (
	"math"
	"slices"

	"tandem/algo/job"
	"tandem/experiments/paired"
)

// budgetLeast is the error of a step time, as a part of it, that the design
// allows on the steadiest machine; budgetSpreads times the spread of real runs is
// allowed on any.
const (
	budgetLeast   = 0.10
	budgetSpreads = 2
)

// spreadMost is the spread from which on the budget is so wide that keeping it
// says nothing.
const spreadMost = 0.25

// of returns a quantity of runs.
func of(runs []*paired.Run, quantity func(r *paired.Run) float64) []float64 {
	values := make([]float64, len(runs))
	for i, r := range runs {
		values[i] = quantity(r)
	}
	return values
}

func stepTime(r *paired.Run) float64 { return r.StepSeconds }

// errors returns the relative errors of simulated step times, round by round.
func (m *modeResult) errors() []float64 {
	list := make([]float64, len(m.Real))
	for i := range list {
		list[i] = m.Simulated[i].StepSeconds/m.Real[i].StepSeconds - 1
	}
	return list
}

// spread is half the range of the real step times, as a part of their median.
func (m *modeResult) spread() float64 {
	times := of(m.Real, stepTime)
	return (slices.Max(times) - slices.Min(times)) / 2 / median(times)
}

// error is the median of the errors' sizes, budget what it may be.
func (m *modeResult) error() float64  { return median(sizes(m.errors())) }
func (m *modeResult) budget() float64 { return max(budgetLeast, budgetSpreads*m.spread()) }

// overall returns the median size of the errors of all modes that are predicted,
// and what it may be.
func (r *results) overall() (err, budget float64) {
	var errors, budgets []float64
	for _, m := range r.Modes {
		if m.Mode != job.Sync {
			errors = append(errors, sizes(m.errors())...)
			budgets = append(budgets, m.budget())
		}
	}
	return median(errors), median(budgets)
}

func sizes(values []float64) []float64 {
	list := make([]float64, len(values))
	for i, v := range values {
		list[i] = math.Abs(v)
	}
	return list
}

// median returns the middle of the values, or the mean of the two.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
