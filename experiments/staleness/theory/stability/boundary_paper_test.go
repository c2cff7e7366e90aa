package stability_test

import (
	"math"
	"math/cmplx"
	"testing"

	"tandem/experiments/staleness/theory/stability"
)

// Levin and May 1976: below the limit, the recursion dies out; above, it grows. At the limit, its
// characteristic polynomial λ^{d+1} − λ^d + a has the root e^{iπ/(2d+1)} on the unit circle.
func TestLevinMayBoundary(t *testing.T) {
	for d, want := range map[int]float64{0: 2, 1: 1, 2: (math.Sqrt(5) - 1) / 2} {
		if got := stability.Boundary(d); math.Abs(got-want) > 1e-12 {
			t.Errorf("d = %d: boundary %v, want %v", d, got, want)
		}
	}
	for _, d := range []int{0, 1, 2, 5, 17, 63} {
		limit := stability.Boundary(d)
		root := cmplx.Exp(complex(0, math.Pi/float64(2*d+1)))
		rest := cmplx.Pow(root, complex(float64(d+1), 0)) - cmplx.Pow(root, complex(float64(d), 0)) +
			complex(limit, 0)
		if cmplx.Abs(rest) > 1e-12 {
			t.Errorf("d = %d: the polynomial is %v at the root", d, rest)
		}
		steps := 4000 * (d + 1)
		for _, share := range []float64{0.98, 1.02} {
			e := response(d, limit*share, steps)
			size := 0.0
			for _, v := range e[steps-4*(d+1):] {
				size = max(size, math.Abs(v))
			}
			if share < 1 && size > 1e-3 || share > 1 && size < 1e3 {
				t.Errorf("d = %d, %.2f of the boundary: size %.2g after %d steps", d, share, size, steps)
			}
		}
	}
}
