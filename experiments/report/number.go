package report

import (
	"fmt"
	"strconv"
	"strings"

	"tandem/algo/metric"
)

// Level writes the mean of values, one a seed, and half its 95 % interval, to 4
// decimals.
func Level(values []float64) string {
	v := metric.MeanInterval(values)
	return fmt.Sprintf("%.4f ± %.4f", v.Estimate, (v.High-v.Low)/2)
}

// PlusMinus writes the interval of a difference, to 5 decimals.
func PlusMinus(v metric.Interval) string {
	return fmt.Sprintf("%s ± %.5f", Signed(v.Estimate), (v.High-v.Low)/2)
}

// Signed writes a difference, to 5 decimals.
func Signed(v float64) string { return strings.Replace(fmt.Sprintf("%+.5f", v), "-", "−", 1) }

// Thousands writes a count with commas between groups of three digits.
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
