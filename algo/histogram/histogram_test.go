package histogram_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/histogram"
)

func TestHistogramAgainstSortedValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.IntRange(0, 200), 1, 80).Draw(t, "values")
		cut := rapid.IntRange(0, len(values)).Draw(t, "cut")
		var h, other histogram.Histogram
		sum := 0
		for i, v := range values {
			if i < cut {
				h.Add(v)
			} else {
				other.Add(v)
			}
			sum += v
		}
		before := h.Clone()
		h.Merge(&other)
		if before.Count() != uint64(cut) {
			t.Fatalf("clone counts %d after a merge, want %d", before.Count(), cut)
		}
		slices.Sort(values)
		q := rapid.Float64Range(0, 1).Draw(t, "q")
		// The smallest value v with at least q·n values ≤ v.
		rank := max(int(math.Ceil(q*float64(len(values)))), 1)
		if got, want := h.Quantile(q), values[rank-1]; got != want {
			t.Fatalf("quantile %v = %d, want %d", q, got, want)
		}
		mean := float64(sum) / float64(len(values))
		if h.Max() != values[len(values)-1] || h.Count() != uint64(len(values)) || h.Mean() != mean {
			t.Fatalf("max %d, count %d, mean %v", h.Max(), h.Count(), h.Mean())
		}
	})
}

func TestHistogramJSON(t *testing.T) {
	var h histogram.Histogram
	h.AddCount(1, 98)
	h.Add(7)
	h.Add(10_000) // overflow: the mean and the maximum stay exact
	text, err := json.Marshal(map[string]any{"own": h})
	// The mean is (98·1 + 7 + 10000)/100; the 99th of 100 values is 7.
	const want = `{"own":{"mean":101.05,"p50":1,"p99":7,"max":10000,"count":100}}`
	if err != nil || string(text) != want {
		t.Errorf("JSON %s, %v, want %s", text, err, want)
	}
	if got := h.Quantile(1); got != 10_000 {
		t.Errorf("quantile in the overflow = %d, want the maximum", got)
	}
	var empty histogram.Histogram
	if got := empty.Summary(); got != (histogram.Summary{}) {
		t.Errorf("summary without values %+v, want zeros", got)
	}
}

// Values below the limit have counts of their own; values from the limit on share one.
func TestHistogramLimitIsTheFirstValueOfTheOverflow(t *testing.T) {
	var below, above histogram.Histogram
	below.Add(histogram.Limit - 2)
	below.Add(histogram.Limit - 1)
	above.Add(histogram.Limit)
	above.Add(histogram.Limit + 1)
	if got, want := below.Quantile(0.5), histogram.Limit-2; got != want {
		t.Errorf("median below the limit = %d, want %d", got, want)
	}
	if got, want := above.Quantile(0.5), histogram.Limit+1; got != want {
		t.Errorf("median from the limit on = %d, want the maximum, %d", got, want)
	}
}

func TestHistogramRefusesNegativeValues(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	new(histogram.Histogram).Add(-1)
}
