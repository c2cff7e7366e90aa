package histogram

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestHistogramSurvivesItsBinaryForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h, back Histogram
		for _, v := range rapid.SliceOf(rapid.IntRange(0, 2*Limit)).Draw(t, "values") {
			h.Add(v)
		}
		text, err := h.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if err := back.UnmarshalBinary(text); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(h.Summary(), back.Summary()); diff != "" {
			t.Error(diff)
		}
		back.Merge(&h)
		if back.Count() != 2*h.Count() || back.Quantile(0.5) != h.Quantile(0.5) {
			t.Errorf("merged with itself: %+v, want twice %+v", back.Summary(), h.Summary())
		}
		cut := rapid.IntRange(0, len(text)-1).Draw(t, "cut")
		if back.UnmarshalBinary(text[:cut]) == nil {
			t.Errorf("the first %d of %d bytes are accepted as a histogram", cut, len(text))
		}
	})
}

// FuzzHistogram reads arbitrary bytes: the result is an error or a histogram that survives writing and
// reading.
func FuzzHistogram(f *testing.F) {
	var h Histogram
	f.Add([]byte{0, 0, 0, 0, 0})
	for _, value := range []int{3, 0, 3, Limit, 9000} {
		h.Add(value)
		text, err := h.MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte{1, 5, 0, 6, 0, 0})                               // the counts add up to 5, the total says 6
	f.Add([]byte{1, 5, 0, 5, 0, 7})                               // a maximum that did not occur
	f.Add(bytes.Repeat([]byte{1}, 100_000))                       // more counts than a histogram has
	below := binary.AppendUvarint([]byte{1, 0, 1, 1, 0}, 1<<64-1) // a maximum below 0
	f.Add(below)
	f.Fuzz(func(t *testing.T, text []byte) {
		var h Histogram
		if h.UnmarshalBinary(text) != nil {
			if h.Count() != 0 {
				t.Error("an error, although the histogram has changed")
			}
			return
		}
		if q := h.Quantile(1); q != h.Max() {
			t.Errorf("quantile 1 is %d, the maximum %d", q, h.Max())
		}
		seen := uint64(0)
		for _, count := range h.All() {
			seen += count
		}
		if seen != h.Count() {
			t.Errorf("the counts add up to %d, the total is %d", seen, h.Count())
		}
		var back Histogram
		written, _ := h.MarshalBinary()
		if err := back.UnmarshalBinary(written); err != nil || back.Summary() != h.Summary() {
			t.Errorf("%+v reads back as %+v, %v", h.Summary(), back.Summary(), err)
		}
	})
}
