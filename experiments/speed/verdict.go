package speed

import (
	"fmt"
	"slices"
)

// spread is what rounds have shown of one number.
type spread struct{ Median, Low, High float64 }

// spreadOf returns the median and the ends of values, of which there is one at
// least.
func spreadOf(values []float64) spread {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return spread{(sorted[(n-1)/2] + sorted[n/2]) / 2, sorted[0], sorted[n-1]}
}

// rates turns seconds a step into units of work a second.
func rates(seconds []float64, work float64) spread {
	of := make([]float64, len(seconds))
	for i, s := range seconds {
		of[i] = work / s
	}
	return spreadOf(of)
}

// ratio is by how much Tandem's rate exceeds PyTorch's, round by round, which
// leaves out what slows both.
func (r *result) ratio() spread { return ratio(r.PyTorch, r.Tandem) }

// ratio returns a/b, round by round.
func ratio(a, b []float64) spread {
	of := make([]float64, len(a))
	for i := range of {
		of[i] = a[i] / b[i]
	}
	return spreadOf(of)
}

// compared reports whether there are two sides.
func (r *result) compared() bool { return len(r.PyTorch) > 0 }

// verdict judges a share or a ratio by its target, 0 for none.
func verdict(reached, target float64) string {
	switch {
	case target == 0:
		return ""
	case reached >= target:
		return fmt.Sprintf("ok (≥ %s)", shortNumber(target))
	}
	return fmt.Sprintf("short of %s", shortNumber(target))
}

// verdictMost judges a value that should be at most its target.
func verdictMost(reached, target float64) string {
	if reached <= target {
		return fmt.Sprintf("ok (≤ %s)", shortNumber(target))
	}
	return fmt.Sprintf("above %s", shortNumber(target))
}

// limitShare is the part of the limit's rate that Tandem reaches.
func (r *result) limitShare() float64 { return ratio(r.Limit, r.Tandem).Median }

// targetShare is the target of limitShare, 0 for none.
func (r *result) targetShare() float64 {
	return map[string]float64{kindLookup: targetLookup, kindUpdate: targetUpdate}[r.Kind]
}

// judgesOverhead picks one of the cases that have the same rows.
func (r *result) judgesOverhead() bool { return r.Kind == kindLookup && r.Threads == 1 }

// percent writes a share.
func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// String writes a spread as median and range.
func (s spread) String() string {
	return fmt.Sprintf("%s (%s–%s)", threeDigits(s.Median), threeDigits(s.Low), threeDigits(s.High))
}

// threeDigits writes a number to three digits, or to its last whole one.
func threeDigits(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// shortNumber writes a number without zeros at its end.
func shortNumber(v float64) string { return fmt.Sprintf("%g", v) }
