package metric

import (
	"math"
	"testing"
)

// Of four rows with the log losses ln 2 and ln 4/3, or ln 2 and ln 4, the differences are ±ln 2 and ln 3/2:
// mean and standard error follow from them by hand.
func TestLossDifference(t *testing.T) {
	labels := []float32{1, 1, 0, 0}
	a, b := []float32{0.5, 0.5, 0.5, 0.5}, []float32{0.25, 0.75, 0.75, 0.25}
	down, up := -math.Log(2), math.Log(1.5) // 0.5 against 0.25 for the label, and against 0.75
	mean, e := LossDifference(a, b, labels, nil, false)
	wantMean, spread := (down+up)/2, (up-down)/2
	if wantError := spread * math.Sqrt(4.0/3) / 2; math.Abs(mean-wantMean) > 1e-6 ||
		math.Abs(e-wantError) > 1e-6 {
		t.Errorf("%v ± %v, want %v ± %v", mean, e, wantMean, wantError)
	}
	// Weighted, only the first row counts twice as much as the second one.
	if mean, _ := LossDifference(a, b, labels, []float32{2, 1, 0, 0}, false); math.Abs(mean-
		(2*down+up)/3) > 1e-6 {
		t.Errorf("weighted: %v", mean)
	}
	// Squared errors 1 and 0 of numbers: the differences are 1, −1, 0 and 0.
	mean, e = LossDifference([]float32{1, 2, 3, 4}, []float32{2, 3, 3, 4}, []float32{2, 2, 3, 4}, nil, true)
	if want := math.Sqrt(2*4.0/3) / 4; math.Abs(mean) > 1e-9 || math.Abs(e-want) > 1e-9 {
		t.Errorf("squared: %v ± %v, want 0 ± %v", mean, e, want)
	}
	if _, e := LossDifference(a[:1], b[:1], labels[:1], nil, false); !math.IsInf(e, 1) {
		t.Errorf("one row: standard error %v", e)
	}
}
