package metric

import "math"

// WeightedAUC is AUC of rows that count differently, and whose labels y may be shares: a row of weight w
// stands for w·y positive and w·(1−y) negative rows with the same score.
//
//	AUC = Σ_{s_i > s_j} p_i·n_j + ½ Σ_{s_i = s_j} p_i·n_j  over  Σp · Σn,   p = w·y,  n = w·(1−y)
//
// Labels are in [0, 1], and weights at least 0; nil: each is 1. It is AUC, bit for bit, of labels 0 and 1
// without weights. It is NaN if one of the sums is 0 or a score is NaN. Sums run in ascending order of scores
// and, for equal scores, of rows.
//
// It panics if the lengths differ. Cost: one sort of len(scores) words. Memory: 13 bytes a row.
func WeightedAUC(scores, labels, weights []float32) float64 {
	if weights == nil && AreClasses(labels) {
		return AUC(scores, labels)
	}
	mustMatch("labels", len(labels), len(scores))
	for _, score := range scores {
		if score != score {
			return math.NaN()
		}
	}
	return newRanking(scores).weightedAUC(labels, func(row int) float64 { return weightOf(weights, row) })
}

// weightedAUC returns WeightedAUC of rows with weights.
func (r ranking) weightedAUC(labels []float32, weight func(row int) float64) float64 {
	var pairs, positives, negatives float64 // of the rows below
	var tiedPositives, tiedNegatives float64
	endTie := func() {
		pairs += float64(tiedPositives * (negatives + tiedNegatives/2))
		positives, negatives = positives+tiedPositives, negatives+tiedNegatives
		tiedPositives, tiedNegatives = 0, 0
	}
	for i, row := range r.rows {
		if !r.tied[i] {
			endTie()
		}
		w, y := weight(int(row)), float64(labels[row])
		tiedPositives += float64(w * y)
		tiedNegatives += float64(w * (1 - y))
	}
	endTie()
	if positives == 0 || negatives == 0 {
		return math.NaN()
	}
	return pairs / (positives * negatives)
}

// WeightedLogLoss is LogLoss of rows that count differently:
//
//	−Σ w·(y·ln p + (1−y)·ln(1−p)) / Σ w,  p clipped as in LogLoss
//
// Labels y are in [0, 1], and weights w at least 0; nil: each is 1. It is NaN if the weights add up to 0. It
// panics if the lengths differ.
func WeightedLogLoss(probabilities, labels, weights []float32) float64 {
	mustMatch("labels", len(labels), len(probabilities))
	sum, all := 0.0, 0.0
	for i, probability := range probabilities {
		p := min(max(float64(probability), ClipProbability), 1-ClipProbability)
		w, y := weightOf(weights, i), float64(labels[i])
		sum -= float64(w * (float64(y*math.Log(p)) + float64((1-y)*math.Log1p(-p))))
		all += w
	}
	return sum / all
}

// WeightedMean returns Σ w·x / Σ w, where weights are at least 0; nil: each is 1. It is NaN if they add up to
// 0. It panics if the lengths differ.
func WeightedMean(values, weights []float32) float64 {
	sum, all := 0.0, 0.0
	for i, value := range values {
		w := weightOf(weights, i)
		sum += float64(w * float64(value))
		all += w
	}
	return sum / all
}

// AreClasses reports whether all labels are 0 or 1.
func AreClasses(labels []float32) bool {
	for _, label := range labels {
		if label != 0 && label != 1 {
			return false
		}
	}
	return true
}

// weightOf returns the weight of a row.
func weightOf(weights []float32, row int) float64 {
	if weights == nil {
		return 1
	}
	return float64(weights[row])
}
