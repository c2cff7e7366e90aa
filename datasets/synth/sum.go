package synth

import "math"

// sumRanks returns Σ f(i) over the ranks lo ≤ i < hi, for an f that is smooth in
// log i. The first ranksExact ranks are summed one by one. Beyond them, the sum over [a, b) is
// approximated by the integral over [a−½, b−½] (the midpoint rule; its error of f″/24 per rank
// is below 10⁻⁷ f there), by Gauss–Legendre quadrature with three nodes on intervals whose
// lengths are proportional to the rank.
//
// Cost: O(log hi) evaluations of f.
func sumRanks(lo, hi int64, f func(x float64) float64) float64 {
	const (
		ranksExact = 1024
		growth     = 1.25 // of an interval's end over its start
	)
	var sum float64
	for i := lo; i < min(hi, ranksExact); i++ {
		sum += f(float64(i))
	}
	node := math.Sqrt(3.0 / 5)
	end := float64(hi) - 0.5
	for a := float64(max(lo, ranksExact)) - 0.5; a < end; {
		b := min(a*growth, end)
		middle, half := (a+b)/2, (b-a)/2
		edges := f(middle-half*node) + f(middle+half*node)
		sum += half * (float64(5.0/9*edges) + float64(8.0/9*f(middle)))
		a = b
	}
	return sum
}
