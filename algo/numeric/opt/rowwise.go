package opt

// rowwiseAdagrad is Adagrad with one accumulator for the whole row, in both orders. The
// accumulator grows by the mean of the squared gradients:
//
//	G += Σ_j g[j]² / dim
//
// Cost: 4 operations an element and one square root.
//
// Source: Persia's vectorwise_shared Adagrad and FBGEMM's EXACT_ROWWISE_ADAGRAD,
// which fix the mean.
type rowwiseAdagrad struct {
	adagrad
	kernel func(*batch) // nil: in Go
}

func (rowwiseAdagrad) StateSize(int) int      { return 1 }
func (o rowwiseAdagrad) Init(state []float32) { fill(state, o.initial) }

func (o rowwiseAdagrad) update(embedding, state, grad []float32, rate float32, bound weightBound) bool {
	if o.kernel != nil {
		return updateOne(o.kernel, embedding, state, grad, rate, o.epsilon, bound)
	}
	mean := sumOfSquares(grad) / float32(len(grad))
	sum, divisor := state[0]+mean, float32(0)
	if o.order == Before {
		divisor = sqrt(state[0] + o.epsilon)
	} else {
		divisor = sqrt(sum) + o.epsilon
	}
	if !descendRow(nil, embedding, grad, rate, divisor, bound) {
		return false
	}
	state[0] = sum
	return true
}

func (o rowwiseAdagrad) hasKernel() bool { return o.kernel != nil }

func (o rowwiseAdagrad) updateBatch(b *Batch, bound weightBound) {
	updateAll(o.kernel, b, o.epsilon, bound)
}

// squareLanes is the number of sums that sumOfSquares keeps, for every width of
// registers.
const squareLanes = 16

// sumOfSquares returns Σ x² in a fixed order of additions: value i is added to sum
// i mod 16; then each of the lower half of the sums adds the sum n/2 above it, until one
// sum is left.
func sumOfSquares(x []float32) float32 {
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
