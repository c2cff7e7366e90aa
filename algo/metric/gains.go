package metric

import (
	"cmp"
	"slices"
)

// Gain is what the samples with the highest scores contain.
type Gain struct {
	Share float64 `json:"share"` // of the samples, from the highest score down
	Found float64 `json:"found"` // share of all positive samples that are among them
}

// Lift returns how many times as many positive samples are there as among as many samples drawn at random.
func (g Gain) Lift() float64 { return g.Found / g.Share }

// Gains returns, for each share of the samples, the share of the positive ones that is found by going through
// the samples from the highest score down. Among samples of equal scores, positive ones are found evenly.
// Shares are ascending, above 0 and at most 1. It returns nil if there is no positive sample. It panics if
// the lengths differ.
//
// Cost: one sort.
func Gains(scores, labels []float32, shares []float64) []Gain {
	mustMatch("labels", len(labels), len(scores))
	order := make([]int, len(scores))
	positives := 0
	for i := range order {
		order[i] = i
		if positive(labels[i]) {
			positives++
		}
	}
	if positives == 0 {
		return nil
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	all := make([]Gain, 0, len(shares))
	found := 0 // among the samples before from
	for from := 0; from < len(order); {
		to, tied := from, 0
		for ; to < len(order) && cmp.Compare(scores[order[to]], scores[order[from]]) == 0; to++ { // as NaN is
			if positive(labels[order[to]]) {
				tied++
			}
		}
		for len(all) < len(shares) {
			count := shares[len(all)] * float64(len(order))
			if count > float64(to) && to < len(order) {
				break
			}
			within := (count - float64(from)) / float64(to-from)
			all = append(all, Gain{shares[len(all)],
				(float64(found) + float64(within*float64(tied))) / float64(positives)})
		}
		from, found = to, found+tied
	}
	return all
}
