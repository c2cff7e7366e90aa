package opt

import (
	"slices"
	"testing"
)

// A spec answers for its optimizer: no state for SGD, one accumulator a parameter for
// Adagrad, two moments for Adam.
func TestStateSizeOfSpecIsThatOfItsOptimizer(t *testing.T) {
	for kind, want := range map[string]int{SGD: 0, Adagrad: 7, Adam: 14} {
		spec := DefaultDense()
		spec.Kind = kind
		o, err := NewDense(spec)
		if err != nil {
			t.Fatal(err)
		}
		if got := spec.StateSize(7); got != want || o.StateSize(7) != want {
			t.Errorf("%s: %d values of state by the spec, %d by the optimizer, want %d",
				kind, got, o.StateSize(7), want)
		}
	}
}

// A new row may take the memory of an evicted one: nothing of what that has learned stays.
func TestInitForgetsWhateverTheStateHeld(t *testing.T) {
	for _, spec := range rowSpecs() {
		o := mustRow(t, spec)
		fresh, used := make([]float32, o.StateSize(5)), make([]float32, o.StateSize(5))
		for i := range used {
			used[i] = 7
		}
		o.Init(fresh)
		o.Init(used)
		if !slices.Equal(fresh, used) {
			t.Errorf("%s: %v in fresh memory, %v in used memory", spec.Kind, fresh, used)
		}
	}
	for _, spec := range denseSpecs() {
		o := mustDense(t, spec)
		fresh, used := make([]float32, o.StateSize(5)), make([]float32, o.StateSize(5))
		for i := range used {
			used[i] = 7
		}
		o.Init(fresh)
		o.Init(used)
		if !slices.Equal(fresh, used) {
			t.Errorf("dense %s: %v in fresh memory, %v in used memory", spec.Kind, fresh, used)
		}
	}
}
