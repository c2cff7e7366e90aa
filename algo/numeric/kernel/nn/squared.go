package nn

import "tandem/algo/numeric/kernel/internal/shape"

// SquaredError returns half the squared error of outputs z against labels y, weighted and summed, and writes
// the gradient of that sum:
//
//	loss = Σ_i w·(z − y)²/2
//	grad[i] = w·(z − y)
//
// Weights, lengths and aliasing are as in CrossEntropy, and labels are any numbers. The sum runs in ascending
// i in float64.
//
// It panics if a length disagrees. Cost: 3 operations an output, of the thousands that a network takes for
// one, so there is no faster form; no allocation.
func SquaredError(grad, outputs, labels, weights []float32) (lossSum float64) {
	shape.Equal("labels", len(labels), len(outputs))
	if grad != nil {
		shape.Equal("grad", len(grad), len(outputs))
	}
	for i, z := range outputs {
		w, off := float64(weights[i%len(weights)]), float64(z)-float64(labels[i])
		lossSum += float64(w * float64(off*off) / 2)
		if grad != nil {
			grad[i] = float32(w * off)
		}
	}
	return lossSum
}
