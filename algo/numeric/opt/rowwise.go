package opt

import "tandem/algo/numeric/isa"

// rowwiseAdagrad is Adagrad with one accumulator for the whole row, which grows
// by the mean of the squared gradients,
//
//	G += Σ_j g[j]² / dim
//
// and stands for every element's own, in both orders. Cost: 4 operations an
// element and one square root.
//
// Source: Persia's vectorwise_shared Adagrad and FBGEMM's EXACT_ROWWISE_ADAGRAD,
// which fix the mean.
type rowwiseAdagrad struct {
	adagrad
	set isa.Set
}

func (rowwiseAdagrad) StateSize(int) int      { return 1 }
func (o rowwiseAdagrad) Init(state []float32) { fill(state, o.initial) }

func (o rowwiseAdagrad) update(embedding, state, grad []float32, rate float32, bound weightBound) bool {
	mean := sumOfSquares(o.set, grad) / float32(len(grad))
	sum, divisor := state[0]+mean, float32(0)
	if o.order == Before {
		divisor = sqrt(state[0] + o.epsilon)
	} else {
		divisor = sqrt(sum) + o.epsilon
	}
	if !descendRow(o.set, embedding, grad, rate, divisor, bound) {
		return false
	}
	state[0] = sum
	return true
}

// squareLanes is how many sums sumOfSquares keeps at once, whatever the width of
// registers.
const squareLanes = 16

// sumOfSquares returns Σ x² with a fixed order of additions: value i goes to sum
// i mod 16, and of n sums each of the lower half takes the one n/2 above it, until
// there is one.
func sumOfSquares(set isa.Set, x []float32) float32 {
	switch set {
	case isa.AVX512:
		return squaresAVX512(&x[0], len(x))
	case isa.AVX2:
		return squaresAVX2(&x[0], len(x))
	}
	var sums [squareLanes]float32
	for i, v := range x {
		sums[i%squareLanes] += float32(v * v)
	}
	for n := squareLanes / 2; n > 0; n /= 2 {
		for i := range n {
			sums[i] += sums[i+n]
		}
	}
	return sums[0]
}
