package similar

import (
	"math"
	"slices"

	"tandem/algo/job"
)

// Exponent returns the maximum-likelihood s of p(rank) ∝ rank^−s, given the number of occurrences of at
// least two ids, in any order. All must be positive.
//
// Ranks are those of the counts, from rank 2, because many columns have one id of a share of its own, to
// rank m. It solves E_s[log rank] = mean of log rank. Rank m is the last with a count of at least 5: rarer
// ids are only a sample of the rare ids that exist, so their ranks carry little information. If fewer than 10
// ids have such a count, m is the number of ids.
//
// Cost: sorting the counts and 24 passes over them.
func Exponent(occurrences []int64) float64 {
	occurrences = slices.Clone(occurrences)
	slices.SortFunc(occurrences, func(a, b int64) int { return int(b - a) })
	return fitTail(determining(occurrences))
}

// determining returns the first of descending counts, which determine the slope.
func determining(counts []int64) []int64 {
	const idsMin = 10
	m := 0
	for m < len(counts) && counts[m] >= wellSeen {
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
