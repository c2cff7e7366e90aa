package opt

import (
	"math"
	"testing"
)

// Kingma, Ba 2015, section 3: the corrections 1/(1−βᵗ) undo the bias towards the
// zero start. With a constant gradient m̂ = g and v̂ = g² hold at every t, so
// every step is rate·sign(g), whatever the size of g (section 2.1).
func TestKingmaBaCorrectionMakesEveryStepOfAConstantGradientTheRate(t *testing.T) {
	spec := DefaultDense()
	spec.Rate = 0.125
	o := mustDense(t, spec)
	w, state := []float32{0, 0}, make([]float32, o.StateSize(2))
	o.Init(state)
	for step := range 4 {
		o.Step(w, state, []float32{0.5, -200}, step)
		near(t, "w[0]", w[0], -0.125*float64(step+1))
		near(t, "w[1]", w[1], 0.125*float64(step+1))
	}
}

// Kingma, Ba 2015, algorithm 1, two steps by hand with β₁ = 1/2, β₂ = 3/4 and
// g = 2, then −1:
//
//	t = 1: m = 1, v = 1;  m̂ = 1/(1/2) = 2, v̂ = 1/(1/4) = 4;  step 2/2 = 1
//	t = 2: m = 1/2 − 1/2 = 0, so the step is 0;  v = 3/4 + 1/4 = 1
//	t = 3, g = 4: m = 2, v = 3/4 + 4 = 19/4;  m̂ = 2/(7/8), v̂ = (19/4)/(37/64)
func TestKingmaBaAlgorithmOne(t *testing.T) {
	o := mustDense(t, DenseSpec{Kind: Adam, Rate: 1, Epsilon: 1e-30, Beta1: 0.5, Beta2: 0.75})
	w, state := []float32{0}, make([]float32, 2)
	o.Init(state)
	o.Step(w, state, []float32{2}, 0)
	near(t, "w₁", w[0], -1)
	o.Step(w, state, []float32{-1}, 1)
	near(t, "w₂", w[0], -1)
	near(t, "v₂", state[1], 1)
	o.Step(w, state, []float32{4}, 2)
	// The step is (16/7) / √(304/37).
	near(t, "w₃", w[0], -1-16.0/7/math.Sqrt(304.0/37))
}
