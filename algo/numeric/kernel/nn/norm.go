package nn

import (
	"math"

	"tandem/algo/numeric/internal/stack"
	"tandem/algo/numeric/kernel/internal/shape"
)

// BatchNormTrain normalizes every column of a group by the group's own mean and
// variance:
//
//	μ_j = Σ_i x[i,j] / n             v_j = Σ_i (x[i,j] − μ_j)² / n
//	normalized[i,j] = (x[i,j] − μ_j) / √(v_j + epsilon)
//	out[i,j] = gamma[j]·normalized[i,j] + beta[j]
//
// Shapes: x, out and normalized are rows×cols with n = rows; all others have
// length cols. Out may be x; nothing else may overlap. It writes out and
// normalized, and per column mean μ_j, the unbiased variance n/(n−1)·v_j, which
// is the one to keep as a running statistic, and inverse = 1/√(v_j + epsilon),
// which BatchNormBackward needs. Sums run in ascending i in float64.
//
// With one row, v_j and variance are 0 and out is beta; with no row, mean and
// variance are 0 and nothing else is written but inverse.
//
// It panics if a slice is too short. Cost: about 8·rows·cols operations; no
// allocation.
//
// Source: Ioffe, Szegedy, ICML 2015, algorithm 1; the two variances as PyTorch's
// BatchNorm1d has them. Deviation: PyTorch refuses a single row.
func BatchNormTrain(out, normalized, x []float32, rows, cols int, gamma, beta []float32, epsilon float64,
	mean, variance, inverse []float32) {
	checkNorm(rows, cols, [][]float32{gamma, beta, mean, variance, inverse}, out, normalized, x)
	for lo := 0; lo < cols; lo += normStrip {
		strip := min(normStrip, cols-lo)
		var room [3][normStrip]float64
		μs, squares, inverses := stack.Slice(room[0][:strip]), stack.Slice(room[1][:strip]),
			stack.Slice(room[2][:strip])
		active.columnSum64(rows, strip, cols, μs, from(x, lo))
		for j := range strip {
			μs[j] /= float64(max(rows, 1))
		}
		active.deviations(rows, strip, cols, squares, from(x, lo), μs)
		for j := range strip {
			variance[lo+j] = 0
			if rows > 1 {
				variance[lo+j] = float32(squares[j] / float64(rows-1))
			}
			inverses[j] = 1 / math.Sqrt(squares[j]/float64(max(rows, 1))+epsilon)
			mean[lo+j], inverse[lo+j] = float32(μs[j]), float32(inverses[j])
		}
		active.normalize(rows, strip, cols, from(out, lo), from(normalized, lo), from(x, lo), μs, inverses,
			gamma[lo:], beta[lo:])
	}
}

// normStrip is the number of columns that batch norm works on at a time: their
// sums lie on the stack, and a row's part is long enough to stream.
const normStrip = 256

// from returns a matrix from column lo of its first row on; a matrix without rows has
// no column.
func from(matrix []float32, lo int) []float32 { return matrix[min(lo, len(matrix)):] }

func columnSum64(rows, cols, stride int, sum []float64, x []float32) {
	sum = sum[:cols]
	for i := range rows {
		for j, v := range x[i*stride:][:cols] {
			sum[j] += float64(v)
		}
	}
}

func deviations(rows, cols, stride int, sum []float64, x []float32, mean []float64) {
	sum, mean = sum[:cols], mean[:cols]
	for i := range rows {
		for j, v := range x[i*stride:][:cols] {
			d := float64(v) - mean[j]
			sum[j] += float64(d * d)
		}
	}
}

func normalize(rows, cols, stride int, out, normalized, x []float32, mean, inverse []float64, gamma,
	beta []float32) {
	for i := range rows {
		for j, μ := range mean[:cols] {
			at := i*stride + j
			n := float32((float64(x[at]) - μ) * inverse[j])
			normalized[at] = n
			out[at] = float32(gamma[j]*n) + beta[j]
		}
	}
}

