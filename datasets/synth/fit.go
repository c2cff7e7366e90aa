package synth

import (
	"math"
	"slices"

	"tandem/algo/job"
)

// Fit returns the column whose draws resemble the ids of a real column. Counts holds the number
// of occurrences of each id, in any order; there must be at least one, and all must be
// positive. The caller sets the name of the column.
//
//   - Top is the share of the most frequent id.
//   - Exponent is the maximum-likelihood s of the ids after that, ranked by their counts,
//     p(rank) ∝ rank^−s over ranks 2 to m. It solves E_s[log rank] = mean of log rank. Rank m
//     is the last with a count of at least 5: rarer ids are only a sample of the rare ids
//     that exist, so their ranks carry little information. If fewer than 10 ids have such a
//     count, m is n, the number of ids.
//   - Cardinality is the number of ids of which the draws are expected to show n.
//
// If nearly all ids occur once, their true number is only known to be very large, and
// Cardinality is a very large number, at most job.CardinalityMax. If the distribution is so
// steep that n distinct ids are not expected for any cardinality, Cardinality is the one that
// comes closest.
//
// Cost: sorting the counts, 24 passes over them, and NewZipf and ExpectedDistinct once or twice
// per doubling from n to Cardinality.
func Fit(counts []int64) job.SyntheticColumn {
	if len(counts) == 0 {
		panic("synth: Fit: no counts")
	}
	counts = slices.Clone(counts)
	slices.SortFunc(counts, func(a, b int64) int { return int(b - a) })
	var draws int64
	for _, count := range counts {
		draws += count
	}
	n := int64(len(counts))
	if n == 1 {
		return job.SyntheticColumn{Cardinality: 1}
	}
	c := job.SyntheticColumn{Cardinality: n, Exponent: fitTail(wellSeen(counts)),
		Top: float64(counts[0]) / float64(draws)}
	expected := func(cardinality int64) float64 {
		c.Cardinality = cardinality
		return NewZipf(c).ExpectedDistinct(float64(draws))
	}
	// The expected number grows with the cardinality: double it, then bisect, to half an id.
	target := min(float64(n), expected(job.CardinalityMax)) - 0.5
	lo, hi := n, n
	for hi < job.CardinalityMax && expected(hi) < target {
		lo, hi = hi+1, min(2*hi, job.CardinalityMax)
	}
	for lo < hi {
		if mid := lo + (hi-lo)/2; expected(mid) >= target {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	c.Cardinality = lo
	return c
}

// wellSeen returns the first of descending counts, which determine the slope.
func wellSeen(counts []int64) []int64 {
	const countMin, idsMin = 5, 10
	m := 0
	for m < len(counts) && counts[m] >= countMin {
		m++
	}
	if m < idsMin {
		return counts
	}
	return counts[:m]
}

// fitTail returns the maximum-likelihood exponent of the ranks from 2 on, given at least two
// descending counts. The derivative of the likelihood,
//
//	Σ_r counts_r · (E_s[log rank] − log r),
//
// falls with s: bisect between 0, the smallest exponent allowed, and job.ExponentMax.
func fitTail(counts []int64) float64 {
	logs := make([]float64, len(counts)-1)
	var observed, draws float64
	for i := range logs {
		logs[i] = math.Log(float64(i + 2))
		observed += float64(float64(counts[i+1]) * logs[i])
		draws += float64(counts[i+1])
	}
	if len(logs) == 1 {
		return 0 // with two ids, Top describes the distribution completely
	}
	observed /= draws
	expected := func(s float64) float64 {
		var weights, sum float64
		for _, l := range logs {
			// Relative to rank 2, so that no weight is above 1.
			w := math.Exp(-s * (l - logs[0]))
			weights += w
			sum += float64(w * l)
		}
		return sum / weights
	}
	lo, hi := 0.0, job.ExponentMax
	for hi-lo > 1e-6 {
		if s := (lo + hi) / 2; expected(s) > observed {
			lo = s
		} else {
			hi = s
		}
	}
	return lo // exactly 0 for a flat law
}
