package opt

import "math"

// adam is Adam with bias correction; with t counted from 1,
//
//	m = β₁·m + (1−β₁)·g;    v = β₂·v + (1−β₂)·g²
//	w −= rate · (m/(1−β₁ᵗ)) / (√(v/(1−β₂ᵗ)) + epsilon)
//
// It is shared by dense parameters and rows.
//
// Source: Kingma, Ba, ICLR 2015, algorithm 1.
type adam struct {
	epsilon      float32
	beta1, beta2 float64
}

func newAdam(epsilon, beta1, beta2 float64) adam { return adam{float32(epsilon), beta1, beta2} }

// step applies step t. Cost: two powers, and about 12 operations and a square
// root an element.
func (o adam) step(w, mean, square, grad []float32, rate float32, t float64) {
	beta1, beta2 := float32(o.beta1), float32(o.beta2)
	rest1, rest2 := float32(1-o.beta1), float32(1-o.beta2)
	correct1 := float32(1 - math.Pow(o.beta1, t))
	correct2 := float32(1 - math.Pow(o.beta2, t))
	for i, g := range grad {
		mean[i] = float32(beta1*mean[i]) + float32(rest1*g)
		square[i] = float32(beta2*square[i]) + float32(float32(rest2*g)*g)
		w[i] -= float32(rate*(mean[i]/correct1)) / (sqrt(square[i]/correct2) + o.epsilon)
	}
}

// rowAdam counts the steps of every row by itself. The state is the mean of
// dim values, their mean squares, and t.
//
// T is exact up to 2²⁴ and stays there: both corrections are 1 by then for decays
// below 0.999998.
//
// Deviation from Persia, whose t counts the gradients of all rows together and
// is one too high from the first.
type rowAdam struct{ adam }

func (rowAdam) StateSize(dim int) int { return 2*dim + 1 }
func (rowAdam) Init(state []float32)  { clear(state) }

func (o rowAdam) update(embedding, state, grad []float32, rate float32) {
	dim := len(embedding)
	t := &state[2*dim]
	*t++
	o.step(embedding, state[:dim], state[dim:2*dim], grad, rate, float64(*t))
}
