package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tandem/algo/metric"
)

// Level returns the mean of values, one per seed, ± half its 95 % interval, with 4 decimals.
func Level(values []float64) string {
	return Amount(metric.MeanInterval(values))
}

// Amount returns a value ± half its interval, with 4 decimals and without a plus sign.
func Amount(v metric.Interval) string {
	return fmt.Sprintf("%s ± %.4f", Minus(fmt.Sprintf("%.4f", v.Estimate)), (v.High-v.Low)/2)
}

// Negated returns the interval of −v.
func Negated(v metric.Interval) metric.Interval {
	return metric.Interval{Estimate: 0 - v.Estimate, Low: 0 - v.High, High: 0 - v.Low}
}

// PlusMinus returns a difference ± half its interval, with 5 decimals.
func PlusMinus(v metric.Interval) string {
	return fmt.Sprintf("%s ± %.5f", Signed(v.Estimate), (v.High-v.Low)/2)
}

// Minus returns the text of a number with a minus sign, which is as wide as a digit, instead of its first
// hyphen.
func Minus(number string) string { return strings.Replace(number, "-", "−", 1) }

// Signed returns a difference with its sign and 5 decimals.
func Signed(v float64) string { return Minus(fmt.Sprintf("%+.5f", v)) }

// Thousands returns a count with commas between groups of three digits.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Differences returns a − b, seed by seed.
func Differences(a, b []float64) []float64 {
	d := make([]float64, len(a))
	for i := range d {
		d[i] = a[i] - b[i]
	}
	return d
}

// Median returns the middle of one or more values, or the mean of the two middle ones.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// FewSeedsNote returns the note of a report with fewer than SeedsWanted seeds, and no note for more. unit is
// what is counted, such as "seeds", and claim is what needs more of them, such as "an interval".
func FewSeedsNote(n int, unit, claim string) []string {
	if n >= SeedsWanted {
		return nil
	}
	return []string{
		fmt.Sprintf("Only %d %s: run at least %d before trusting %s.", n, unit, SeedsWanted, claim),
	}
}
