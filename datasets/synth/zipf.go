package synth

import (
	"math"
	"math/rand/v2"

	"tandem/algo/job"
)

// Zipf is the distribution of the ranks of one column, 1 for the most frequent
// id:
//
//	p(i) = i^−s / H,  H = Σ_{j=1..n} j^−s,  i = 1..n
//
// If the share t of the most frequent id is set,
//
//	p(i) = t             for i ≤ m
//	p(i) = c · i^−s ≤ t  for i > m,  c = (1 − m·t) / Σ_{j>m} j^−s
//
// with the smallest m ≥ 1 that allows it. A share above p(1) of the pure Zipf distribution
// raises rank 1 (m = 1); a smaller one flattens the head, as in columns without favourites.
//
// A Zipf is immutable and has no tables, so n can be as large as job.CardinalityMax.
type Zipf struct {
	ranks    int64   // n
	exponent float64 // s
	top      float64 // t = p(1)
	flat     int64   // m
	scale    float64 // c
	// Bounds of the inverted integral, and the shortcut: see Rank.
	integralLo, integralHi float64
	acceptAlways           float64
}

// NewZipf returns the distribution of a column. It panics if the column is invalid. Cost: that of
// ExpectedDistinct, times log2 of the cardinality if Top is set.
func NewZipf(c job.SyntheticColumn) *Zipf {
	if err := c.Validate(); err != nil {
		panic("synth: NewZipf: " + err.Error())
	}
	z := &Zipf{ranks: c.Cardinality, exponent: c.Exponent, top: c.Top, flat: 1}
	if z.ranks == 1 {
		z.top = 1
		return z
	}
	if z.top == 0 {
		z.top = 1 / (1 + z.tailSum(2))
	} else {
		z.flat = z.findFlat()
	}
	z.scale = (1 - float64(float64(z.flat)*z.top)) / z.tailSum(z.flat+1)
	z.integralLo = z.integral(0.5) - 1
	z.integralHi = z.integral(float64(z.ranks-z.flat-1) + 0.5)
	z.acceptAlways = 1 - z.inverse(z.integral(1.5)-z.height(1))
	return z
}

// findFlat returns the smallest m in [1, n−1] for which c · (m+1)^−s ≤ t, by bisection: if the
// condition holds for m, it holds for m+1.
func (z *Zipf) findFlat() int64 {
	lo, hi := int64(1), z.ranks-1
	for lo < hi {
		m := lo + (hi-lo)/2
		left := 1 - float64(float64(m)*z.top)
		if left*z.power(float64(m+1)) <= z.top*z.tailSum(m+1) {
			hi = m
		} else {
			lo = m + 1
		}
	}
	return lo
}

// tailSum returns Σ i^−s over the ranks from lo.
func (z *Zipf) tailSum(lo int64) float64 { return sumRanks(lo, z.ranks+1, z.power) }

// Probability returns p(rank), 0 outside 1..n.
func (z *Zipf) Probability(rank int64) float64 {
	switch {
	case rank < 1 || rank > z.ranks:
		return 0
	case rank <= z.flat:
		return z.top
	}
	return z.tail(float64(rank))
}

// tail is p as a smooth function of the rank, for x > m.
func (z *Zipf) tail(x float64) float64 { return z.scale * z.power(x) }

// power returns x^−s.
func (z *Zipf) power(x float64) float64 { return math.Exp(-z.exponent * math.Log(x)) }

// Share returns the probability that a draw is among the most frequent ranks
// ids, which is the hit rate of a cache of exactly these ids.
// Cost: that of ExpectedDistinct.
func (z *Zipf) Share(ranks int64) float64 {
	flat := min(max(ranks, 0), z.flat)
	return float64(float64(flat)*z.top) + sumRanks(z.flat+1, min(ranks, z.ranks)+1, z.tail)
}

// ExpectedDistinct returns the expected number of distinct ids in a number of
// independent draws,
//
//	Σ_i 1 − (1 − p(i))^draws,
//
// within a relative error of 10⁻⁶. Draws can be fractional, but not negative.
//
// Cost: about a thousand terms, then three for every increase of the rank by a quarter; about
// 100 µs for 10⁷ ids.
func (z *Zipf) ExpectedDistinct(draws float64) float64 {
	seen := func(p float64) float64 {
		if p >= 1 {
			return min(draws, 1)
		}
		return -math.Expm1(draws * math.Log1p(-p))
	}
	rest := sumRanks(z.flat+1, z.ranks+1, func(x float64) float64 { return seen(z.tail(x)) })
	return float64(float64(z.flat)*seen(z.top)) + rest
}

// Rank draws a rank, exactly, by rejection-inversion: a point under the
// continuous x^−s is found by inverting its integral, rounded to a rank, and
// kept if it lies in that rank's bar. The flat head is drawn before. Cost: two or three draws
// and four transcendental functions.
//
// Ranks of the tail are counted from its first rank, a = m+1, and heights are in units of a^−s,
// so the bars have heights of order 1 wherever the tail begins. With ranks counted from 1, the
// integral of a steep tail from a to n would be smaller than the rounding error of the integral
// from 1 to a.
//
// Termination: the bar of the first rank is always accepted, and so is every x above any other
// rank, because acceptAlways > 0. With s ≤ 10 and a ≥ 2, this is at least a seventh of the hat.
//
// Source: Hörmann and Derflinger, ACM TOMACS 6(3) 1996, algorithm RI.
// Deviations: the domain starts at m+1; the integral is written with expm1 and
// log1p, so that s = 1 is not a special case.
func (z *Zipf) Rank(random *rand.Rand) int64 {
	if u := random.Float64(); u < float64(z.flat)*z.top || z.flat == z.ranks {
		return 1 + min(int64(u/z.top), z.flat-1)
	}
	last := float64(z.ranks - z.flat - 1)
	for {
		u := z.integralHi + float64(random.Float64()*(z.integralLo-z.integralHi))
		x := z.inverse(u)
		k := min(max(math.Floor(x+0.5), 0), last)
		if k-x <= z.acceptAlways || u >= z.integral(k+0.5)-z.height(k) {
			return z.flat + 1 + int64(k)
		}
	}
}

// height returns (1 + d/a)^−s: the continuous density at an offset d from the first rank of the
// tail, relative to the density at that rank.
func (z *Zipf) height(d float64) float64 {
	return math.Exp(-z.exponent * math.Log1p(d/float64(z.flat+1)))
}

// integral returns the integral of height from 0 to d,
// a · ((1 + d/a)^(1−s) − 1) / (1−s), or a · log(1 + d/a) for s = 1.
func (z *Zipf) integral(d float64) float64 {
	first := float64(z.flat + 1)
	logX := math.Log1p(d / first)
	t := (1 - z.exponent) * logX
	if math.Abs(t) < 1e-8 {
		return first * logX * (1 + t/2) // expm1(t)/t to first order; the rest is below 10⁻¹⁶
	}
	return first * logX * math.Expm1(t) / t
}

// inverse returns the d for which integral(d) = u.
func (z *Zipf) inverse(u float64) float64 {
	first := float64(z.flat + 1)
	u /= first
	t := u * (1 - z.exponent)
	if math.Abs(t) < 1e-8 {
		return first * math.Expm1(u*(1-t/2))
	}
	// Rounding can push t below its limit of −1, where d = ∞.
	return first * math.Expm1(u*math.Log1p(max(t, -1))/t)
}
