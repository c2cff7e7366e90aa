package metric

import "math"

// LossDifference returns the mean over rows of the log loss of predictions a less that of predictions b, in
// nats, and its standard error by the draw of the rows. With squared, it is of squared errors instead, in the
// unit of the labels squared. Rows count by their weights; nil counts all the same. Predictions, labels and
// weights are as long; the standard error of fewer than two rows is infinite.
func LossDifference(a, b, labels, weights []float32, squared bool) (mean, standardError float64) {
	loss := func(predicted, label float32) float64 {
		if squared {
			off := float64(predicted) - float64(label)
			return off * off
		}
		return LogLoss([]float32{predicted}, []float32{label})
	}
	total := 0.0
	differences := make([]float64, len(labels))
	weightOf := func(row int) float64 {
		if weights == nil {
			return 1
		}
		return float64(weights[row])
	}
	for row, label := range labels {
		differences[row] = loss(a[row], label) - loss(b[row], label)
		total += weightOf(row)
		mean += weightOf(row) * differences[row]
	}
	if len(labels) < 2 || !(total > 0) {
		return mean / total, math.Inf(1)
	}
	mean /= total
	squares := 0.0
	for row, d := range differences {
		off := weightOf(row) * (d - mean)
		squares += off * off
	}
	n := float64(len(labels))
	return mean, math.Sqrt(squares*n/(n-1)) / total
}
