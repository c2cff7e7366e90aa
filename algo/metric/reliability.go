package metric

import (
	"cmp"
	"math"
	"slices"
)

// Bin is a group of samples whose predictions are alike.
type Bin struct {
	Low       float64 `json:"low"`       // the least prediction
	High      float64 `json:"high"`      // the largest one
	Predicted float64 `json:"predicted"` // mean prediction
	Count     int     `json:"count"`
	Positives int     `json:"positives"`
	// Observed is the share of positives with its 95 % interval by Wilson (JASA 22, 1927).
	Observed Interval `json:"observed"`
}

// Reliability sorts samples by prediction and cuts them into at most bins groups of about as many samples
// each; samples with equal predictions are in one group. A model is calibrated if the share of positives of
// every group is near its mean prediction. Labels above 0.5 are positive. It returns nil for no samples. It
// panics if bins is below 1 or the lengths differ.
func Reliability(scores, labels []float32, bins int) []Bin {
	mustMatch("labels", len(labels), len(scores))
	if bins < 1 {
		panic("metric: bins below 1")
	}
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(scores[a], scores[b]) })
	var all []Bin
	for from := 0; from < len(order); {
		to := from + max((len(order)-from)/(bins-len(all)), 1)
		for to < len(order) && scores[order[to]] == scores[order[to-1]] {
			to++
		}
		b := Bin{Low: float64(scores[order[from]]), High: float64(scores[order[to-1]]), Count: to - from}
		for _, i := range order[from:to] {
			b.Predicted += float64(scores[i]) / float64(b.Count)
			if positive(labels[i]) {
				b.Positives++
			}
		}
		b.Observed = wilson(b.Positives, b.Count)
		all, from = append(all, b), to
	}
	return all
}

// wilson returns the share of positives with its 95 % interval:
//
//	(p + z²/2n ± z √(p(1−p)/n + z²/4n²)) / (1 + z²/n)
func wilson(positives, count int) Interval {
	const z = 1.959963984540054 // the 97.5 % point of the normal distribution
	n := float64(count)
	p := float64(positives) / n
	centre, scale := p+z*z/(2*n), 1+z*z/n
	half := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return Interval{Estimate: p, Low: max((centre-half)/scale, 0), High: min((centre+half)/scale, 1)}
}
