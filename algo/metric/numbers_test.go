package metric

import (
	"math"
	"testing"
)

// Errors of 1, 2 and 0, the last of which counts twice, have mean square 5/4; the labels 1, 3, 5 and 5 have
// mean 7/2 and variance 11/4.
func TestMetricsOfNumbers(t *testing.T) {
	predicted, labels, weights := []float32{2, 1, 5}, []float32{1, 3, 5}, []float32{1, 1, 2}
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"RMSE", RMSE(predicted, labels, weights), math.Sqrt(5.0 / 4)},
		{"RMSE without weights", RMSE(predicted, labels, nil), math.Sqrt(5.0 / 3)},
		{"deviation", Deviation(labels, weights), math.Sqrt(11.0 / 4)},
		{"R²", RSquared(predicted, labels, weights), 1 - (5.0/4)/(11.0/4)},
		{"R² of the mean", RSquared([]float32{3.5, 3.5, 3.5}, labels, weights), 0},
	} {
		if !(math.Abs(c.got-c.want) < 1e-12) {
			t.Errorf("%s = %v, want %v", c.name, c.got, c.want)
		}
	}
}
