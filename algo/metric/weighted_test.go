package metric

import (
	"math"
	"testing"

	"tandem/algo/rng"
)

// Rows of whole weights and of labels in quarters stand for rows of labels 0 and 1: those have the same AUC
// and log loss without weights.
func TestWeightedMetricsAreThoseOfRowsWithoutWeights(t *testing.T) {
	draw := rng.New(1, "weighted")
	for range 200 {
		var scores, labels, weights, all, truth []float32
		for range 1 + draw.IntN(30) {
			score, quarters, weight := float32(draw.IntN(6))/8+0.1, draw.IntN(5), draw.IntN(3)
			scores, labels = append(scores, score), append(labels, float32(quarters)/4)
			weights = append(weights, float32(4*weight))
			for k := range 4 * weight {
				all, truth = append(all, score), append(truth, 0)
				if k < quarters*weight {
					truth[len(truth)-1] = 1
				}
			}
		}
		for _, c := range []struct {
			name      string
			got, want float64
		}{
			{"AUC", WeightedAUC(scores, labels, weights), AUC(all, truth)},
			{"log loss", WeightedLogLoss(scores, labels, weights), LogLoss(all, truth)},
			{"mean", WeightedMean(labels, weights), WeightedMean(truth, nil)},
		} {
			if !(math.Abs(c.got-c.want) < 1e-12) && !(math.IsNaN(c.got) && math.IsNaN(c.want)) {
				t.Fatalf("%s = %v, want %v: %v, %v, %v", c.name, c.got, c.want, scores, labels, weights)
			}
		}
	}
}

// Labels of two classes without weights have the bits of AUC and LogLoss.
func TestWeightedMetricsOfClasses(t *testing.T) {
	draw := rng.New(2, "weighted")
	var scores, labels []float32
	for range 1000 {
		scores, labels = append(scores, draw.Float32()), append(labels, float32(draw.IntN(2)))
	}
	if got, want := WeightedAUC(scores, labels, nil), AUC(scores, labels); got != want {
		t.Errorf("AUC = %v, want %v", got, want)
	}
	plain := 0.0
	for i, p := range scores {
		if labels[i] == 1 {
			plain -= math.Log(float64(p))
		} else {
			plain -= math.Log1p(-float64(p))
		}
	}
	if got := LogLoss(scores, labels); got != plain/1000 {
		t.Errorf("log loss = %v, want %v", got, plain/1000)
	}
	nan := float32(math.NaN())
	for _, c := range [][3][]float32{
		{{0.1, nan}, {0.5, 1}, nil}, {{0.1, 0.2}, {0, 0}, {1, 2}}, {{0.1, 0.2}, {0, 1}, {1, 0}},
	} {
		if got := WeightedAUC(c[0], c[1], c[2]); !math.IsNaN(got) {
			t.Errorf("AUC of %v = %v, want NaN", c, got)
		}
	}
}
