// Package histogram counts small whole numbers, such as the staleness of every read.
package histogram

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
)

// Limit is the smallest value that a Histogram no longer counts apart.
const Limit = 4096

// Histogram counts small non-negative integers, such as the staleness of
// reads. Values from Limit up share one overflow count; the mean and
// the maximum stay exact. The zero value is an empty histogram. Assignment
// shares the counts: use Clone.
type Histogram struct {
	counts   []uint64 // counts[v] is the count of value v; as long as needed
	overflow uint64
	count    uint64
	sum      uint64
	max      int
}

// Add counts one value, at least 0. It panics if the value is negative.
// Cost: amortised no allocation.
func (h *Histogram) Add(value int) { h.AddCount(value, 1) }

// AddCount counts one value, at least 0, several times. It panics if the value
// is negative.
func (h *Histogram) AddCount(value int, times uint64) {
	if value < 0 {
		panic(fmt.Sprintf("histogram: histogram value = %d, want at least 0", value))
	}
	if times == 0 {
		return
	}
	if value >= Limit {
		h.overflow += times
	} else {
		h.grow(value + 1)
		h.counts[value] += times
	}
	h.count += times
	h.sum += uint64(value) * times
	h.max = max(h.max, value)
}

// Merge adds the values of other, which is left as it is.
func (h *Histogram) Merge(other *Histogram) {
	h.grow(len(other.counts))
	for value, count := range other.counts {
		h.counts[value] += count
	}
	h.overflow += other.overflow
	h.count += other.count
	h.sum += other.sum
	h.max = max(h.max, other.max)
}

// grow makes room for at least length counts.
func (h *Histogram) grow(length int) {
	if missing := length - len(h.counts); missing > 0 {
		h.counts = append(h.counts, make([]uint64, missing)...)
	}
}

// Clone returns a histogram that shares nothing with h.
func (h *Histogram) Clone() Histogram {
	clone := *h
	clone.counts = slices.Clone(h.counts)
	return clone
}

// All iterates over the values that occurred, in ascending order, with their
// counts. The overflow counts at Max.
func (h *Histogram) All() iter.Seq2[int, uint64] {
	return func(yield func(int, uint64) bool) {
		for value, count := range h.counts {
			if count > 0 && !yield(value, count) {
				return
			}
		}
		if h.overflow > 0 {
			yield(h.max, h.overflow)
		}
	}
}

// Count returns the number of values.
func (h *Histogram) Count() uint64 { return h.count }

// Max returns the largest value, 0 without values.
func (h *Histogram) Max() int { return h.max }

// Mean returns the mean of the values, 0 without values.
func (h *Histogram) Mean() float64 {
	if h.count == 0 {
		return 0
	}
	return float64(h.sum) / float64(h.count)
}

// Quantile returns the smallest value such that at least the share q of all
// values is not above it, q in [0, 1]; 0 without values. A quantile among the
// overflow is reported as Max. It panics if q is out of range.
func (h *Histogram) Quantile(q float64) int {
	if !(q >= 0 && q <= 1) {
		panic(fmt.Sprintf("histogram: quantile %g, want 0 to 1", q))
	}
	if h.count == 0 {
		return 0
	}
	rank := max(uint64(math.Ceil(q*float64(h.count))), 1)
	seen := uint64(0)
	for value, count := range h.counts {
		if seen += count; seen >= rank {
			return value
		}
	}
	return h.max
}

// AtMost returns the share of the values that are not above a value, 0 without
// values. From Limit up it is 1.
func (h *Histogram) AtMost(value int) float64 {
	if h.count == 0 {
		return 0
	}
	if value >= Limit {
		return 1
	}
	seen := uint64(0)
	for _, count := range h.counts[:min(value+1, len(h.counts))] {
		seen += count
	}
	return float64(seen) / float64(h.count)
}

// Distance returns the Wasserstein distance of two histograms, in their unit: by
// how much the values of one must be moved on average to become the other. Values
// from Limit up count as that. It is NaN if either is empty.
func (h *Histogram) Distance(other *Histogram) float64 {
	if h.count == 0 || other.count == 0 {
		return math.NaN()
	}
	var distance, mine, theirs float64
	for value := range min(max(h.max, other.max), Limit) {
		if value < len(h.counts) {
			mine += float64(h.counts[value])
		}
		if value < len(other.counts) {
			theirs += float64(other.counts[value])
		}
		distance += math.Abs(mine/float64(h.count) - theirs/float64(other.count))
	}
	return distance
}

// Summary is what a report shows of a histogram.
type Summary struct {
	Mean  float64 `json:"mean"`
	P50   int     `json:"p50"`
	P99   int     `json:"p99"`
	Max   int     `json:"max"`
	Count uint64  `json:"count"`
}

// Summary returns the figures of h.
func (h *Histogram) Summary() Summary {
	return Summary{Mean: h.Mean(), P50: h.Quantile(0.5), P99: h.Quantile(0.99), Max: h.max, Count: h.count}
}

// MarshalJSON writes the summary of h: {mean, p50, p99, max, count}.
func (h Histogram) MarshalJSON() ([]byte, error) { return json.Marshal(h.Summary()) }
