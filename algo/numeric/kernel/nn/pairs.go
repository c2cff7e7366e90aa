package nn

import "tandem/algo/numeric/kernel/internal/shape"

// PairSum returns the sum of the products of all pairs of vectors v_0, v_1, …,
// which lie one behind the other in x:
//
//	Σ_{i<j} ⟨v_i, v_j⟩ = ½·Σ_f [(Σ_i v_if)² − Σ_i v_if²]
//
// and leaves Σ_i v_if in sums, which has the length of a vector and is what
// PairSumBackward needs; squares of the same length is scratch. All sums are
// in float64, because the difference in the bracket may be small beside its
// terms, and run in ascending i and f. It panics if x is not made of whole
// vectors or squares is too short. Cost: 3 operations a value.
//
// Source: Rendle, Factorization Machines, ICDM 2010, equation 5.
func PairSum(sums, squares []float64, x []float32) float64 {
	dim := len(sums)
	checkVectors(x, dim)
	shape.AtLeast("squares", len(squares), dim)
	squares = squares[:dim]
	clear(sums)
	clear(squares)
	if len(x) > 0 {
		active.moments(len(x)/dim, dim, dim, sums, squares, x)
	}
	twice := 0.0
	for f, sum := range sums {
		twice += float64(sum*sum) - squares[f]
	}
	return twice / 2
}

func moments(rows, cols, stride int, sum, squares []float64, x []float32) {
	sum, squares = sum[:cols], squares[:cols]
	for i := range rows {
		for f, v := range x[i*stride:][:cols] {
			sum[f] += float64(v)
			squares[f] += float64(float64(v) * float64(v))
		}
	}
}

// PairSumBackward adds to the gradient of the vectors in x, which gradX is, what
// flows back to them from factor, that of their PairSum:
//
//	gradX[i,f] += factor·(sums[f] − x[i,f])
//
// computed in float64 and rounded before the addition. It panics if x is not made
// of whole vectors or gradX differs in length.
func PairSumBackward(gradX, x []float32, sums []float64, factor float32) {
	dim := len(sums)
	checkVectors(x, dim)
	shape.Equal("gradX", len(gradX), len(x))
	if len(x) > 0 {
		active.pairSumBackward(len(x)/dim, dim, dim, gradX, x, sums, factor)
	}
}

func pairSumBackward(rows, cols, stride int, gradX, x []float32, sum []float64, factor float32) {
	sum = sum[:cols]
	for i := range rows {
		grad, values := gradX[i*stride:][:cols], x[i*stride:][:cols]
		for f, s := range sum {
			grad[f] += float32(float64(factor) * (s - float64(values[f])))
		}
	}
}

// checkVectors panics unless x is made of whole vectors.
func checkVectors(x []float32, dim int) {
	if dim == 0 {
		shape.Equal("x", len(x), 0)
	} else if rest := len(x) % dim; rest != 0 {
		shape.Equal("x", len(x), len(x)-rest)
	}
}
