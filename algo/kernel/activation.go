package kernel

import "math"

// ReLU applies the rectifier in place:
//
//	x[i] = max(x[i], 0)
//
// NaN stays NaN, so that a diverged network shows. Cost: len(x) comparisons.
//
// Source: Nair, Hinton, ICML 2010.
func ReLU(x []float32) {
	for i, v := range x {
		if v <= 0 {
			x[i] = 0
		}
	}
}

// ReLUBackward turns the gradient with respect to the outputs of ReLU into the
// one with respect to its inputs, in place:
//
//	grad[i] = grad[i] if out[i] > 0, else 0
//
// Out is what ReLU left; the derivative at 0 is taken as 0. It panics if the
// lengths differ. Cost: len(out) comparisons.
func ReLUBackward(grad, out []float32) {
	checkSame("grad", len(grad), len(out))
	for i, v := range out {
		if v <= 0 {
			grad[i] = 0
		}
	}
}

// Sigmoid returns 1 / (1 + e^−z), the probability of a logit, without overflow
// for any z. The exponential is taken in float64.
func Sigmoid(z float32) float32 {
	return float32(sigmoid(float64(z)))
}

func sigmoid(z float64) float64 {
	if z >= 0 {
		return 1 / (1 + math.Exp(-z))
	}
	e := math.Exp(z)
	return e / (1 + e)
}
