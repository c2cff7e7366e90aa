package kernel

import "math"

// CrossEntropy returns the binary cross-entropy of logits z against labels y,
// summed over the samples, and writes the gradient of that sum:
//
//	loss = Σ_i max(z,0) − z·y + log(1 + e^−|z|)
//	grad[i] = σ(z) − y
//
// The first line equals −y·log σ(z) − (1−y)·log(1−σ(z)), but neither overflows
// nor takes the logarithm of 0. Labels are in [0, 1]. All slices have equal
// length; grad may be logits or nil (then it is not written), and may not
// overlap otherwise. The sum runs in ascending i in float64.
//
// It panics if a length disagrees. A NaN logit gives a NaN loss and gradient.
// Cost: two exponentials and a logarithm a sample; no allocation.
func CrossEntropy(grad, logits, labels []float32) (lossSum float64) {
	checkSame("labels", len(labels), len(logits))
	if grad != nil {
		checkSame("grad", len(grad), len(logits))
	}
	for i, logit := range logits {
		z, y := float64(logit), float64(labels[i])
		lossSum += max(z, 0) - float64(z*y) + math.Log1p(math.Exp(-math.Abs(z)))
		if grad != nil {
			grad[i] = float32(sigmoid(z) - y)
		}
	}
	return lossSum
}
