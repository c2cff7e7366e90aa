package speed

import (
	"fmt"
	"slices"

	"tandem/experiments/internal/report"
)

// spread is the median and range of a value over rounds.
type spread struct{ Median, Low, High float64 }

// spreadOf returns the spread of one or more values.
func spreadOf(values []float64) spread {
	return spread{report.Median(values), slices.Min(values), slices.Max(values)}
}

// ratio returns a ÷ b, by round.
func ratio(a, b []float64) spread {
	of := make([]float64, len(a))
	for i := range of {
		of[i] = a[i] / b[i]
	}
	return spreadOf(of)
}

// verdict compares a share or a ratio with its target; 0 is no target.
func verdict(reached, target float64) string {
	switch {
	case target == 0:
		return ""
	case reached >= target:
		return fmt.Sprintf("ok (≥ %s)", shortNumber(target))
	}
	return fmt.Sprintf("short of %s", shortNumber(target))
}

// verdictMost compares a value with a target that it should not exceed.
func verdictMost(reached, target float64) string {
	if reached <= target {
		return fmt.Sprintf("ok (≤ %s)", shortNumber(target))
	}
	return fmt.Sprintf("above %s", shortNumber(target))
}

// limitShare returns Tandem's rate ÷ the rate of the limit.
func (r *result) limitShare() float64 { return ratio(r.Limit, r.Tandem).Median }

// targetShare returns the target for limitShare, or 0 if there is none.
func (r *result) targetShare() float64 {
	return map[string]float64{kindLookup: targetLookup, kindUpdate: targetUpdate}[r.Kind]
}

// judgesOverhead reports whether the row overhead is judged by this case: one of those with the same rows.
func (r *result) judgesOverhead() bool {
	return r.Kind == kindLookup && r.Threads == 1 && r.Rows.Distribution == uniform
}

// percent returns a share in percent.
func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// String returns a spread as median and range.
func (s spread) String() string {
	return fmt.Sprintf("%s (%s–%s)", threeDigits(s.Median), threeDigits(s.Low), threeDigits(s.High))
}

// threeDigits returns a number with three significant digits, or rounded to a whole number.
func threeDigits(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// shortNumber returns a number without trailing zeros.
func shortNumber(v float64) string { return fmt.Sprintf("%g", v) }
