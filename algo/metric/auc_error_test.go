package metric_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/metric"
	"tandem/algo/rng"
)

// slowAUCError is DeLong's definition, pair by pair.
func slowAUCError(scores, labels []float32) float64 {
	var shares [2][]float64 // of negative and of positive rows
	for i := range scores {
		order, others := 0.0, 0.0
		for j := range scores {
			if labels[i] == labels[j] {
				continue
			}
			others++
			switch higher := scores[i] > scores[j]; {
			case scores[i] == scores[j]:
				order += 0.5
			case higher == (labels[i] == 1):
				order++
			}
		}
		shares[int(labels[i])] = append(shares[int(labels[i])], order/others)
	}
	sum := 0.0
	for _, of := range shares {
		mean, squares, n := 0.0, 0.0, float64(len(of))
		for _, s := range of {
			mean += s / n
		}
		for _, s := range of {
			squares += (s - mean) * (s - mean)
		}
		sum += squares / (n - 1) / n
	}
	return math.Sqrt(sum)
}

func TestAUCStandardErrorIsDeLongs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scores, labels := draw(t)
		positives := 0
		for _, label := range labels {
			positives += int(label)
		}
		got := metric.AUCStandardError(scores, labels)
		if min(positives, len(labels)-positives) < 2 {
			if !math.IsNaN(got) {
				t.Fatalf("%v with %d positives of %d rows", got, positives, len(labels))
			}
			return
		}
		if want := slowAUCError(scores, labels); math.Abs(got-want) > 1e-12 {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

// The error is the standard deviation of the AUC over draws of the test rows.
func TestAUCStandardErrorIsTheSpreadOverDraws(t *testing.T) {
	stream := rng.New(1, "draws")
	var aucs []float64
	sum := 0.0
	const draws, rows = 400, 300
	for range draws {
		scores, labels := make([]float32, rows), make([]float32, rows)
		for i := range rows {
			if stream.Float64() < 0.2 {
				labels[i] = 1
			}
			scores[i] = float32(stream.Float64()) + 0.3*labels[i]
		}
		aucs = append(aucs, metric.AUC(scores, labels))
		sum += metric.AUCStandardError(scores, labels) / draws
	}
	mean, squares := 0.0, 0.0
	for _, auc := range aucs {
		mean += auc / draws
	}
	for _, auc := range aucs {
		squares += (auc - mean) * (auc - mean) / (draws - 1)
	}
	// A standard deviation of 400 draws is known to 1/√800, 3.5 %; three times that is allowed.
	if spread := math.Sqrt(squares); math.Abs(sum/spread-1) > 0.11 {
		t.Errorf("mean standard error %v, spread over draws %v", sum, spread)
	}
}

func TestAUCStandardErrorOfNaN(t *testing.T) {
	nan := float32(math.NaN())
	if got := metric.AUCStandardError([]float32{1, nan, 2, 3}, []float32{0, 1, 0, 1}); !math.IsNaN(got) {
		t.Error(got)
	}
}
