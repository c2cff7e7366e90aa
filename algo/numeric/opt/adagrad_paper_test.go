package opt

import (
	"math"
	"testing"
)

// near allows the float32 rounding of a handful of operations on values of
// order 1: 8 units in the last place.
func near(t *testing.T, what string, got float32, want float64) {
	t.Helper()
	if diff := math.Abs(float64(got) - want); !(diff <= 8.0/(1<<24)*max(1, math.Abs(want))) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func mustRow(t *testing.T, spec RowSpec) Row {
	t.Helper()
	o, err := NewRow(spec)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func mustDense(t *testing.T, spec DenseSpec) Dense {
	t.Helper()
	o, err := NewDense(spec)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// Duchi, Hazan, Singer 2011, section 1.1 and figure 1: x_{t+1} = x_t − η·g_t / √(Σ g²),
// the sum including g_t.
func TestDuchiDividesByTheRootOfAllSquaresSoFar(t *testing.T) {
	o := mustDense(t, DenseSpec{Kind: Adagrad, Rate: 0.5, Order: After, Epsilon: 1e-10})
	w, state := []float32{1}, make([]float32, o.StateSize(1))
	o.Init(state)
	// g = 3: G = 9, w = 1 − 0.5·3/3 = 0.5.
	o.Step(w, state, []float32{3}, 0)
	near(t, "w after g = 3", w[0], 0.5)
	// g = 4: G = 25, w = 0.5 − 0.5·4/5 = 0.1.
	o.Step(w, state, []float32{4}, 1)
	near(t, "w after g = 4", w[0], 0.1)
	near(t, "G", state[0], 25)
}

// Duchi, Hazan, Singer 2011, section 1: rarely seen features get the larger
// steps. With a gradient of 1 every step against every fourth, the accumulators
// are 8 and 2 after eight steps, so the last steps differ by √(8/2) = 2.
func TestDuchiGivesRareFeaturesLargerSteps(t *testing.T) {
	o := mustDense(t, DenseSpec{Kind: Adagrad, Rate: 1, Order: After, Epsilon: 1e-10})
	w, state := make([]float32, 2), make([]float32, 2)
	o.Init(state)
	var before [2]float32
	for step := range 8 {
		rare := float32(0)
		if step%4 == 3 {
			rare = 1
		}
		copy(before[:], w)
		o.Step(w, state, []float32{1, rare}, step)
	}
	frequentStep, rareStep := before[0]-w[0], before[1]-w[1]
	near(t, "ratio of steps", rareStep/frequentStep, 2)
}

// Persia's order: the divisor is the accumulator before this gradient.
func TestPersiaUsesTheAccumulatorBeforeAddingTheGradient(t *testing.T) {
	o := mustRow(t, DefaultRow())
	e, state := []float32{1}, make([]float32, o.StateSize(1))
	o.Init(state)
	near(t, "G₀", state[0], 0.01)
	// G₀ = 0.01: e = 1 − 0.01·3/√(0.01 + 1e-10) = 1 − 0.3 = 0.7, to 1.5e-9.
	o.Apply(e, state, []float32{3}, o.Rate(0))
	near(t, "e after the first gradient", e[0], 0.7)
	near(t, "G after the first gradient", state[0], 9.01)
	// G₁ = 9.01: e = 0.7 − 0.01·2/√9.01; then G₂ = 13.01.
	o.Apply(e, state, []float32{2}, o.Rate(0))
	near(t, "e after the second gradient", e[0], 0.7-0.02/math.Sqrt(9.01))
	near(t, "G after the second gradient", state[0], 13.01)
}

// Row-wise Adagrad keeps one accumulator a row and adds the mean square.
func TestRowwiseAdagradAddsTheMeanSquare(t *testing.T) {
	// g = (1, 7): mean square (1 + 49)/2 = 25.
	grad := []float32{1, 7}
	spec := RowSpec{Kind: RowwiseAdagrad, Rate: 0.5, Order: After, Epsilon: 1e-10}
	o := mustRow(t, spec)
	if got := o.StateSize(64); got != 1 {
		t.Errorf("state of a row of 64 is %d values, want 1", got)
	}
	e, state := []float32{1, 1}, make([]float32, 1)
	o.Init(state)
	o.Apply(e, state, grad, o.Rate(0)) // divisor √25 = 5: steps 0.1 and 0.7
	near(t, "e[0] after", e[0], 0.9)
	near(t, "e[1] after", e[1], 0.3)

	spec.Order, spec.InitialAccumulator = Before, 4
	o = mustRow(t, spec)
	e = []float32{1, 1}
	o.Init(state)
	o.Apply(e, state, grad, o.Rate(0)) // divisor √4 = 2: steps 0.25 and 1.75
	near(t, "e[0] before", e[0], 0.75)
	near(t, "e[1] before", e[1], -0.75)
	near(t, "G before", state[0], 29)
}

// Epsilon is inside the root in Persia's order, and outside in Duchi's, for rows that share an
// accumulator as for
// those that do not. With g = 3, rate 1 and epsilon 9: from G = 16 Persia divides by √(16 + 9) = 5,
// which is a step of
// 0.6; Duchi by √(16 + 3²) + 9 = 14.
func TestEpsilonIsInsideTheRootInPersiasOrderOnly(t *testing.T) {
	for _, kind := range []string{Adagrad, RowwiseAdagrad} {
		for order, want := range map[Order]float64{Before: 1 - 3.0/5, After: 1 - 3.0/14} {
			o := mustRow(t, RowSpec{Kind: kind, Rate: 1, Order: order, Epsilon: 9, InitialAccumulator: 16})
			e, state := []float32{1}, make([]float32, o.StateSize(1))
			o.Init(state)
			o.Apply(e, state, []float32{3}, o.Rate(0))
			near(t, kind+" "+string(order), e[0], want)
		}
	}
}
