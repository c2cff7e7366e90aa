package judge

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Spearman returns the rank correlation of two lists: Pearson's of their ranks, where equal values share the
// mean of their ranks. It is 0 if all values of a list are equal.
//
// Source: Spearman, American Journal of Psychology 15 (1904).
func Spearman(x, y []float64) float64 {
	r := stat.Correlation(ranks(x), ranks(y), nil)
	if math.IsNaN(r) {
		return 0
	}
	return r
}

// ranks returns the ranks of values from 1; equal values share the mean of their ranks.
func ranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	ranks := make([]float64, len(values))
	for lo := 0; lo < len(order); {
		hi := lo
		for hi < len(order) && values[order[hi]] == values[order[lo]] {
			hi++
		}
		for _, i := range order[lo:hi] {
			ranks[i] = float64(lo+hi+1) / 2
		}
		lo = hi
	}
	return ranks
}
