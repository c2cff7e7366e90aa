// Package histogram counts small whole numbers, such as the staleness of every read of a run: exact counts
// below a limit, with mean, maximum, quantiles and the distance between two histograms. Histograms of
// several processes merge into one.
package histogram

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
)

// Limit is the smallest value without a count of its own in a Histogram.
const Limit = 4096

// Histogram counts non-negative integers. Values of Limit or more share one overflow count; the mean and the
// maximum are exact all the same. The zero value is an empty histogram. Assignment shares the counts: use
// Clone for a copy.
type Histogram struct {
	counts   []uint64 // counts[v] is the count of value v; it ends with the largest value below Limit
	overflow uint64
	count    uint64
	sum      uint64
	max      int
}

// Add counts one value, at least 0. It panics if the value is negative. Cost: amortised no allocation.
func (h *Histogram) Add(value int) { h.AddCount(value, 1) }

// AddCount counts one value, at least 0, a number of times. It panics if the value is negative.
func (h *Histogram) AddCount(value int, times uint64) {
	if value < 0 {
		panic(fmt.Sprintf("histogram: value = %d, want at least 0", value))
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

// Merge adds the values of other and does not change other.
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

// grow extends the counts to at least a length.
func (h *Histogram) grow(length int) {
	if missing := length - len(h.counts); missing > 0 {
		h.counts = append(h.counts, make([]uint64, missing)...)
	}
}

// Clone returns an independent copy.
func (h *Histogram) Clone() Histogram {
	clone := *h
	clone.counts = slices.Clone(h.counts)
	return clone
}

// All iterates over the values that occurred, in ascending order, with their counts. Values in the overflow
// are reported as Max.
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

// Max returns the largest value, or 0 without values.
func (h *Histogram) Max() int { return h.max }

// Mean returns the mean of the values, or 0 without values.
func (h *Histogram) Mean() float64 {
	if h.count == 0 {
		return 0
	}
	return float64(h.sum) / float64(h.count)
}

// Quantile returns the smallest value v for which at least the share q of all values is ≤ v, for q in [0, 1],
// or 0 without values. A quantile in the overflow is reported as Max. It panics if q is out of range.
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

// AtMost returns the share of the values that are ≤ value, or 0 without values. It is 1 for a value of Limit
// or more.
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

// Distance returns the Wasserstein distance between two histograms, in the unit of the values: how far the
// values of one must be moved on average to become the other. Values of Limit or more count as Limit. It is
// NaN if a histogram is empty.
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

// Summary holds the figures of a histogram that reports show.
type Summary struct {
	Mean  float64 `json:"mean"`
	P50   int     `json:"p50"`
	P99   int     `json:"p99"`
	Max   int     `json:"max"`
	Count uint64  `json:"count"`
}

// Summary returns the figures of h for a report.
func (h *Histogram) Summary() Summary {
	return Summary{Mean: h.Mean(), P50: h.Quantile(0.5), P99: h.Quantile(0.99), Max: h.max, Count: h.count}
}

// MarshalJSON returns the summary of h: {mean, p50, p99, max, count}.
func (h Histogram) MarshalJSON() ([]byte, error) { return json.Marshal(h.Summary()) }
