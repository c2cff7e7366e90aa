package kernel

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
	checkLen("squares", len(squares), dim)
	squares = squares[:dim]
	clear(sums)
	clear(squares)
	if vectors(len(x)) {
		momentsVector(len(x)/dim, dim, dim, &sums[0], &squares[0], &x[0])
	} else {
		for ; len(x) > 0; x = x[dim:] {
			for f, v := range x[:dim] {
				sums[f] += float64(v)
				squares[f] += float64(float64(v) * float64(v))
			}
		}
	}
	twice := 0.0
	for f, sum := range sums {
		twice += float64(sum*sum) - squares[f]
	}
	return twice / 2
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
	checkSame("gradX", len(gradX), len(x))
	if vectors(len(x)) {
		pairSumBackwardVector(len(x)/dim, dim, dim, &gradX[0], &x[0], &sums[0], factor)
		return
	}
	for ; len(x) > 0; x, gradX = x[dim:], gradX[dim:] {
		for f, sum := range sums {
			gradX[f] += float32(float64(factor) * (sum - float64(x[f])))
		}
	}
}

// checkVectors panics unless x is made of whole vectors.
func checkVectors(x []float32, dim int) {
	if dim == 0 {
		checkSame("x", len(x), 0)
	} else if rest := len(x) % dim; rest != 0 {
		checkSame("x", len(x), len(x)-rest)
	}
}
