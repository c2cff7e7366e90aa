package metric

import (
	"fmt"
	"math"
)

// EquivalenceMargin is the AUC difference that this project calls negligible.
// Click-rate models are commonly compared to the third decimal of AUC.
const EquivalenceMargin = 0.001

// EquivalenceRows is how many test rows a claim of equivalence takes. The
// standard error of an AUC of 0.75 from n rows, half of them positive, is about
// 0.5/√n, 0.0005 for a million, and smaller for the difference of a pair; the
// margin is 0.001.
//
// Source: Hanley, McNeil, Radiology 143 (1982).
const EquivalenceRows = 1_000_000

// Verdict is the outcome of comparing two ways of training.
type Verdict uint8

const (
	// Inconclusive: the interval neither fits inside the margin nor excludes 0.
	// More rows or seeds are needed.
	Inconclusive Verdict = iota
	// Equivalent: the whole interval lies inside the margin.
	Equivalent
	// Different: the interval excludes 0, and is not inside the margin.
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

// Judge returns the verdict on the interval of a difference, for a margin that
// is usually EquivalenceMargin: equivalent if the interval lies strictly inside
// ±margin, otherwise different if it excludes 0, otherwise inconclusive. A
// difference that is certain but negligible is thus equivalent. An interval
// with NaN is inconclusive.
func Judge(difference Interval, margin float64) Verdict {
	switch {
	case difference.Low > -margin && difference.High < margin:
		return Equivalent
	case difference.Low > 0 || difference.High < 0:
		return Different
	}
	return Inconclusive
}

// Explain returns the verdict on a difference in words for a report. From
// EquivalenceRows test rows on it is Judge's. Fewer rows carry no claim of
// equivalence: an interval that excludes 0 is different, however small the
// difference, and no other shows anything.
func Explain(difference Interval, margin float64, testRows int) string {
	v := Judge(difference, margin)
	excludesZero := difference.Low > 0 || difference.High < 0
	switch {
	case testRows >= EquivalenceRows || math.IsNaN(difference.Low) || math.IsNaN(difference.High):
		return v.String()
	case excludesZero && v == Equivalent:
		return fmt.Sprintf("%v, by less than %g", Different, margin)
	case excludesZero:
		return Different.String()
	}
	return fmt.Sprintf("no difference found; %d test rows are too few to claim equivalence", testRows)
}
