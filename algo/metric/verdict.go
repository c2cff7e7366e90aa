package metric

import "fmt"

// EquivalenceMargin is the largest difference in AUC, or in R², that counts as negligible. Click-rate models
// are commonly compared to the third decimal of AUC; of R² it is a thousandth of the variance of the labels.
const EquivalenceMargin = 0.001

// Verdict is the outcome of comparing two ways of training.
type Verdict uint8

const (
	// Inconclusive: the interval is neither inside the margin nor excludes 0. More rows or seeds are needed.
	Inconclusive Verdict = iota
	// Equivalent: the whole interval is inside the margin.
	Equivalent
	// Different: the interval excludes 0 and is not inside the margin.
	Different
)

// String returns the verdict in lower case.
func (v Verdict) String() string {
	switch v {
	case Equivalent:
		return "equivalent"
	case Different:
		return "different"
	}
	return "inconclusive"
}

// MarshalText returns String. The error is always nil.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (v *Verdict) UnmarshalText(text []byte) error {
	for _, one := range []Verdict{Inconclusive, Equivalent, Different} {
		if string(text) == one.String() {
			*v = one
			return nil
		}
	}
	return fmt.Errorf("metric: unknown verdict %q", text)
}

// Judge returns the verdict on the interval of a difference: equivalent if the interval is strictly inside
// ±margin, otherwise different if it excludes 0, otherwise inconclusive. So a difference that is certain but
// negligible is equivalent. An interval with NaN is inconclusive. margin is usually EquivalenceMargin.
func Judge(difference Interval, margin float64) Verdict {
	switch {
	case difference.Low > -margin && difference.High < margin:
		return Equivalent
	case difference.Low > 0 || difference.High < 0:
		return Different
	}
	return Inconclusive
}
