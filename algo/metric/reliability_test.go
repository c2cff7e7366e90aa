package metric

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Four predictions of 0.25 with one positive and four of 0.75 with three are calibrated, in two groups.
func TestReliability(t *testing.T) {
	scores := []float32{0.25, 0.75, 0.25, 0.75, 0.25, 0.75, 0.25, 0.75}
	labels := []float32{1, 1, 0, 1, 0, 1, 0, 0}
	for _, bins := range []int{2, 8} {
		got := Reliability(scores, labels, bins)
		if len(got) != 2 {
			t.Fatalf("%d groups of two predictions: %+v", len(got), got)
		}
		for i, want := range []Bin{
			{Low: 0.25, High: 0.25, Predicted: 0.25, Count: 4, Positives: 1},
			{Low: 0.75, High: 0.75, Predicted: 0.75, Count: 4, Positives: 3},
		} {
			want.Observed = got[i].Observed
			if got[i] != want || math.Abs(got[i].Observed.Estimate-want.Predicted) > 1e-12 {
				t.Errorf("group %d: %+v, want %+v", i, got[i], want)
			}
		}
	}
	// One prediction of half of the samples does not leave crumbs for the other groups.
	if got := Reliability([]float32{0, 0, 0, 0, 1, 2, 3, 4}, make([]float32, 8), 3); got[1].Count != 2 ||
		got[2].Count != 2 {
		t.Errorf("beside a group of four: %+v", got)
	}
	if got := Reliability(nil, nil, 3); got != nil {
		t.Errorf("no samples: %+v", got)
	}
}

// Wilson's interval is that of the p with (p̂ − p)² = z² p(1−p)/n: its ends solve the equation.
func TestWilson(t *testing.T) {
	for _, c := range [][2]int{{0, 10}, {1, 10}, {5, 10}, {10, 10}, {37, 1000}, {1, 1}} {
		got := wilson(c[0], c[1])
		for _, p := range []float64{got.Low, got.High} {
			left := (got.Estimate - p) * (got.Estimate - p)
			right := 1.959963984540054 * 1.959963984540054 * p * (1 - p) / float64(c[1])
			if math.Abs(left-right) > 1e-12 {
				t.Errorf("%d of %d: end %v of %+v is no solution", c[0], c[1], p, got)
			}
		}
		if !(got.Low <= got.Estimate && got.Estimate <= got.High && got.Low < got.High) {
			t.Errorf("%d of %d: %+v", c[0], c[1], got)
		}
	}
}

// Groups follow each other without overlap, hold every sample once and, without equal predictions, differ in
// size by at most one.
func TestReliabilityGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, scores, labels := rapid.IntRange(0, 60).Draw(t, "samples"), []float32(nil), []float32(nil)
		for range n {
			scores = append(scores, float32(rapid.IntRange(0, 40).Draw(t, "score"))/40)
			labels = append(labels, float32(rapid.IntRange(0, 1).Draw(t, "label")))
		}
		bins := rapid.IntRange(1, 12).Draw(t, "bins")
		got := Reliability(scores, labels, bins)
		count, positives, distinct := 0, 0, map[float32]bool{}
		for _, s := range scores {
			distinct[s] = true
		}
		for i, b := range got {
			count, positives = count+b.Count, positives+b.Positives
			if i > 0 && !(got[i-1].High < b.Low) || !(b.Low <= b.High) || b.Count < 1 {
				t.Fatalf("group %d: %+v", i, got)
			}
			if least := len(scores) / bins; len(distinct) == len(scores) && len(scores) >= bins &&
				(b.Count < least || b.Count > least+1) {
				t.Fatalf("group %d of %d samples in %d has %d", i, len(scores), bins, b.Count)
			}
		}
		want := 0
		for _, l := range labels {
			if positive(l) {
				want++
			}
		}
		if count != len(scores) || positives != want || len(got) > bins {
			t.Fatalf("%d groups with %d samples and %d positives; want at most %d, %d and %d", len(got),
				count, positives, bins, len(scores), want)
		}
	})
}
