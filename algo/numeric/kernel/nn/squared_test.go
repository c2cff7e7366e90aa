package nn

import (
	"slices"
	"testing"
)

// Outputs that differ from their labels by 1, −2 and 0.5, of two labels of weights 1 and 4.
func TestSquaredErrorMatchesItsDefinition(t *testing.T) {
	grad := make([]float32, 3)
	loss := SquaredError(grad, []float32{3, 1, 0}, []float32{2, 3, -0.5}, []float32{1, 4})
	if want := []float32{1, -8, 0.5}; loss != 0.5+8+0.125 || !slices.Equal(grad, want) {
		t.Errorf("loss %v, gradient %v; want 8.625, %v", loss, grad, want)
	}
	if alone := SquaredError(nil, []float32{3}, []float32{2}, []float32{2}); alone != 1 {
		t.Errorf("loss %v without a gradient, want 1", alone)
	}
}
