// Package metric judges models: how well scores rank (AUC), how good they are
// as probabilities (log loss, calibration), and whether two trainings differ
// by more than chance (paired bootstrap, intervals over seeds, verdicts).
//
// Scores and labels come in pairs of slices of equal length, one entry per test
// row; a label above one half is positive. All sums run in float64 or in
// integers, in a fixed order, so that equal inputs give equal bits.
package metric

import "fmt"

// mustMatch panics unless two slices that run in parallel are equally long.
func mustMatch(name string, got, want int) {
	if got != want {
		panic(fmt.Sprintf("metric: len(%s) = %d, want %d", name, got, want))
	}
}

// positive tells whether a label is of the positive class.
func positive(label float32) bool { return label > 0.5 }
