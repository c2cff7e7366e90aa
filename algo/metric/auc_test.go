package metric_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/metric"
	"tandem/algo/rng"
)

// slowAUC is the definition of AUC, pair by pair: the reference for AUC and StreamingAUC.
func slowAUC(scores, labels []float32) float64 {
	inOrder, pairs := 0.0, 0.0
	for i := range scores {
		for j := range scores {
			if labels[i] != 1 || labels[j] != 0 {
				continue
			}
			pairs++
			switch {
			case scores[i] > scores[j]:
				inOrder++
			case scores[i] == scores[j]:
				inOrder += 0.5
			}
		}
	}
	return inOrder / pairs // 0/0 is NaN
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// draw returns rows with few different scores, so that many tie.
func draw(t *rapid.T) (scores, labels []float32) {
	n := rapid.IntRange(0, 60).Draw(t, "rows")
	for range n {
		scores = append(scores, float32(rapid.IntRange(-8, 24).Draw(t, "score"))/16)
		labels = append(labels, float32(rapid.IntRange(0, 1).Draw(t, "label")))
	}
	return scores, labels
}

func TestAUC(t *testing.T) {
	nan := float32(math.NaN())
	inf := float32(math.Inf(1))
	negativeZero := float32(math.Copysign(0, -1))
	for _, c := range []struct {
		name           string
		scores, labels []float32
		want           float64
	}{
		{"perfect", []float32{1, 2, 3, 4}, []float32{0, 0, 1, 1}, 1},
		{"reversed", []float32{4, 3, 2, 1}, []float32{0, 0, 1, 1}, 0},
		{"all tied", []float32{2, 2, 2}, []float32{0, 1, 0}, 0.5},
		// The positive row scores 2: above 1, tied with 2. 1.5 of 2 pairs.
		{"one tie", []float32{1, 2, 2}, []float32{0, 0, 1}, 0.75},
		{"signed zeros tie", []float32{0, negativeZero}, []float32{1, 0}, 0.5},
		{"negative scores", []float32{-2, -1}, []float32{0, 1}, 1},
		{"infinite scores", []float32{-inf, inf}, []float32{0, 1}, 1},
		{"one class", []float32{1, 2}, []float32{1, 1}, math.NaN()},
		{"no rows", nil, nil, math.NaN()},
		{"not a number", []float32{1, nan}, []float32{0, 1}, math.NaN()},
	} {
		if got := metric.AUC(c.scores, c.labels); !same(got, c.want) {
			t.Errorf("%s: AUC = %v, want %v", c.name, got, c.want)
		}
	}
}

func TestAUCEqualsPairCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scores, labels := draw(t)
		if got, want := metric.AUC(scores, labels), slowAUC(scores, labels); !same(got, want) {
			t.Fatalf("AUC = %v, pair by pair %v", got, want)
		}
	})
}

func TestStreamingAUCStaysWithinItsBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scores, labels := draw(t)
		buckets := rapid.IntRange(1, 20).Draw(t, "buckets")
		cut := rapid.IntRange(0, len(scores)).Draw(t, "cut")
		whole := metric.NewStreamingAUC(buckets)
		left, right := metric.NewStreamingAUC(buckets), metric.NewStreamingAUC(buckets)
		whole.Add(scores, labels)
		left.Add(scores[:cut], labels[:cut])
		right.Add(scores[cut:], labels[cut:])
		right.Merge(left)
		if !same(whole.Value(), right.Value()) {
			t.Fatalf("merged value %v, value of all rows %v", right.Value(), whole.Value())
		}
		exact := slowAUC(scores, labels)
		undefined := math.IsNaN(exact)
		if undefined != math.IsNaN(whole.Value()) || undefined != math.IsNaN(whole.ErrorBound()) {
			t.Fatalf("value %v, bound %v, exact %v", whole.Value(), whole.ErrorBound(), exact)
		}
		const rounding = 1e-12
		if math.Abs(whole.Value()-exact) > whole.ErrorBound()+rounding {
			t.Fatalf("value %v, exact %v, bound %v", whole.Value(), exact, whole.ErrorBound())
		}
	})
}

func TestStreamingAUCErrorBoundIsReached(t *testing.T) {
	// One bucket: value ½, exact AUC 1, bound ½·1·1/(1·1).
	s := metric.NewStreamingAUC(1)
	s.Add([]float32{0.2, 0.4}, []float32{0, 1})
	if s.Value() != 0.5 || s.ErrorBound() != 0.5 {
		t.Errorf("value %v, bound %v, want 0.5 and 0.5", s.Value(), s.ErrorBound())
	}
	// Two buckets of 2 positives and 1 negative, 1 and 3: ½·(2·1 + 1·3)/(3·4).
	two := metric.NewStreamingAUC(2)
	two.Add([]float32{0.1, 0.2, 0.3, 0.6, 0.7, 0.8, 0.9}, []float32{1, 1, 0, 1, 0, 0, 0})
	if got, want := two.ErrorBound(), 5.0/24; math.Abs(got-want) > 1e-15 {
		t.Errorf("bound of two buckets %v, want %v", got, want)
	}
	s.Add([]float32{float32(math.NaN())}, []float32{0})
	if !math.IsNaN(s.Value()) {
		t.Errorf("value %v after a NaN, want NaN", s.Value())
	}
}

func BenchmarkAUC(b *testing.B) {
	const rows = 1 << 20
	scores, labels := make([]float32, rows), make([]float32, rows)
	for i := range scores {
		scores[i] = rng.Unit(1, i)
		if rng.Unit(2, i) < 0.3 {
			labels[i] = 1
		}
	}
	for b.Loop() {
		metric.AUC(scores, labels)
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
