package opt

import (
	"math"
	"slices"
	"testing"
)

// Kingma, Ba 2015, section 3: the corrections 1/(1−βᵗ) undo the bias towards the
// zero start. With a constant gradient m̂ = g and v̂ = g² hold at every t, so
// every step is rate·sign(g), for every size of g (section 2.1).
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

func rowAdamSpec() RowSpec {
	spec := DefaultRow()
	spec.Kind, spec.Rate, spec.WeightBound = Adam, 0.125, 0
	return spec
}

// Kingma, Ba 2015, algorithm 1, counts t from 1. Persia takes β² at the first
// step, whose length is then rate·√(1+β₂)/(1+β₁) = 0.744·rate.
func TestRowAdamCorrectsByTheFirstPowerAtTheFirstStep(t *testing.T) {
	o := mustRow(t, rowAdamSpec())
	e, state := []float32{0, 0}, make([]float32, o.StateSize(2))
	o.Init(state)
	o.Apply(e, state, []float32{3, -0.01}, o.Rate(0))
	near(t, "e[0]", e[0], -0.125)
	near(t, "e[1]", e[1], 0.125)
	near(t, "t", state[4], 1)
}

// A row's t counts its own gradients: a row has the bits of dense parameters that
// saw the same gradients, whenever they came.
func TestRowAdamIsDenseAdamOfTheRowsOwnSteps(t *testing.T) {
	spec := DefaultDense()
	spec.Rate, spec.Epsilon = rowAdamSpec().Rate, rowAdamSpec().Epsilon
	row, whole := mustRow(t, rowAdamSpec()), mustDense(t, spec)
	e, state := []float32{1, -2, 0.5}, make([]float32, row.StateSize(3))
	w, denseState := slices.Clone(e), make([]float32, whole.StateSize(3))
	row.Init(state)
	whole.Init(denseState)
	for step := range 5 {
		grad := []float32{float32(step) - 2, 0.25, -1}
		row.Apply(e, state, grad, row.Rate(0))
		whole.Step(w, denseState, grad, step)
	}
	if !slices.Equal(e, w) {
		t.Errorf("row %v, dense %v", e, w)
	}
}

// After 2²⁴ gradients t can no longer grow in float32. Both corrections are 1 by
// then, so a constant gradient still moves a value by the rate.
func TestRowAdamSurvivesTheLargestCount(t *testing.T) {
	o := mustRow(t, rowAdamSpec())
	e, state := []float32{0}, []float32{2, 4, 1 << 24} // m = g, v = g²
	o.Apply(e, state, []float32{2}, o.Rate(0))
	near(t, "e", e[0], -0.125)
	if state[2] != 1<<24 {
		t.Errorf("t = %v, want 2²⁴", state[2])
	}
}
