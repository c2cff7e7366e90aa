package metric

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestHistogramSurvivesItsBinaryForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h, back Histogram
		for _, v := range rapid.SliceOf(rapid.IntRange(0, 2*HistogramLimit)).Draw(t, "values") {
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
			t.Errorf("the first %d of %d bytes are taken for a histogram", cut, len(text))
		}
	})
}
