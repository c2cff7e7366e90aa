package metric

import (
	"fmt"
	"math"
	"slices"

	"tandem/algo/rng"
)

// AUCDifference returns AUC(a) − AUC(b), where a and b are the scores of two models for the same test rows,
// with its 95 % confidence interval by the paired bootstrap: rows are drawn with replacement, the same rows
// for both models, and the limits are the 2.5 % and 97.5 % points of the differences.
//
// Positive and negative rows are drawn separately, so that no resample lacks a class. resamples is at least
// 1; 1,000 resamples determine the limits to a few percent of their distance. Equal seeds give equal bits.
// All fields are NaN if a class is absent or a score is NaN.
//
// It panics if the lengths differ. Cost: two sorts, then resamples × len(labels) draws and visits. Memory:
// about 20 bytes a row.
//
// Source: Efron, Tibshirani, An Introduction to the Bootstrap (1993), chapter 13; stratified as in Robin et
// al., BMC Bioinformatics 12 (2011).
func AUCDifference(a, b, labels []float32, resamples int, seed uint64) Interval {
	mustMatch("a", len(a), len(labels))
	mustMatch("b", len(b), len(labels))
	if resamples < 1 {
		panic(fmt.Sprintf("metric: resamples = %d, want at least 1", resamples))
	}
	estimate := AUC(a, labels) - AUC(b, labels)
	if math.IsNaN(estimate) {
		return Interval{estimate, estimate, estimate}
	}
	rankingA, rankingB := newRanking(a), newRanking(b)
	return bootstrap(estimate, classesOf(labels), resamples, seed, func(counts []uint32) float64 {
		return rankingA.auc(counts, labels) - rankingB.auc(counts, labels)
	})
}

// WeightedAUCDifference is AUCDifference with the labels and the weights of WeightedAUC. Rows whose labels
// are shares are drawn all together. A resample without positives, or without negatives, counts as none.
func WeightedAUCDifference(a, b, labels, weights []float32, resamples int, seed uint64) Interval {
	if weights == nil && AreClasses(labels) {
		return AUCDifference(a, b, labels, resamples, seed)
	}
	estimate := WeightedAUC(a, labels, weights) - WeightedAUC(b, labels, weights)
	if math.IsNaN(estimate) {
		return Interval{estimate, estimate, estimate}
	}
	groups := together(len(labels))
	if AreClasses(labels) {
		groups = classesOf(labels)
	}
	rankingA, rankingB := newRanking(a), newRanking(b)
	return bootstrap(estimate, groups, resamples, seed, func(counts []uint32) float64 {
		weight := func(row int) float64 { return float64(float64(counts[row]) * weightOf(weights, row)) }
		return rankingA.weightedAUC(labels, weight) - rankingB.weightedAUC(labels, weight)
	})
}

// RSquaredDifference returns RSquared of the predictions a less that of b, of the same rows, with its 95 %
// interval by the paired bootstrap of AUCDifference, whose rows are drawn all together. A resample of equal
// labels counts as none.
func RSquaredDifference(a, b, labels, weights []float32, resamples int, seed uint64) Interval {
	estimate := RSquared(a, labels, weights) - RSquared(b, labels, weights)
	if math.IsNaN(estimate) || math.IsInf(estimate, 0) {
		return Interval{math.NaN(), math.NaN(), math.NaN()}
	}
	center := WeightedMean(labels, weights) // near the mean of a resample, so that little cancels
	return bootstrap(estimate, together(len(labels)), resamples, seed, func(counts []uint32) float64 {
		gained, all, sum, squares := 0.0, 0.0, 0.0, 0.0
		low, high := math.Inf(1), math.Inf(-1)
		for row, count := range counts {
			w, y := float64(float64(count)*weightOf(weights, row)), float64(labels[row])
			offA, offB, off := float64(a[row])-y, float64(b[row])-y, y-center
			gained += float64(w * float64(float64(offB*offB)-float64(offA*offA)))
			if w > 0 {
				low, high = min(low, y), max(high, y)
			}
			all += w
			sum += float64(w * off)
			squares += float64(w * float64(off*off))
		}
		if low == high {
			return math.NaN() // what remains of squares is rounding
		}
		return gained / (squares - float64(sum*sum)/all)
	})
}

// bootstrap returns the 95 % interval of an estimate from its values on resamples of groups of rows. value
// gets how often each row was drawn; it is NaN or infinite of a resample that has none.
func bootstrap(estimate float64, groups [][]int32, resamples int, seed uint64,
	value func(counts []uint32) float64) Interval {
	values := make([]float64, 0, resamples)
	resample(groups, resamples, seed, func(counts []uint32) {
		if v := value(counts); !math.IsNaN(v) && !math.IsInf(v, 0) {
			values = append(values, v)
		}
	})
	if len(values) == 0 {
		return Interval{math.NaN(), math.NaN(), math.NaN()}
	}
	slices.Sort(values)
	return Interval{estimate, percentile(values, 0.025), percentile(values, 0.975)}
}

