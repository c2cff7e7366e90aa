package nn

import (
	"math"

	"tandem/algo/numeric/kernel/internal/shape"
)

// ReLU applies the rectifier in place:
//
//	x[i] = max(x[i], 0)
//
// NaN stays NaN, so that a diverged network shows. Cost: len(x) comparisons.
//
// Source: Nair, Hinton, ICML 2010.
func ReLU(x []float32) { active.rectify(x) }

func rectify(x []float32) {
	for i, v := range x {
		if v <= 0 {
			x[i] = 0
		}
	}
}

// AddBiasReLU adds a bias to every row as vec.AddBias does, and applies ReLU, in one
// pass.
func AddBiasReLU(x []float32, rows, cols int, bias []float32) {
	shape.AtLeast("x", len(x), rows*cols)
	shape.AtLeast("bias", len(bias), cols)
	active.addBiasRectify(rows, cols, cols, x, bias)
}

func addBiasRectify(rows, cols, stride int, x, bias []float32) {
	bias = bias[:cols]
	for i := range rows {
		row := x[i*stride:][:cols]
		for j, b := range bias {
			row[j] += b
		}
		rectify(row)
	}
}

// ReLUBackward turns the gradient with respect to the outputs of ReLU into the
// gradient with respect to its inputs, in place:
//
//	grad[i] = grad[i] if out[i] > 0, else 0
//
// Out is the result of ReLU; the derivative at 0 is taken as 0. Where out is NaN the
// gradient passes. It panics if the lengths differ. Cost: len(out) comparisons.
func ReLUBackward(grad, out []float32) {
	shape.Equal("grad", len(grad), len(out))
	active.mask(grad, out)
}

func mask(grad, out []float32) {
	for i, v := range out {
		if v <= 0 {
			grad[i] = 0
		}
	}
}

// AddBiasReLUBackward is the backward pass of AddBiasReLU: it masks grad as
// ReLUBackward does, and writes its column sums, the gradient of the bias, to sums.
func AddBiasReLUBackward(sums, grad, out []float32, rows, cols int) {
	shape.AtLeast("grad", len(grad), rows*cols)
	shape.AtLeast("out", len(out), rows*cols)
	shape.AtLeast("sums", len(sums), cols)
	clear(sums[:cols])
	active.maskSum(rows, cols, cols, grad, out, sums)
}

func maskSum(rows, cols, stride int, grad, out, sum []float32) {
	sum = sum[:cols]
	for i := range rows {
		row := grad[i*stride:][:cols]
		mask(row, out[i*stride:][:cols])
		for j, g := range row {
			sum[j] += g
		}
	}
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
