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
	if vectors(len(x)) {
		rectifyVector(1, len(x), 0, &x[0])
		return
	}
	for i, v := range x {
		if v <= 0 {
			x[i] = 0
		}
	}
}

// AddBiasReLU is AddBias followed by ReLU, in one pass.
func AddBiasReLU(x []float32, rows, cols int, bias []float32) {
	checkLen("x", len(x), rows*cols)
	checkLen("bias", len(bias), cols)
	if vectors(rows * cols) {
		addBiasRectifyVector(rows, cols, cols, &x[0], &bias[0])
		return
	}
	AddBias(x, rows, cols, bias)
	ReLU(x[:rows*cols])
}

// ReLUBackward turns the gradient with respect to the outputs of ReLU into the
// one with respect to its inputs, in place:
//
//	grad[i] = grad[i] if out[i] > 0, else 0
//
// Out is what ReLU left; the derivative at 0 is taken as 0. Where out is NaN the
// gradient passes. It panics if the lengths differ. Cost: len(out) comparisons.
func ReLUBackward(grad, out []float32) {
	checkSame("grad", len(grad), len(out))
	if vectors(len(grad)) {
		maskVector(1, len(grad), 0, &grad[0], &out[0])
		return
	}
	for i, v := range out {
		if v <= 0 {
			grad[i] = 0
		}
	}
}

// AddBiasReLUBackward is ReLUBackward followed by ColumnSums, in one pass: it
// masks grad, and writes the gradient of the bias to sums.
func AddBiasReLUBackward(sums, grad, out []float32, rows, cols int) {
	checkLen("grad", len(grad), rows*cols)
	checkLen("out", len(out), rows*cols)
	checkLen("sums", len(sums), cols)
	if vectors(rows * cols) {
		clear(sums[:cols])
		maskSumVector(rows, cols, cols, &grad[0], &out[0], &sums[0])
		return
	}
	ReLUBackward(grad[:rows*cols], out[:rows*cols])
	ColumnSums(sums, grad, rows, cols)
}

// Sigmoid returns 1 / (1 + e^−z), the probability of a logit, without overflow
// for any z. The exponential is taken in float64.
func Sigmoid(z float32) float32 {
	return float32(sigmoid(float64(z), math.Exp(-math.Abs(float64(z)))))
}

// sigmoid returns 1 / (1 + e^−z), given e^−|z|.
func sigmoid(z, e float64) float64 {
	if z >= 0 {
		return 1 / (1 + e)
	}
	return e / (1 + e)
}
