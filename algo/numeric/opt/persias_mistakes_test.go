package opt

import (
	"math"
	"slices"
	"testing"
)

// Persia keeps Adam's powers of beta1 and beta2 once for a feature group and not
// for each row, starts them one step ahead, and starts them again whenever an
// optimizer is registered, which every NN worker does. Here a row's first step is
// the whole rate, independent of other rows, and its count is part of
// its state, which outlives the optimizer.
func TestPersiasMistakeAdamsPowers(t *testing.T) {
	spec := DefaultRow()
	spec.Kind, spec.Rate, spec.Epsilon = Adam, 0.5, 1e-12
	o := mustRow(t, spec)
	fresh := func() (e, state []float32) {
		e, state = []float32{0}, make([]float32, o.StateSize(1))
		o.Init(state)
		return e, state
	}
	used, usedState := fresh()
	for range 100 {
		o.Apply(used, usedState, []float32{2}, o.Rate(0))
	}
	// With m = (1−β₁)·g and v = (1−β₂)·g² corrected by the first powers, the step is
	// rate·g/|g|. One power ahead it would be (1−β₁)/(1−β₁²)·√((1−β₂²)/(1−β₂)) =
	// 0.526·1.414 = 0.744 of it.
	e, state := fresh()
	o.Apply(e, state, []float32{2}, o.Rate(0))
	if math.Abs(float64(e[0])+0.5) > 1e-6 {
		t.Errorf("the first step of a row is %v, want −0.5", e[0])
	}
	registered := mustRow(t, spec)
	kept, keptState := slices.Clone(e), slices.Clone(state)
	o.Apply(e, state, []float32{-1}, o.Rate(1))
	registered.Apply(kept, keptState, []float32{-1}, registered.Rate(1))
	if !slices.Equal(e, kept) || !slices.Equal(state, keptState) {
		t.Errorf("registering the optimizer again changes a step from %v to %v", e, kept)
	}
}
