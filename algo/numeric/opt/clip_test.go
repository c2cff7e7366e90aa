package opt

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestClipNormScalesToTheBound(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, tt := range []struct {
		name string
		grad []float32
		most float64
		want []float32
	}{
		{"norm 5 to 2.5", []float32{3, -4}, 2.5, []float32{1.5, -2}},
		{"norm at the bound", []float32{3, -4}, 5, []float32{3, -4}},
		{"no bound", []float32{3, -4}, 0, []float32{3, -4}},
		{"zero", []float32{0, 0}, 1, []float32{0, 0}},
		{"infinite", []float32{inf, 1}, 1, []float32{inf, 1}},
		// The squares exceed float32, not float64.
		{"large", []float32{3 << 100, 4 << 100}, 5, []float32{3, 4}},
	} {
		clipNorm(tt.grad, tt.most)
		if !slices.Equal(tt.grad, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, tt.grad, tt.want)
		}
	}
}

// Pascanu, Mikolov, Bengio 2013, section 3.2: the direction stays, the length is
// bounded.
func TestClipNormKeepsTheDirection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		grad := rapid.SliceOfN(rapid.Float32Range(-9, 9), 1, 8).Draw(t, "gradient")
		most := rapid.Float64Range(0.01, 20).Draw(t, "bound")
		clipped := slices.Clone(grad)
		clipNorm(clipped, most)
		var before, after, dot float64
		for i, g := range grad {
			before += float64(g) * float64(g)
			after += float64(clipped[i]) * float64(clipped[i])
			dot += float64(g) * float64(clipped[i])
		}
		// Float32 rounding of every element: some 1e-7 of the norm.
		want := min(math.Sqrt(before), most)
		if math.Abs(math.Sqrt(after)-want) > 1e-6*want {
			t.Fatalf("norm %v, want %v", math.Sqrt(after), want)
		}
		if product := math.Sqrt(before * after); dot < product*(1-1e-6) {
			t.Fatalf("%v has another direction than %v", clipped, grad)
		}
	})
}

func TestStepClipsTheWholeGradient(t *testing.T) {
	o := mustDense(t, DenseSpec{Kind: SGD, Rate: 1, ClipNorm: 2.5})
	w := []float32{1, 1}
	o.Step(w, nil, []float32{3, -4}, 0)
	if want := []float32{-0.5, 3}; !slices.Equal(w, want) {
		t.Errorf("w = %v, want %v", w, want)
	}
}
