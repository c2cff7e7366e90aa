package nn

import (
	"testing"

	"tandem/algo/numeric/isa"
	"tandem/algo/numeric/kernel/internal/kerneltest"
)

// use makes the package use a set of instructions.
func use(set isa.Set) { active = bySet[set] }

var cases = []kerneltest.Case{
	{Name: "relu", Run: func(draw func(n int) []float32, rows, cols int) [][]float32 {
		x := draw(rows * cols)
		ReLU(x)
		return [][]float32{x}
	}},
	{Name: "bias and relu", Run: func(draw func(n int) []float32, rows, cols int) [][]float32 {
		x := draw(rows*cols + 5)
		AddBiasReLU(x, rows, cols, draw(cols))
		return [][]float32{x}
	}},
	{Name: "relu backward", Run: func(draw func(n int) []float32, rows, cols int) [][]float32 {
		x := draw(rows * cols)
		ReLUBackward(x, draw(rows*cols))
		return [][]float32{x}
	}},
	{Name: "bias and relu backward", Run: func(draw func(n int) []float32, rows, cols int) [][]float32 {
		sums, x := draw(cols+5), draw(rows*cols+5)
		AddBiasReLUBackward(sums, x, draw(rows*cols), rows, cols)
		return [][]float32{sums, x}
	}},
	{Name: "gate", Run: func(draw func(n int) []float32, rows, cols int) [][]float32 {
		n := rows * cols
		out := draw(n)
		Gate(out, draw(n), draw(n), draw(n))
		return [][]float32{out}
	}},
	{Name: "gate backward", Run: func(draw func(n int) []float32, rows, cols int) [][]float32 {
		n := rows * cols
		x, y := draw(n), draw(n)
		GateBackward(x, y, x, draw(n), draw(n), draw(n)) // x and z in one value
		return [][]float32{x, y}
	}},
	{Name: "sgd", Run: func(draw func(n int) []float32, rows, cols int) [][]float32 {
		w, g := draw(rows*cols), draw(rows*cols)
		Descend(w, g, 0.1)
		return [][]float32{w}
	}},
	{Name: "adagrad after", Run: func(draw func(n int) []float32, rows, cols int) [][]float32 {
		n := rows * cols
		w, s := draw(n), draw(n)
		AdagradAfter(w, s, draw(n), 0.1, 1e-8)
		return [][]float32{w, s}
	}},
	{Name: "adagrad before", Run: func(draw func(n int) []float32, rows, cols int) [][]float32 {
		n := rows * cols
		w, s := draw(n), draw(n)
		AdagradBefore(w, s, draw(n), 0.1, 1e-8)
		return [][]float32{w, s}
	}},
	{Name: "adam", Run: func(draw func(n int) []float32, rows, cols int) [][]float32 {
		n := rows * cols
		w, m, s := draw(n), draw(n), draw(n)
		Adam(w, m, s, draw(n), AdamFactors{0.01, 3, 1e-8, 0.9, 0.999, 0.1, 0.001})
		return [][]float32{w, m, s}
	}},
	{Name: "batch norm", Run: func(draw func(n int) []float32, rows, cols int) [][]float32 {
		n := rows * cols
		out, normalized, grad := draw(n+5), draw(n+5), draw(n+5)
		gamma, beta := draw(cols), draw(cols)
		mean, variance, inverse := draw(cols+1), draw(cols+1), draw(cols+1)
		gradGamma, gradBeta := draw(cols+1), draw(cols+1)
		BatchNormTrain(out, normalized, draw(n), rows, cols, gamma, beta, 1e-5, mean, variance, inverse)
		BatchNormBackward(grad, normalized, rows, cols, gamma, inverse, gradGamma, gradBeta)
		eval := draw(n + 5)
		BatchNormEval(eval, draw(n), rows, cols, gamma, beta, 1e-5, mean, variance)
		return [][]float32{out, normalized, mean, variance, inverse, grad, gradGamma, gradBeta, eval}
	}},
	{Name: "cross-entropy", Run: func(draw func(n int) []float32, rows, cols int) [][]float32 {
		weights, grad := draw(cols%3+1), draw(rows*cols)
		loss := CrossEntropy(grad, draw(rows*cols), draw(rows*cols), weights)
		alone := CrossEntropy(nil, draw(rows*cols), draw(rows*cols), weights)
		return [][]float32{{float32(loss), float32(loss - float64(float32(loss))), float32(alone)}, grad}
	}},
	{Name: "cross-entropy of more weights than a block", Run: func(draw func(n int) []float32, rows,
		cols int) [][]float32 {
		weights, grad := draw(entropyBlock+9), draw(rows*cols)
		loss := CrossEntropy(grad, draw(rows*cols), draw(rows*cols), weights)
		return [][]float32{{float32(loss), float32(loss - float64(float32(loss)))}, grad}
	}},
	{Name: "pair sum", Run: func(draw func(n int) []float32, rows, cols int) [][]float32 {
		x, gradX := draw(rows*cols), draw(rows*cols)
		sums, squares := make([]float64, cols), make([]float64, cols)
		sum := PairSum(sums, squares, x)
		PairSumBackward(gradX, x, sums, draw(1)[0])
		return [][]float32{{float32(sum)}, gradX}
	}},
}

func TestLoopsHaveTheSameBitsOnEverySet(t *testing.T) { kerneltest.SameBitsOnEverySet(t, cases, use) }

func TestKernelsDoNotAllocate(t *testing.T) { kerneltest.NoAllocation(t, cases) }