// BatchNormEval normalizes every column by given statistics:
//
//	out[i,j] = gamma[j]·(x[i,j] − mean[j]) / √(variance[j] + epsilon) + beta[j]
//
// Shapes as in BatchNormTrain; out may be x. A row's result depends on that row
// alone. It panics if a slice is too short. Cost: about 4·rows·cols operations.
//
// Source: Ioffe, Szegedy, ICML 2015, algorithm 2.
func BatchNormEval(out, x []float32, rows, cols int, gamma, beta []float32, epsilon float64, mean,
	variance []float32) {
	checkNorm(rows, cols, [][]float32{gamma, beta, mean, variance}, out, x)
	for lo := 0; lo < cols; lo += normStrip {
		strip := min(normStrip, cols-lo)
		var room [2][normStrip]float64
		μs, inverses := stack.Slice(room[0][:strip]), stack.Slice(room[1][:strip])
		for j := range strip {
			μs[j], inverses[j] = float64(mean[lo+j]), 1/math.Sqrt(float64(variance[lo+j])+epsilon)
		}
		active.normalize(rows, strip, cols, from(out, lo), from(out, lo), from(x, lo), μs, inverses,
			gamma[lo:], beta[lo:])
	}
}

// BatchNormBackward is the backward pass of BatchNormTrain. On entry grad is the
// gradient with respect to out, on return the one with respect to x:
//
//	gradBeta[j] = Σ_i grad[i,j]      gradGamma[j] = Σ_i grad[i,j]·normalized[i,j]
//	grad[i,j] = gamma[j]·inverse[j]·(grad[i,j] − gradBeta[j]/n − normalized[i,j]·gradGamma[j]/n)
//
// Shapes as in BatchNormTrain, whose normalized and inverse it takes. GradGamma
// and gradBeta have length cols and are overwritten, with 0 if rows = 0. Nothing
// may overlap. Sums run in ascending i in float64.
//
// It panics if a slice is too short. Cost: about 8·rows·cols operations; no
// allocation.
//
// Source: Ioffe, Szegedy, ICML 2015, section 3.
func BatchNormBackward(grad, normalized []float32, rows, cols int, gamma, inverse, gradGamma,
	gradBeta []float32) {
	checkNorm(rows, cols, [][]float32{gamma, inverse, gradGamma, gradBeta}, grad, normalized)
	for lo := 0; lo < cols; lo += normStrip {
		strip := min(normStrip, cols-lo)
		var room [3][normStrip]float64
		sums, dots, scales := stack.Slice(room[0][:strip]), stack.Slice(room[1][:strip]),
			stack.Slice(room[2][:strip])
		active.normBackwardSums(rows, strip, cols, sums, dots, from(grad, lo), from(normalized, lo))
		for j := range strip {
			gradBeta[lo+j], gradGamma[lo+j] = float32(sums[j]), float32(dots[j])
			scales[j] = float64(gamma[lo+j]) * float64(inverse[lo+j])
			sums[j], dots[j] = sums[j]/float64(max(rows, 1)), dots[j]/float64(max(rows, 1))
		}
		active.normBackward(rows, strip, cols, from(grad, lo), from(normalized, lo), scales, sums, dots)
	}
}

func normBackwardSums(rows, cols, stride int, sum, dot []float64, grad, normalized []float32) {
	sum, dot = sum[:cols], dot[:cols]
	for i := range rows {
		for j := range sum {
			g := float64(grad[i*stride+j])
			sum[j] += g
			dot[j] += float64(g * float64(normalized[i*stride+j]))
		}
	}
}

func normBackward(rows, cols, stride int, grad, normalized []float32, scale, sum, dot []float64) {
	for i := range rows {
		for j, factor := range scale[:cols] {
			at := i*stride + j
			centred := float64(grad[at]) - sum[j] - float64(float64(normalized[at])*dot[j])
			grad[at] = float32(factor * centred)
		}
	}
}

// checkNorm panics unless every column has its value in each of columns, and every
// matrix can hold rows×cols values.
func checkNorm(rows, cols int, columns [][]float32, matrices ...[]float32) {
	for _, c := range columns {
		shape.AtLeast("values of columns", len(c), cols)
	}
	for _, m := range matrices {
		shape.AtLeast("matrix", len(m), rows*cols)
	}
}
