package nn

import (
	"math"
	"math/rand/v2"
	"testing"

	"tandem/algo/numeric/kernel/internal/kerneltest"
	"tandem/algo/numeric/kernel/vec"
)

func TestBatchNormOfTwoRows(t *testing.T) {
	// Column 0 holds 1 and 5: mean 3, biased variance 4, unbiased 8. With
	// epsilon 0 the normalized values are −1 and 1; gamma 10, beta 2 give −8 and
	// 12. Column 1 is constant 7: with epsilon 4 it would be 0 all the same.
	x := []float32{1, 7, 5, 7}
	gamma, beta := []float32{10, 3}, []float32{2, -1}
	out, normalized := make([]float32, 4), make([]float32, 4)
	mean, variance, inverse := make([]float32, 2), make([]float32, 2), make([]float32, 2)
	BatchNormTrain(out, normalized, x, 2, 2, gamma, beta, 1e-20, mean, variance, inverse)
	kerneltest.WantSlice(t, "out", out, []float32{-8, -1, 12, -1})
	kerneltest.WantSlice(t, "mean", mean, []float32{3, 7})
	kerneltest.WantSlice(t, "variance", variance, []float32{8, 0})
	if inverse[0] != 0.5 {
		t.Errorf("inverse = %v, want 0.5", inverse[0])
	}

	BatchNormEval(out, x, 2, 2, gamma, beta, 0, []float32{1, 7}, []float32{16, 4})
	// (5 − 1)/4 = 1, so 10·1 + 2 = 12 below and 2 above.
	kerneltest.WantSlice(t, "evaluation", out, []float32{2, -1, 12, -1})
}

func TestBatchNormOfOneAndNoRow(t *testing.T) {
	one, mean, variance, inverse := []float32{5}, []float32{9}, []float32{9}, []float32{9}
	out, normalized := []float32{9}, []float32{9}
	BatchNormTrain(out, normalized, one, 1, 1, []float32{3}, []float32{2}, 1e-5, mean, variance, inverse)
	kerneltest.WantSlice(t, "out of one row", out, []float32{2})
	kerneltest.WantSlice(t, "variance of one row", variance, []float32{0})
	grad, gradGamma, gradBeta := []float32{4}, []float32{9}, []float32{9}
	BatchNormBackward(grad, normalized, 1, 1, []float32{3}, inverse, gradGamma, gradBeta)
	kerneltest.WantSlice(t, "input gradient of one row", grad, []float32{0})
	kerneltest.WantSlice(t, "beta gradient of one row", gradBeta, []float32{4})

	BatchNormTrain(nil, nil, nil, 0, 1, []float32{3}, []float32{2}, 1e-5, mean, variance, inverse)
	BatchNormBackward(nil, nil, 0, 1, []float32{3}, inverse, gradGamma, gradBeta)
	kerneltest.WantSlice(t, "mean of no row", mean, []float32{0})
	kerneltest.WantSlice(t, "gradients of no row", []float32{gradGamma[0], gradBeta[0]}, []float32{0, 0})
	if !vec.Finite(inverse) {
		t.Errorf("inverse of no row is %v, want a finite number", inverse)
	}
}

func TestBatchNormBackwardMatchesFiniteDifferences(t *testing.T) {
	// The loss is Σ weights·out, taken in float64 by a second form of the formula.
	const rows, cols, epsilon, h = 7, 3, 1e-5, 1e-5
	r := rand.New(rand.NewPCG(1, 1))
	x, weights := kerneltest.Random(r, rows*cols), kerneltest.Random(r, rows*cols)
	gamma, beta := kerneltest.Random(r, cols), kerneltest.Random(r, cols)
	loss := func(x []float64) float64 {
		total := 0.0
		for j := range cols {
			var sum, squares float64
			for i := range rows {
				sum += x[i*cols+j]
				squares += x[i*cols+j] * x[i*cols+j]
			}
			mean := sum / rows
			std := math.Sqrt(squares/rows - mean*mean + epsilon)
			for i := range rows {
				out := float64(gamma[j])*(x[i*cols+j]-mean)/std + float64(beta[j])
				total += float64(weights[i*cols+j]) * out
			}
		}
		return total
	}
	out, normalized := make([]float32, rows*cols), make([]float32, rows*cols)
	mean, variance, inverse := make([]float32, cols), make([]float32, cols), make([]float32, cols)
	BatchNormTrain(out, normalized, x, rows, cols, gamma, beta, epsilon, mean, variance, inverse)
	grad := append([]float32(nil), weights...)
	BatchNormBackward(grad, normalized, rows, cols, gamma, inverse, make([]float32, cols),
		make([]float32, cols))
	wide := make([]float64, len(x))
	for i, v := range x {
		wide[i] = float64(v)
	}
	for i := range wide {
		at := wide[i]
		wide[i] = at + h
		above := loss(wide)
		wide[i] = at - h
		below := loss(wide)
		wide[i] = at
		// Values of order 1: h² curvature and float32 results leave about 1e-6.
		if want := (above - below) / (2 * h); math.Abs(want-float64(grad[i])) > 1e-5 {
			t.Errorf("gradient %d is %v, want %v", i, grad[i], want)
		}
	}
}

func TestKernelsPanicWithBothSizes(t *testing.T) {
	x := make([]float32, 4)
	kerneltest.WantPanic(t, "loss", "kernel: len(labels) = 3, want 4",
		func() { CrossEntropy(nil, x, x[:3], x[:1]) })
	kerneltest.WantPanic(t, "norm", "kernel: len(matrix) = 4, want at least 6",
		func() { BatchNormEval(x, x, 3, 2, x, x, 1e-5, x, x) })
}
