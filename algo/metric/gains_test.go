package metric_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/metric"
)

// Ten rows, four positive. The two highest scores are positive; the next four are equal, with one positive
// among them: half of these four hold half a positive row.
func TestGainsByHand(t *testing.T) {
	scores := []float32{9, 8, 5, 5, 5, 5, 3, 2, 1, 0}
	labels := []float32{1, 1, 0, 1, 0, 0, 0, 1, 0, 0}
	got := metric.Gains(scores, labels, []float64{0.1, 0.2, 0.4, 0.6, 0.8, 1})
	for i, found := range []float64{0.25, 0.5, 0.625, 0.75, 1, 1} {
		if math.Abs(got[i].Found-found) > 1e-12 {
			t.Errorf("in %v of the rows: %v, want %v", got[i].Share, got[i].Found, found)
		}
	}
	if lift := got[1].Lift(); math.Abs(lift-2.5) > 1e-12 {
		t.Errorf("lift %v, want half of the positive rows in a fifth of all: 2.5", lift)
	}
	if metric.Gains(scores, make([]float32, 10), []float64{1}) != nil {
		t.Error("there are gains without positive rows")
	}
}

// The area between the curve and the diagonal is what AUC says: with P of n rows positive, the area below the
// curve is AUC·(1−P/n) + P/2n. Shares at every row cut the curve where it bends.
func TestGainsHaveTheAreaOfAUC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scores, labels := draw(t)
		n, positives := float64(len(labels)), 0.0
		for _, label := range labels {
			positives += float64(label)
		}
		if positives == 0 || positives == n {
			return
		}
		var shares []float64
		for i := range labels {
			shares = append(shares, float64(i+1)/n)
		}
		area, before := 0.0, 0.0
		for _, g := range metric.Gains(scores, labels, shares) {
			area, before = area+(before+g.Found)/2/n, g.Found
		}
		if want := metric.AUC(scores, labels)*(1-positives/n) + positives/n/2; math.Abs(area-want) > 1e-9 {
			t.Fatalf("area %v, want %v", area, want)
		}
	})
}

// Scores that are no numbers are as tied as equal ones.
func TestGainsOfScoresThatAreNoNumbers(t *testing.T) {
	nan := float32(math.NaN())
	got := metric.Gains([]float32{nan, nan, 1}, []float32{1, 0, 1}, []float64{1})
	if len(got) != 1 || got[0].Found != 1 {
		t.Errorf("gains %+v, want all positive samples", got)
	}
}
