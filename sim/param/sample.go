package param

import (
	"math"
	"math/rand/v2"

	"tandem/algo/rng"
)

// A Point has one position in [−1, 1] for each parameter of a vector: −1 is the end of its range that is
// worse for throughput, 0 the middle, 1 the better end.
type Point []float64

// Everywhere returns the point with one position for all parameters.
func (v Vector) Everywhere(position float64) Point {
	p := make(Point, len(v))
	for i := range p {
		p[i] = position
	}
	return p
}

// Fix gives every parameter its value at a point, without a range. Between the middle and an end values are
// linear in the position.
func (v Vector) Fix(p Point) {
	for i, e := range v {
		e.Parameter.Fix(e.At(p[i]))
	}
}

// At returns the value at a position of the range.
func (e Entry) At(position float64) float64 {
	low, mid, high := e.Span()
	return At(low, mid, high, e.LessIsBetter(), position)
}

// At returns the value at a position of a range: the worse end at −1, mid at 0, the better end at 1. Between
// them it is linear.
func At(low, mid, high float64, lessIsBetter bool, position float64) float64 {
	worse, better := low, high
	if lessIsBetter {
		worse, better = high, low
	}
	end := better
	if position < 0 {
		end = worse
	}
	return mid + math.Abs(position)*(end-mid)
}

// Position returns the position of a value in the range: the inverse of At. A value beyond an end has the
// position of the end.
func (e Entry) Position(value float64) float64 {
	low, mid, high := e.Span()
	end, sign := high, 1.0
	if value < mid {
		end, sign = low, -1
	}
	if e.LessIsBetter() {
		sign = -sign
	}
	if end == mid {
		return 0
	}
	return sign * min(1, (value-mid)/(end-mid))
}

// Known reports whether the range has one value only.
func (e Entry) Known() bool {
	low, _, high := e.Span()
	return low == high
}

// Sample returns n points of a Latin hypercube: for each parameter the range of positions is cut into n
// equal parts, and each part holds one point. The position of a parameter depends on the seed and the name of
// the parameter only, so that vectors that share parameters share their positions (common random numbers).
//
// Source: McKay, Beckman, Conover, Technometrics 21 (1979).
func (v Vector) Sample(n int, seed uint64) []Point {
	points := make([]Point, n)
	for k := range points {
		points[k] = make(Point, len(v))
	}
	for i, e := range v {
		if e.Known() {
			continue
		}
		r := rand.New(rand.NewPCG(seed, rng.Key(seed, "sim/param/"+e.Name)))
		for k, part := range r.Perm(n) {
			points[k][i] = 2*(float64(part)+r.Float64())/float64(n) - 1
		}
	}
	return points
}
