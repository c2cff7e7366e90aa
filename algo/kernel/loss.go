package kernel

import "math"

// CrossEntropy returns the binary cross-entropy of logits z against labels y,
// weighted and summed, and writes the gradient of that sum:
//
//	loss = Σ_i w·(max(z,0) − z·y + log(1 + e^−|z|))
//	grad[i] = w·(σ(z) − y)
//
// The bracket equals −y·log σ(z) − (1−y)·log(1−σ(z)), but neither overflows nor
// takes the logarithm of 0. Samples have as many logits and labels as there are
// weights, side by side: w is weights[i mod len(weights)]. Labels are in [0, 1].
// All slices but weights, which is not empty, have equal length; grad may be logits or nil (then it is not written), and may not
// overlap otherwise. The sum runs in ascending i in float64.
//
// It panics if a length disagrees. A NaN logit gives a NaN loss and gradient.
// Cost: an exponential and a logarithm a logit; no allocation.
func CrossEntropy(grad, logits, labels, weights []float32) (lossSum float64) {
	checkSame("labels", len(labels), len(logits))
	if grad != nil {
		checkSame("grad", len(grad), len(logits))
	}
	for i, logit := range logits {
		z, y, w := float64(logit), float64(labels[i]), float64(weights[i%len(weights)])
		e := math.Exp(-math.Abs(z))
		lossSum += float64(w * (max(z, 0) - float64(z*y) + math.Log1p(e)))
		if grad != nil {
			grad[i] = float32(w * (sigmoid(z, e) - y))
		}
	}
	return lossSum
}
