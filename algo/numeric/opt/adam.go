package opt

import (
	"math"

	"tandem/algo/numeric/kernel/nn"
	"tandem/algo/numeric/kernel/vec"
)

// adam is Adam with bias correction; with t counted from 1,
//
//	m = β₁·m + (1−β₁)·g;    v = β₂·v + (1−β₂)·g²
//	w −= rate · (m/(1−β₁ᵗ)) / (√(v/(1−β₂ᵗ)) + epsilon)
//
// Dense parameters and rows share it.
//
// Source: Kingma, Ba, ICLR 2015, algorithm 1.
type adam struct {
	epsilon      float32
	beta1, beta2 float64
}

func newAdam(epsilon, beta1, beta2 float64) adam { return adam{float32(epsilon), beta1, beta2} }

// factors returns the factors and divisors of step t.
func (o adam) factors(rate float32, t float64) nn.AdamFactors {
	return nn.AdamFactors{
		Rate:    float32(float64(rate) / (1 - math.Pow(o.beta1, t))),
		Root:    float32(1 / math.Sqrt(1-math.Pow(o.beta2, t))),
		Epsilon: o.epsilon,
		Beta1:   float32(o.beta1), Beta2: float32(o.beta2),
		Rest1: float32(1 - o.beta1), Rest2: float32(1 - o.beta2),
	}
}

// rowAdam counts the steps of every row separately. The state holds the mean of dim
// values, their mean squares, and t.
//
// T is exact up to 2²⁴ and stays there: both corrections are 1 by then for decays
// below 0.999998.
//
// Deviation from Persia, whose t counts the gradients of all rows together and
// is one too high from the first.
type rowAdam struct{ adam }

func (rowAdam) StateSize(dim int) int { return 2*dim + 1 }
func (rowAdam) Init(state []float32)  { clear(state) }

func (o rowAdam) update(embedding, state, grad []float32, rate float32, bound weightBound) bool {
	if !vec.Finite(grad) {
		return false
	}
	dim := len(embedding)
	t := &state[2*dim]
	*t++
	nn.Adam(embedding, state[:dim], state[dim:2*dim], grad, o.factors(rate, float64(*t)))
	bound.clamp(embedding)
	return true
}