// AUCRowDeviation returns the standard error, by the luck of the test rows, of the mean over seeds of
// AUC(a[s]) − AUC(b[s]). a[s] and b[s] are the scores of two models, trained under one seed, for test rows
// that all seeds share. The rows are resampled as in AUCDifference, the same rows for all models. It is NaN
// if a class is absent or a score is NaN.
//
// With the spread over seeds, it is a hierarchical bootstrap whose upper level is not drawn: a resample of
// five seeds has too small a variance, by 4/5, and too light tails. Package judge combines the two with
// Student's distribution instead.
//
// It panics if the lengths differ or if resamples is below 2. Cost: for each seed two sorts and 2 × resamples
// visits of all rows.
//
// Source: Davison, Hinkley, Bootstrap Methods and their Application (1997), section 3.8, on hierarchical
// data.
func AUCRowDeviation(a, b [][]float32, labels []float32, resamples int, seed uint64) float64 {
	mustMatch("b", len(b), len(a))
	if resamples < 2 {
		panic(fmt.Sprintf("metric: resamples = %d, want at least 2", resamples))
	}
	var rankings [][2]ranking
	for s := range a {
		mustMatch("a[s]", len(a[s]), len(labels))
		mustMatch("b[s]", len(b[s]), len(labels))
		if d := AUC(a[s], labels) - AUC(b[s], labels); math.IsNaN(d) {
			return d
		}
		rankings = append(rankings, [2]ranking{newRanking(a[s]), newRanking(b[s])})
	}
	means := make([]float64, 0, resamples)
	resample(classesOf(labels), resamples, seed, func(weights []uint32) {
		sum := 0.0
		for _, r := range rankings {
			sum += r[0].auc(weights, labels) - r[1].auc(weights, labels)
		}
		means = append(means, sum/float64(len(a)))
	})
	return deviation(means)
}

// classesOf returns the rows of the negative and of the positive class.
func classesOf(labels []float32) [][]int32 {
	classes := make([][]int32, 2)
	for row, label := range labels {
		class := 0
		if positive(label) {
			class = 1
		}
		classes[class] = append(classes[class], int32(row))
	}
	return classes
}

// together returns a number of rows in one group.
func together(n int) [][]int32 {
	rows := make([]int32, n)
	for row := range rows {
		rows[row] = int32(row)
	}
	return [][]int32{rows}
}

// resample draws the rows of each group with replacement and calls visit with how often each row was drawn.
func resample(groups [][]int32, resamples int, seed uint64, visit func(counts []uint32)) {
	all := 0
	for _, rows := range groups {
		all += len(rows)
	}
	counts := make([]uint32, all)
	stream := rng.New(seed, "bootstrap")
	for range resamples {
		clear(counts)
		for _, rows := range groups {
			for range rows {
				counts[rows[stream.IntN(len(rows))]]++
			}
		}
		visit(counts)
	}
}

// deviation returns the standard deviation of a sample.
func deviation(values []float64) float64 {
	mean, squares := 0.0, 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		squares += float64((v - mean) * (v - mean))
	}
	return math.Sqrt(squares / float64(len(values)-1))
}

// ranking is the order of one model's scores. With it, the AUC of a resample takes one pass and no sort.
type ranking struct {
	rows []int32 // ascending score
	tied []bool  // tied[i]: rows[i] and rows[i−1] have the same score
}

func newRanking(scores []float32) ranking {
	keys := make([]uint64, len(scores)) // ordered score ‖ row
	for row, score := range scores {
		keys[row] = uint64(ordered(score))<<32 | uint64(row)
	}
	slices.Sort(keys)
	r := ranking{make([]int32, len(keys)), make([]bool, len(keys))}
	for i, key := range keys {
		r.rows[i] = int32(uint32(key))
		r.tied[i] = i > 0 && key>>32 == keys[i-1]>>32
	}
	return r
}

// auc returns the AUC of the rows, where each row counts weights[row] times.
func (r ranking) auc(weights []uint32, labels []float32) float64 {
	var pairs pairCount
	var positives, negatives uint64 // of the current group of tied rows
	for i, row := range r.rows {
		if !r.tied[i] {
			pairs.add(positives, negatives)
			positives, negatives = 0, 0
		}
		if positive(labels[row]) {
			positives += uint64(weights[row])
		} else {
			negatives += uint64(weights[row])
		}
	}
	pairs.add(positives, negatives)
	return pairs.auc()
}

// percentile returns the p-quantile of ascending values, interpolated linearly between neighbours.
func percentile(values []float64, p float64) float64 {
	position := p * float64(len(values)-1)
	below := int(position)
	above := min(below+1, len(values)-1)
	return values[below] + float64((position-float64(below))*(values[above]-values[below]))
}
