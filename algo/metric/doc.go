// Package metric evaluates models and compares trainings:
//
//   - How well do scores rank? AUC, StreamingAUC
//   - How good are they as probabilities? LogLoss, Calibration, ExpectedCalibrationError
//   - How well and how good, where rows have weights or labels are shares? WeightedAUC, WeightedLogLoss
//   - How far is an AUC from that of all rows? AUCStandardError
//   - How near are predicted numbers? RMSE, RSquared
//   - Do two models differ by more than the luck of the test rows? AUCDifference, AUCRowDeviation,
//     WeightedAUCDifference, RSquaredDifference
//   - Do two ways of training differ by more than the luck of the seed? MeanInterval, Judge
//
// Scores and labels are slices of equal length with one element per test row; a label above one half is
// positive unless a function says that labels are shares. All sums run in float64 or in integers, in a fixed
// order, so that equal inputs give equal bits.
//
// AUC counts pairs in integers, so ties and the order of summation cannot change a result. The ROC of
// gonum/stat does not promise that. Student's t comes from gonum/mathext, because distuv, which wraps the
// same function, links LAPACK into cmd/train.
package metric

import "fmt"

// mustMatch panics unless two slices have equal length.
func mustMatch(name string, got, want int) {
	if got != want {
		panic(fmt.Sprintf("metric: len(%s) = %d, want %d", name, got, want))
	}
}

// positive reports whether a label is of the positive class.
func positive(label float32) bool { return label > 0.5 }
