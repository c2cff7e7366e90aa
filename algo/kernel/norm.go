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
	checkNorm(rows, cols, gamma, out, normalized, x)
	for j := range cols {
		μ, sumSquares := columnMoments(x, rows, cols, j)
		biased := 0.0
		variance[j] = 0
		if rows > 0 {
			biased = sumSquares / float64(rows)
		}
		if rows > 1 {
			variance[j] = float32(sumSquares / float64(rows-1))
		}
		inv := 1 / math.Sqrt(biased+epsilon)
		mean[j], inverse[j] = float32(μ), float32(inv)
		for i := range rows {
			n := float32((float64(x[i*cols+j]) - μ) * inv)
			normalized[i*cols+j] = n
			out[i*cols+j] = float32(gamma[j]*n) + beta[j]
		}
	}
}

// columnMoments returns the mean of column j and the sum of squared deviations
// from it, both 0 without rows.
func columnMoments(x []float32, rows, cols, j int) (mean, sumSquares float64) {
	if rows == 0 {
		return 0, 0
	}
	for i := range rows {
		mean += float64(x[i*cols+j])
	}
	mean /= float64(rows)
	for i := range rows {
		d := float64(x[i*cols+j]) - mean
		sumSquares += float64(d * d)
	}
	return mean, sumSquares
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
	checkNorm(rows, cols, gamma, out, x)
	for j := range cols {
		μ, inv := float64(mean[j]), 1/math.Sqrt(float64(variance[j])+epsilon)
		for i := range rows {
			n := float32((float64(x[i*cols+j]) - μ) * inv)
			out[i*cols+j] = float32(gamma[j]*n) + beta[j]
		}
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
	checkNorm(rows, cols, gamma, grad, normalized)
	for j := range cols {
		var sum, dot float64
		for i := range rows {
			g := float64(grad[i*cols+j])
			sum += g
			dot += float64(g * float64(normalized[i*cols+j]))
		}
		gradBeta[j], gradGamma[j] = float32(sum), float32(dot)
		if rows == 0 {
			continue
		}
		scale := float64(gamma[j]) * float64(inverse[j])
		sum, dot = sum/float64(rows), dot/float64(rows)
		for i := range rows {
			centred := float64(grad[i*cols+j]) - sum - float64(float64(normalized[i*cols+j])*dot)
			grad[i*cols+j] = float32(scale * centred)
		}
	}
}

// checkNorm panics unless every matrix can hold rows×cols values and gamma cols.
// The other per-column slices are checked by their indexing.
func checkNorm(rows, cols int, gamma []float32, matrices ...[]float32) {
	checkLen("gamma", len(gamma), cols)
	for _, m := range matrices {
		checkLen("matrix", len(m), rows*cols)
	}
}
