package stability_test

import (
	"fmt"
	"math"
	"testing"

	"tandem/experiments/staleness/theory/stability"
)

func Example() {
	// An id in a share q of 5 % of the samples, rows 15 steps late, logistic loss with curvature h.
	const q, h = 0.05, 0.25
	fmt.Printf("η below %.1f\n", stability.Boundary(15)/(q*h))
	// Output:
	// η below 8.1
}

// response returns e_0, e_1, … after a unit impulse, by the recursion itself.
func response(d int, a float64, steps int) []float64 {
	e := make([]float64, steps)
	e[0] = 1
	for t := 0; t+1 < steps; t++ {
		e[t+1] = e[t]
		if t >= d {
			e[t+1] -= a * e[t-d]
		}
	}
	return e
}

// The variance is the sum of the squares of the impulse response.
func TestVarianceIsTheEnergyOfTheResponse(t *testing.T) {
	for _, d := range []int{0, 1, 2, 7, 30} {
		for _, share := range []float64{0.01, 0.3, 0.9} {
			a := share * stability.Boundary(d)
			want := 0.0
			for _, v := range response(d, a, 60_000) {
				want += v * v
			}
			if got := stability.Variance(d, a); math.Abs(got/want-1) > 1e-9 {
				t.Errorf("d = %d, a = %.3g: variance %v, want %v", d, a, got, want)
			}
		}
		for _, a := range []float64{0, stability.Boundary(d)} {
			if got := stability.Variance(d, a); !math.IsInf(got, 1) {
				t.Errorf("d = %d, a = %v: variance %v, want +Inf", d, a, got)
			}
		}
	}
}

// To first order, a delay of d raises the variance by the share a·d, and taking whole steps by a/2.
func TestExcessGrowsByProductTimesDelay(t *testing.T) {
	for _, d := range []int{0, 1, 10, 100} {
		const a = 1e-6
		got := (2*a*stability.Variance(d, a) - 1) / a
		if want := float64(d) + 0.5; math.Abs(got-want) > 1e-3*(want+1) {
			t.Errorf("d = %d: slope %v, want %v", d, got, want)
		}
	}
}

// moments iterates the covariances of (e_t, …, e_{t−d}) over steps with random shares, from covariances of 1,
// and returns the mean square of e at the end and in the middle.
func moments(d int, a, spread, noise float64, steps int) (middle, end float64) {
	p := make([][]float64, d+1)
	for i := range p {
		p[i] = make([]float64, d+1)
		for j := range p[i] {
			p[i][j] = 1
		}
	}
	for t := range steps {
		next := make([][]float64, d+1)
		for i := range next {
			next[i] = make([]float64, d+1)
		}
		next[0][0] = p[0][0] - 2*a*p[0][d] + a*a*(1+spread)*p[d][d] + noise
		for i := 1; i <= d; i++ {
			next[0][i] = p[0][i-1] - a*p[d][i-1]
			next[i][0] = next[0][i]
			for j := 1; j <= d; j++ {
				next[i][j] = p[i-1][j-1]
			}
		}
		p = next
		if t == steps/2 {
			middle = p[0][0]
		}
	}
	return middle, p[0][0]
}

// With random shares, the covariances follow a linear recursion: they tend to the RandomVariance below the
// boundary, and grow above it.
func TestMeanSquareBoundary(t *testing.T) {
	for _, d := range []int{0, 1, 4} {
		if got, want := stability.MeanSquareBoundary(d, 0),
			stability.Boundary(d); math.Abs(got/want-1) > 1e-12 {
			t.Errorf("d = %d: boundary %v without spread, want %v", d, got, want)
		}
		for _, spread := range []float64{0.1, 1, 15} {
			limit := stability.MeanSquareBoundary(d, spread)
			for _, share := range []float64{0.97, 1.03} {
				middle, end := moments(d, share*limit, spread, 0, 4000*(d+1))
				if (end < middle) != (share < 1) {
					t.Errorf("d = %d, spread %v, %.2f of the boundary: mean square from %.2g to %.2g", d,
						spread,
						share, middle, end)
				}
			}
			_, want := moments(d, 0.8*limit, spread, 1, 4000*(d+1))
			if got := stability.RandomVariance(d, 0.8*limit, spread); math.Abs(got/want-1) > 1e-9 {
				t.Errorf("d = %d, spread %v: variance %v, want %v", d, spread, got, want)
			}
		}
		// Without delay: a² (1 + spread) = 2a at the boundary.
		if got, want := stability.MeanSquareBoundary(0, 3), 0.5; math.Abs(got-want) > 1e-12 {
			t.Errorf("boundary %v, want 2/(1+spread) = %v", got, want)
		}
	}
}
