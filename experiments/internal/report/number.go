package report

import (
	"fmt"
	"math"
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

// Milli returns a difference in thousandths, with 1 decimal.
func Milli(v float64) string {
	text := fmt.Sprintf("%.1f", 1000*v)
	if text == "-0.0" {
		return "0.0"
	}
	return Minus(text)
}

// MilliInterval returns a difference in thousandths ± half its interval.
func MilliInterval(v metric.Interval) string {
	return fmt.Sprintf("%s±%.1f", Milli(v.Estimate), 500*(v.High-v.Low))
}

// Negated returns the interval of −v.
func Negated(v metric.Interval) metric.Interval {
	return metric.Interval{Estimate: 0 - v.Estimate, Low: 0 - v.High, High: 0 - v.Low}
}

// Mean returns the mean of values with 4 decimals.
func Mean(values []float64) string {
	return fmt.Sprintf("%.4f", metric.MeanInterval(values).Estimate)
}

// PlusMinus returns a difference ± half its interval, with 5 decimals.
func PlusMinus(v metric.Interval) string {
	return fmt.Sprintf("%s ± %.5f", signed(v.Estimate), (v.High-v.Low)/2)
}

// Minus returns the text of a number with a minus sign, which is as wide as a digit, instead of its first
// hyphen.
func Minus(number string) string { return strings.Replace(number, "-", "−", 1) }

// signed returns a difference with its sign and 5 decimals.
func signed(v float64) string { return Minus(fmt.Sprintf("%+.5f", v)) }

// Digits returns a number with n significant digits, without an exponent.
func Digits(v float64, n int) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', n-1, 64), 64)
	if err != nil {
		panic(err) // it was formatted here
	}
	return Minus(strconv.FormatFloat(rounded, 'f', -1, 64))
}

// Three returns a number from 0 on with three significant digits, zeros at the end included, and all digits
// before the point, as 0.00123, 1.20, 12.3 or 12345.
func Three(v float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 2, 64), 64)
	if err != nil {
		panic(err) // it was formatted here
	}
	if !(rounded > 0) {
		return "0"
	}
	return strconv.FormatFloat(v, 'f', max(0, 2-int(math.Floor(math.Log10(rounded)))), 64)
}

// Range returns the ends of an interval, each with three significant digits.
func Range(v metric.Interval) string { return Three(v.Low) + "–" + Three(v.High) }

// RatioText returns a ratio with its interval, for tables.
func RatioText(v metric.Interval) string {
	return fmt.Sprintf("%s (%s–%s)", Digits(v.Estimate, 2), Digits(v.Low, 2), Digits(v.High, 2))
}

// pValue returns a p-value with 3 decimals.
func pValue(p float64) string {
	if p < 0.001 {
		return "< 0.001"
	}
	return fmt.Sprintf("%.3f", p)
}

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
