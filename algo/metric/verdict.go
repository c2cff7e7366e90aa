package metric

import (
	"fmt"
	"math"
)

// EquivalenceMargin is the largest AUC difference that counts as negligible. Click-rate models are commonly
// compared to the third decimal of AUC.
const EquivalenceMargin = 0.001

// EquivalenceRows is the least number of test rows for a claim of equivalence. The standard error of an AUC
// of 0.75 from n rows, half of them positive, is about 0.5/√n: 0.0005 for a million rows, and less for a
// paired difference. The margin is 0.001.
//
// Source: Hanley, McNeil, Radiology 143 (1982).
const EquivalenceRows = 1_000_000

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

// Explain returns the verdict on a difference as text for a report. With at least EquivalenceRows test
// rows, it is the verdict of Judge. Fewer rows do not support a claim of equivalence: an interval that
// excludes 0 is different, however small the difference, and for any other interval no difference was
// found.
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
