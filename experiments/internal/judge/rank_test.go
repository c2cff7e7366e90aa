package judge

import (
	"math"
	"slices"
	"testing"
)

// Spearman 1904 by hand: ranks (1, 2, 3, 4) and (2, 1, 4, 3) differ by 1 four times, so
// ρ = 1 − 6·4/(4·15) = 0.6.
func TestSpearman(t *testing.T) {
	for _, c := range []struct {
		x, y []float64
		want float64
	}{
		{[]float64{1, 2, 3, 4}, []float64{20, 10, 400, 30}, 0.6},
		{[]float64{1, 2, 3}, []float64{1, 8, 27}, 1},
		{[]float64{1, 2, 3}, []float64{9, 4, 1}, -1},
		{[]float64{1, 1, 1}, []float64{1, 2, 3}, 0},
		{[]float64{1, 1, 2, 2}, []float64{1, 1, 5, 5}, 1},
	} {
		if got := Spearman(c.x, c.y); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v and %v: %v, want %v", c.x, c.y, got, c.want)
		}
	}
	if got := ranks([]float64{3, 1, 3, 0}); !slices.Equal(got, []float64{3.5, 2, 3.5, 1}) {
		t.Errorf("ranks %v", got)
	}
}
