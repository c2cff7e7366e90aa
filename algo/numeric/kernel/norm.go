package kernel

import "math"

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
func BatchNormTrain(out, normalized, x []float32, rows, cols int, gamma, beta []float32, epsilon float64, mean, variance, inverse []float32) {
	checkNorm(rows, cols, [][]float32{gamma, beta, mean, variance, inverse}, out, normalized, x)
	for lo := 0; lo < cols; lo += normStrip {
		strip := min(normStrip, cols-lo)
		var μs, squares, inverses [normStrip]float64
		columnSums64(μs[:strip], x, rows, cols, lo)
		for j := range strip {
			μs[j] /= float64(max(rows, 1))
		}
		deviations(squares[:strip], x, rows, cols, lo, μs[:strip])
		for j := range strip {
			variance[lo+j] = 0
			if rows > 1 {
				variance[lo+j] = float32(squares[j] / float64(rows-1))
			}
			inverses[j] = 1 / math.Sqrt(squares[j]/float64(max(rows, 1))+epsilon)
			mean[lo+j], inverse[lo+j] = float32(μs[j]), float32(inverses[j])
		}
		normalize(out, normalized, x, rows, cols, lo, μs[:strip], inverses[:strip], gamma, beta)
	}
}

// normStrip is the number of columns that batch norm works on at a time: their
// sums lie on the stack, and a row's part is long enough to stream.
const normStrip = 256

// columnSums64 adds rows of x, from column lo on, to sums.
func columnSums64(sums []float64, x []float32, rows, cols, lo int) {
	if vectors(rows) {
		columnSum64Vector(rows, len(sums), cols, &sums[0], &x[lo])
		return
	}
	for i := range rows {
		for j, v := range x[i*cols+lo:][:len(sums)] {
			sums[j] += float64(v)
		}
	}
}

// deviations adds the squared deviations of rows of x, from column lo on, from
// mean to sums.
func deviations(sums []float64, x []float32, rows, cols, lo int, mean []float64) {
	if vectors(rows) {
		deviationsVector(rows, len(sums), cols, &sums[0], &x[lo], &mean[0])
		return
	}
	for i := range rows {
		for j, v := range x[i*cols+lo:][:len(sums)] {
			d := float64(v) - mean[j]
			sums[j] += float64(d * d)
		}
	}
}

// normalize writes the last two lines of BatchNormTrain for the columns from lo on
// that mean and inverse belong to.
func normalize(out, normalized, x []float32, rows, cols, lo int, mean, inverse []float64, gamma, beta []float32) {
	if vectors(rows) {
		normalizeVector(rows, len(mean), cols, &out[lo], &normalized[lo], &x[lo], &mean[0], &inverse[0], &gamma[lo], &beta[lo])
		return
	}
	for i := range rows {
		for j, μ := range mean {
			at := i*cols + lo + j
			n := float32((float64(x[at]) - μ) * inverse[j])
			normalized[at] = n
			out[at] = float32(gamma[lo+j]*n) + beta[lo+j]
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
func BatchNormEval(out, x []float32, rows, cols int, gamma, beta []float32, epsilon float64, mean, variance []float32) {
	checkNorm(rows, cols, [][]float32{gamma, beta, mean, variance}, out, x)
	for lo := 0; lo < cols; lo += normStrip {
		strip := min(normStrip, cols-lo)
		var μs, inverses [normStrip]float64
		for j := range strip {
			μs[j], inverses[j] = float64(mean[lo+j]), 1/math.Sqrt(float64(variance[lo+j])+epsilon)
		}
		normalize(out, out, x, rows, cols, lo, μs[:strip], inverses[:strip], gamma, beta)
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
func BatchNormBackward(grad, normalized []float32, rows, cols int, gamma, inverse, gradGamma, gradBeta []float32) {
	checkNorm(rows, cols, [][]float32{gamma, inverse, gradGamma, gradBeta}, grad, normalized)
	for lo := 0; lo < cols; lo += normStrip {
		strip := min(normStrip, cols-lo)
		var sums, dots, scales [normStrip]float64
		normBackwardSums(sums[:strip], dots[:strip], grad, normalized, rows, cols, lo)
		for j := range strip {
			gradBeta[lo+j], gradGamma[lo+j] = float32(sums[j]), float32(dots[j])
			scales[j] = float64(gamma[lo+j]) * float64(inverse[lo+j])
			sums[j], dots[j] = sums[j]/float64(max(rows, 1)), dots[j]/float64(max(rows, 1))
		}
		normBackward(grad, normalized, rows, cols, lo, scales[:strip], sums[:strip], dots[:strip])
	}
}

// normBackwardSums adds Σ grad and Σ grad·normalized of the columns from lo on to
// sums and dots.
func normBackwardSums(sums, dots []float64, grad, normalized []float32, rows, cols, lo int) {
	if vectors(rows) {
		normBackwardSumsVector(rows, len(sums), cols, &sums[0], &dots[0], &grad[lo], &normalized[lo])
		return
	}
	for i := range rows {
		for j := range sums {
			g := float64(grad[i*cols+lo+j])
			sums[j] += g
			dots[j] += float64(g * float64(normalized[i*cols+lo+j]))
		}
	}
}

// normBackward writes the last line of BatchNormBackward for the columns from lo
// on; means and dots are gradBeta/n and gradGamma/n before rounding.
func normBackward(grad, normalized []float32, rows, cols, lo int, scales, means, dots []float64) {
	if vectors(rows) {
		normBackwardVector(rows, len(scales), cols, &grad[lo], &normalized[lo], &scales[0], &means[0], &dots[0])
		return
	}
	for i := range rows {
		for j, scale := range scales {
			at := i*cols + lo + j
			centred := float64(grad[at]) - means[j] - float64(float64(normalized[at])*dots[j])
			grad[at] = float32(scale * centred)
		}
	}
}

// checkNorm panics unless every column has its value in each of columns, and every
// matrix can hold rows×cols values.
func checkNorm(rows, cols int, columns [][]float32, matrices ...[]float32) {
	for _, c := range columns {
		checkLen("values of columns", len(c), cols)
	}
	for _, m := range matrices {
		checkLen("matrix", len(m), rows*cols)
	}
}
