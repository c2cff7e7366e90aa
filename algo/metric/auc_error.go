package metric

import (
	"math"
	"slices"
)

// AUCStandardError returns the standard error of AUC(scores, labels) by the draw of the test rows:
//
//	SE² = s²(V)/P + s²(W)/N
//
// V_i is the share of the negative rows that score below positive row i, W_j the share of the positive rows
// that score above negative row j, ties counting half; s² are their sample variances. Scores that separate
// the classes have the error 0. It is NaN if a class has fewer than two rows or a score is NaN.
//
// It panics if the lengths differ. Cost: one sort of len(scores) words. Memory: 8 bytes a row.
//
// Source: DeLong, DeLong, Clarke-Pearson, Biometrics 44 (1988), for one curve.
func AUCStandardError(scores, labels []float32) float64 {
	mustMatch("labels", len(labels), len(scores))
	keys := make([]uint64, len(scores))
	var all [2]float64 // rows of the negative and of the positive class
	for i, score := range scores {
		if score != score {
			return math.NaN()
		}
		keys[i] = uint64(ordered(score)) << 1
		if positive(labels[i]) {
			keys[i] |= 1
		}
		all[keys[i]&1]++
	}
	if min(all[0], all[1]) < 2 {
		return math.NaN()
	}
	slices.Sort(keys)
	var below [2]float64 // rows of each class with a lower score
	var of [2]moments    // of the shares of the rows of each class
	for lo := 0; lo < len(keys); {
		var tied [2]float64
		hi := lo
		for ; hi < len(keys) && keys[hi]>>1 == keys[lo]>>1; hi++ {
			tied[keys[hi]&1]++
		}
		of[1].add((below[0]+tied[0]/2)/all[0], tied[1])
		of[0].add((all[1]-below[1]-tied[1]/2)/all[1], tied[0])
		below[0] += tied[0]
		below[1] += tied[1]
		lo = hi
	}
	return math.Sqrt(of[1].variance()/all[1] + of[0].variance()/all[0])
}

// moments are those of values with counts, by West's update, which loses nothing to cancellation.
type moments struct{ count, mean, squares float64 }

func (m *moments) add(value, count float64) {
	if count == 0 {
		return
	}
	m.count += count
	distance := value - m.mean
	m.mean += distance * count / m.count
	m.squares += float64(float64(count*distance) * (value - m.mean))
}

// variance returns the sample variance.
func (m *moments) variance() float64 { return m.squares / (m.count - 1) }
