package metric

import (
	"fmt"
	"math"
)

// StreamingAUC estimates AUC from a stream of probabilities in constant memory. It counts the rows of each
// class in equal buckets over [0, 1] and treats rows of one bucket as tied. ErrorBound returns the largest
// possible error.
//
// Parts of the rows may be counted separately and merged in any order, with the same result.
type StreamingAUC struct {
	positives []uint64 // per bucket
	negatives []uint64
	notNumber bool // a NaN was added
}

// NewStreamingAUC returns an empty estimate with a number of buckets, at least 1. Memory: 16 bytes a bucket.
func NewStreamingAUC(buckets int) *StreamingAUC {
	if buckets < 1 {
		panic(fmt.Sprintf("metric: buckets = %d, want at least 1", buckets))
	}
	return &StreamingAUC{positives: make([]uint64, buckets), negatives: make([]uint64, buckets)}
}

// Add counts rows. Probabilities outside [0, 1] count in the nearest bucket. It panics if the lengths differ.
func (s *StreamingAUC) Add(probabilities, labels []float32) {
	mustMatch("labels", len(labels), len(probabilities))
	last := len(s.positives) - 1
	for i, p := range probabilities {
		if p != p {
			s.notNumber = true
			continue
		}
		scaled := float64(p) * float64(len(s.positives))
		bucket := int(min(max(scaled, 0), float64(last)))
		if positive(labels[i]) {
			s.positives[bucket]++
		} else {
			s.negatives[bucket]++
		}
	}
}

// Merge adds the rows of other and does not change other. It panics if the numbers of buckets differ.
func (s *StreamingAUC) Merge(other *StreamingAUC) {
	if len(other.positives) != len(s.positives) {
		panic(fmt.Sprintf("metric: cannot merge %d buckets into %d: make both with the same number",
			len(other.positives), len(s.positives)))
	}
	for b := range s.positives {
		s.positives[b] += other.positives[b]
		s.negatives[b] += other.negatives[b]
	}
	s.notNumber = s.notNumber || other.notNumber
}

// Value returns the estimate. It is NaN if a class is absent or a NaN was added.
func (s *StreamingAUC) Value() float64 {
	if s.notNumber {
		return math.NaN()
	}
	var pairs pairCount
	for b := range s.positives {
		pairs.add(s.positives[b], s.negatives[b])
	}
	return pairs.auc()
}

// ErrorBound returns the largest possible distance of Value from the exact AUC of the same rows:
//
//	½ Σ_b P_b·N_b / (P·N)
//
// Only pairs within a bucket are uncertain: each counts ½ here and between 0 and 1 in the exact AUC. It is
// NaN if Value is NaN.
func (s *StreamingAUC) ErrorBound() float64 {
	if s.notNumber {
		return math.NaN()
	}
	var positives, negatives, within uint64
	for b := range s.positives {
		positives += s.positives[b]
		negatives += s.negatives[b]
		within += s.positives[b] * s.negatives[b]
	}
	if positives == 0 || negatives == 0 {
		return math.NaN()
	}
	return float64(within) / (2 * float64(positives*negatives))
}
