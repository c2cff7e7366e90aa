package opt

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func ftrlSpec(l1, l2 float64) RowSpec {
	return RowSpec{Kind: FTRL, Rate: 0.5, Beta: 1, L1: l1, L2: l2}
}

// McMahan and others 2013, algorithm 1, two steps by hand with α = 1/2, β = 1,
// λ₁ = 1, λ₂ = 2 from w = 0:
//
//	g = 3:  σ = 3/α = 6, z = 3 − 6·0 = 3, n = 9;   w = −(3 − 1)/((1+3)/α + 2) = −2/10 = −0.2
//	g = −4: σ = (5 − 3)/α = 4, z = 3 − 4 + 4·0.2 = −0.2, n = 25;  |z| ≤ λ₁, so w = 0
//	g = −12: σ = (13 − 5)/α = 16, z = −0.2 − 12 = −12.2, n = 169;  w = (12.2 − 1)/((1+13)/α + 2) = 11.2/30
func TestMcMahanAlgorithmOne(t *testing.T) {
	o := mustRow(t, ftrlSpec(1, 2))
	w, state := []float32{0}, make([]float32, o.StateSize(1))
	o.Init(state)
	for _, step := range []struct {
		g       float32
		w, z, n float64
	}{{3, -0.2, 3, 9}, {-4, 0, -0.2, 25}, {-12, 11.2 / 30, -12.2, 169}} {
		o.Apply(w, state, []float32{step.g}, o.Rate(0))
		near(t, "w", w[0], step.w)
		near(t, "z", state[0], step.z)
		near(t, "n", state[1], step.n)
	}
}

// McMahan and others 2013, section 3: without regularization, FTRL-proximal is
// gradient descent with the per-coordinate rate α/(β + √n), here from any start.
func TestMcMahanWithoutRegularizationIsAdaptiveDescent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o, err := NewRow(ftrlSpec(0, 0))
		if err != nil {
			t.Fatal(err)
		}
		w := []float32{rapid.Float32Range(-1, 1).Draw(t, "start")}
		want, n := float64(w[0]), 0.0
		state := make([]float32, 2)
		o.Init(state)
		for _, g := range rapid.SliceOfN(rapid.Float32Range(-2, 2), 1, 20).Draw(t, "gradients") {
			o.Apply(w, state, []float32{g}, o.Rate(0))
			n += float64(g) * float64(g)
			want -= 0.5 / (1 + math.Sqrt(n)) * float64(g)
			// Z holds w·(β+√n)/α, up to some 20·20, in single precision, and a step
			// rounds it a few times: 1e-4 in z is 5e-5 in w or less.
			if diff := math.Abs(float64(w[0]) - want); diff > 5e-5 {
				t.Fatalf("w = %v, want %v", w[0], want)
			}
		}
	})
}

// McMahan and others 2013, section 3.1: λ₁ gives zeros that are exactly 0. A
// value whose gradients hover around 0 stays there, one with a steady gradient
// leaves.
func TestMcMahanL1GivesExactZeros(t *testing.T) {
	o := mustRow(t, ftrlSpec(1, 0))
	w, state := make([]float32, 2), make([]float32, o.StateSize(2))
	o.Init(state)
	for step := range 8 {
		sign := float32(1 - 2*(step%2))
		o.Apply(w, state, []float32{0.5 * sign, 0.5}, o.Rate(0))
	}
	if w[0] != 0 || w[1] >= 0 {
		t.Errorf("w = %v, want 0 and a value below 0", w)
	}
}

// The paper starts at 0; a row with another initial value keeps it as its start. From w = 1 with α = 1/2, β =
// 1, λ = 0 by g = 3: 1 − 3·α/(1+3) = 0.625. Had z begun at 0, w would be 0.375.
func TestFTRLStepsFromTheInitialValueOfARow(t *testing.T) {
	o := mustRow(t, ftrlSpec(0, 0))
	w, state := []float32{1}, make([]float32, o.StateSize(1))
	o.Init(state)
	o.Apply(w, state, []float32{3}, o.Rate(0))
	near(t, "w", w[0], 0.625)
	// With λ₁ = 1 and λ₂ = 2, z starts at −(β/α + λ₂) − λ₁ = −5; σ = 6, z = −5 + 3 − 6 =
	// −8, and w = (8 − 1)/(4/α + 2) = 0.7.
	o = mustRow(t, ftrlSpec(1, 2))
	w[0] = 1
	o.Init(state)
	o.Apply(w, state, []float32{3}, o.Rate(0))
	near(t, "w with λ", w[0], 0.7)
}

// A gradient of 0 changes nothing, not even by rounding: solving z for the value
// and back need not give the same bits.
func TestFTRLWithoutGradientKeepsTheBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o, err := NewRow(ftrlSpec(0.3, 0.7))
		if err != nil {
			t.Fatal(err)
		}
		start := rapid.SliceOfN(rapid.Float32Range(-1, 1), 4, 4).Draw(t, "start")
		w, state := slices.Clone(start), make([]float32, o.StateSize(4))
		o.Init(state)
		o.Apply(w, state, make([]float32, 4), o.Rate(0))
		if !slices.Equal(w, start) {
			t.Fatalf("w = %v, want %v", w, start)
		}
	})
}
