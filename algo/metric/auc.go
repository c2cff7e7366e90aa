package metric

import (
	"math"
	"slices"
)

// AUC returns the area under the receiver operating characteristic: the probability that a positive row
// scores above a negative row, where ties count half.
//
//	AUC = (#{s⁺ > s⁻} + ½ #{s⁺ = s⁻}) / (P·N)
//
// Only the order of scores matters: they may be logits or probabilities; −0 ties with +0. Pairs are counted
// in integers, so the result is the exact quotient, rounded once. It is NaN if a class is absent or a score
// is NaN. P·N must be below 2⁶²: four thousand million rows.
//
// It panics if the lengths differ. Cost: one sort of len(scores) words.
//
// Source: Hanley, McNeil, Radiology 143 (1982); the Mann–Whitney statistic.
func AUC(scores, labels []float32) float64 {
	mustMatch("labels", len(labels), len(scores))
	keys := make([]uint64, len(scores))
	for i, score := range scores {
		if score != score {
			return math.NaN()
		}
		keys[i] = uint64(ordered(score)) << 1
		if positive(labels[i]) {
			keys[i] |= 1
		}
	}
	slices.Sort(keys)

	var pairs pairCount
	for lo := 0; lo < len(keys); {
		var positives, negatives uint64
		hi := lo
		for ; hi < len(keys) && keys[hi]>>1 == keys[lo]>>1; hi++ {
			positives += keys[hi] & 1
			negatives += keys[hi]&1 ^ 1
		}
		pairs.add(positives, negatives)
		lo = hi
	}
	return pairs.auc()
}

// ordered maps a float32 that is not NaN to an integer, preserving order.
func ordered(x float32) uint32 {
	bits := math.Float32bits(x + 0) // −0 + 0 = +0
	if bits>>31 == 1 {
		return ^bits
	}
	return bits | 1<<31
}

// pairCount counts the pairs of a positive and a negative row that scores put in the right order. Groups of
// tied rows are added in ascending order of their score.
type pairCount struct {
	positives, negatives uint64
	twice                uint64 // twice the pairs in order, where a tie counts one
}

func (c *pairCount) add(positives, negatives uint64) {
	c.twice += positives * (2*c.negatives + negatives)
	c.positives += positives
	c.negatives += negatives
}

// auc returns the share of the pairs that are in order, or NaN if there are none.
func (c *pairCount) auc() float64 {
	if c.positives == 0 || c.negatives == 0 {
		return math.NaN()
	}
	return float64(c.twice) / (2 * float64(c.positives*c.negatives))
}
