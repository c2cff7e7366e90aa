package opt

import (
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
