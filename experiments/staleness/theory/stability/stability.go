package stability

import "math"

// Boundary returns the product η·q·h at which a row that is d steps late stops being stable,
// 2·sin(π/(2(2d+1))). Without noise, the row converges below the boundary from any start; above it, it
// oscillates ever wider. Boundary is 2 for d = 0, 1 for d = 1, and close to π/(2d+1) for large d. It panics
// if d is negative.
func Boundary(d int) float64 { return 2 * math.Sin(math.Pi/(2*float64(periods(d)))) }

// periods returns 2d+1.
func periods(d int) int {
	if d < 0 {
		panic("stability: a negative delay")
	}
	return 2*d + 1
}

// Variance returns the variance that e tends to under independent noise of variance 1 at every step, for the
// product a = η·q·h:
//
//	(1 + sin β) / (2a·cos(θ/2)·cos β),   θ = 2·arcsin(a/2),   β = (2d+1)·θ/2
//
// For small a, it is 1/(2a) · (1 + a·(d + ½)): a delay raises the excess loss in proportion to a·d. Variance
// returns +Inf from the Boundary on, and for a ≤ 0.
func Variance(d int, a float64) float64 {
	if a <= 0 || a >= Boundary(d) {
		return math.Inf(1)
	}
	half := math.Asin(a / 2)
	beta := float64(periods(d)) * half
	return (1 + math.Sin(beta)) / (2 * a * math.Cos(half) * math.Cos(beta))
}

// RandomVariance returns what Variance does for a row whose share of the samples differs from batch to batch,
// independently, with mean q and variance spread·q². The share multiplies e, so its noise vanishes at the
// optimum:
//
//	Variance / (1 − a²·spread·Variance)
//
// RandomVariance returns +Inf from the MeanSquareBoundary on.
func RandomVariance(d int, a, spread float64) float64 {
	v := Variance(d, a)
	if left := 1 - a*a*spread*v; left > 0 {
		return v / left
	}
	return math.Inf(1)
}

// MeanSquareBoundary returns the product η·q·h at which the mean square of e stops converging if the share of
// the row differs from batch to batch, independently, with mean q and variance spread·q². For samples drawn
// one by one, B to a batch, spread is (1−q)/(q·B).
//
// The boundary is at most Boundary, which it equals for spread 0. Below it, e converges in mean square and
// with probability 1. Above it, the mean square grows without bound, although most runs may converge: rare
// runs make up the mean.
func MeanSquareBoundary(d int, spread float64) float64 {
	low, high := 0.0, Boundary(d)
	for range 60 {
		if middle := (low + high) / 2; math.IsInf(RandomVariance(d, middle, spread), 1) {
			high = middle
		} else {
			low = middle
		}
	}
	return low
}
