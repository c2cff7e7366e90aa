package metric

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/rng"
)

// sample draws the scores of two models for the same rows. Positive rows score higher by shift standard
// deviations; b is a with noise added.
func sample(seed uint64, rows int, shift, noise float64) (a, b, labels []float32) {
	stream := rng.New(seed, "rows")
	for i := range rows {
		label := float64(i % 2)
		score := stream.NormFloat64() + float64(shift*label)
		a = append(a, float32(score))
		b = append(b, float32(score+float64(noise*stream.NormFloat64())))
		labels = append(labels, float32(label))
	}
	return a, b, labels
}

func TestAUCDifferenceOfEqualModelsIsZero(t *testing.T) {
	a, _, labels := sample(1, 200, 1, 0)
	if got := AUCDifference(a, a, labels, 50, 1); got != (Interval{}) {
		t.Errorf("interval %+v, want all zero: both models get the same draws", got)
	}
}

func TestAUCDifferenceFindsTheBetterModel(t *testing.T) {
	a, b, labels := sample(2, 2000, 1, 1)
	got := AUCDifference(a, b, labels, 300, 2)
	if want := AUC(a, labels) - AUC(b, labels); got.Estimate != want {
		t.Errorf("estimate %v, want %v", got.Estimate, want)
	}
	if !(0 < got.Low && got.Low < got.Estimate && got.Estimate < got.High) {
		t.Errorf("interval %+v, want one above 0", got)
	}
	if Judge(got, EquivalenceMargin) != Different {
		t.Errorf("verdict %v, want different", Judge(got, EquivalenceMargin))
	}
	if again := AUCDifference(a, b, labels, 300, 2); again != got {
		t.Errorf("same seed: %+v, then %+v", got, again)
	}
	if other := AUCDifference(a, b, labels, 300, 3); other == got {
		t.Error("another seed draws the same rows")
	}
}

// If positive scores are normal and shifted by d, AUC is Φ(d/√2); with added noise of equal variance it is
// Φ(d/2). The true difference for d = 1 is Φ(0.7071) − Φ(0.5) = 0.7602 − 0.6915. A 95 % interval misses it
// more than 8 times in 60 trials with a probability below 0.3 %.
func TestAUCDifferenceCoversTheTruth(t *testing.T) {
	phi := func(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }
	truth := phi(1/math.Sqrt2) - phi(0.5)
	missed := 0
	for seed := range uint64(60) {
		a, b, labels := sample(100+seed, 400, 1, 1)
		if i := AUCDifference(a, b, labels, 200, seed); truth < i.Low || truth > i.High {
			missed++
		}
	}
	if missed > 8 {
		t.Errorf("missed the truth in %d of 60 trials", missed)
	}
}

// Model a scores the negative row above 50 of 100 positive rows; model b scores it below all of them. The
// difference of a resample is then B/100 − 1, where B, the number of drawn rows of the upper half, is
// binomial with n = 100 and p = ½. P(B ≤ 39) = 0.0176 and P(B ≤ 40) = 0.0284, so the 2.5 % point of B is 40
// and, by symmetry, the 97.5 % point is 60. (The points of a 90 % interval are 42 and 58.)
func TestAUCDifferenceLimitsAreThePointsOf95Percent(t *testing.T) {
	a, b, labels := []float32{0}, []float32{0}, []float32{0}
	for row := range 100 {
		a = append(a, float32(2*(row%2)-1))
		b = append(b, 1)
		labels = append(labels, 1)
	}
	got := AUCDifference(a, b, labels, 20_000, 1)
	want := Interval{-0.5, -0.6, -0.4}
	near := math.Abs(got.Low-want.Low) < 1e-12 && math.Abs(got.High-want.High) < 1e-12
	if !near || got.Estimate != want.Estimate {
		t.Errorf("interval %+v, want %+v", got, want)
	}
}

func TestAUCDifferenceWithoutOneClass(t *testing.T) {
	got := AUCDifference([]float32{1, 2}, []float32{2, 1}, []float32{1, 1}, 10, 1)
	if !math.IsNaN(got.Estimate) || !math.IsNaN(got.Low) || !math.IsNaN(got.High) {
		t.Errorf("interval %+v, want NaN", got)
	}
}

// A weight of w counts as w copies of the row.
func TestRankingWeightsAreCopies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "rows")
		scores, labels := make([]float32, n), make([]float32, n)
		weights := make([]uint32, n)
		var copiedScores, copiedLabels []float32
		for i := range n {
			scores[i] = float32(rapid.IntRange(-3, 3).Draw(t, "score"))
			labels[i] = float32(rapid.IntRange(0, 1).Draw(t, "label"))
			weights[i] = uint32(rapid.IntRange(0, 3).Draw(t, "weight"))
			for range weights[i] {
				copiedScores = append(copiedScores, scores[i])
				copiedLabels = append(copiedLabels, labels[i])
			}
		}
		got, want := newRanking(scores).auc(weights, labels), AUC(copiedScores, copiedLabels)
		if got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Fatalf("weighted %v, copied %v", got, want)
		}
	})
}

func TestPercentile(t *testing.T) {
	values := []float64{10, 20, 30, 40, 50}
	for p, want := range map[float64]float64{0: 10, 0.5: 30, 1: 50, 0.625: 35} {
		if got := percentile(values, p); got != want {
			t.Errorf("percentile %v = %v, want %v", p, got, want)
		}
	}
}

func BenchmarkAUCDifference(b *testing.B) {
	x, y, labels := sample(1, 100_000, 1, 1)
	for b.Loop() {
		AUCDifference(x, y, labels, 10, 1)
	}
}

// One seed, with the scores of the test above: the difference of a resample is B/100 − 1, where B is binomial
// with n = 100 and p = ½, so its deviation is 0.05. Two seeds with these scores share the rows and have the
// same deviation; a second seed without any difference halves it.
func TestAUCRowDeviation(t *testing.T) {
	a, b, labels := []float32{0}, []float32{0}, []float32{0}
	for row := range 100 {
		a = append(a, float32(2*(row%2)-1))
		b = append(b, 1)
		labels = append(labels, 1)
	}
	for _, c := range []struct {
		a, b [][]float32
		want float64
	}{
		{[][]float32{a}, [][]float32{b}, 0.05}, {[][]float32{a, a}, [][]float32{b, b}, 0.05},
		{[][]float32{a, b}, [][]float32{b, b}, 0.025}, {[][]float32{b}, [][]float32{b}, 0},
	} {
		if got := AUCRowDeviation(c.a, c.b, labels, 10_000, 1); math.Abs(got-c.want) > 0.001 {
			t.Errorf("deviation %v, want %v", got, c.want)
		}
	}
	if got := AUCRowDeviation([][]float32{{1, 2}}, [][]float32{{2, 1}}, []float32{1, 1}, 10, 1); got == got {
		t.Errorf("deviation %v without a class, want NaN", got)
	}
}

// Shares, weights and numbers have the difference of a resample that its rows have, each copied as often as
// it was drawn.
func TestDifferencesOfOneResampleAreThoseOfItsRows(t *testing.T) {
	const n = 60
	for seed := range uint64(20) {
		stream := rng.New(seed, "rows")
		values := func(of func() float64) (all []float32) {
			for range n {
				all = append(all, float32(of()))
			}
			return all
		}
		class := func() float64 { return float64(stream.IntN(2)) }
		a, b, weights := values(stream.NormFloat64), values(stream.NormFloat64), values(class)
		for _, c := range []struct {
			name            string
			labels, weights []float32
			groups          func([]float32) [][]int32
			score           func(predicted, labels, weights []float32) float64
			difference      func(a, b, labels, weights []float32, resamples int, seed uint64) Interval
		}{
			{"classes", values(class), nil, classesOf, WeightedAUC, WeightedAUCDifference},
			{"weighted classes", values(class), weights, classesOf, WeightedAUC, WeightedAUCDifference},
			{"shares", values(stream.Float64), nil, nil, WeightedAUC, WeightedAUCDifference},
			{"weighted shares", values(stream.Float64), weights, nil, WeightedAUC, WeightedAUCDifference},
			{"numbers", values(stream.NormFloat64), nil, nil, RSquared, RSquaredDifference},
			{"weighted numbers", values(stream.NormFloat64), weights, nil, RSquared, RSquaredDifference},
		} {
			groups := together(n)
			if c.groups != nil {
				groups = c.groups(c.labels)
			}
			drawn := func(values []float32) (all []float32) {
				resample(groups, 1, seed, func(counts []uint32) {
					for row, count := range counts {
						if values != nil {
							all = append(all, slices.Repeat(values[row:row+1], int(count))...)
						}
					}
				})
				return all
			}
			got := c.difference(a, b, c.labels, c.weights, 1, seed)
			want := c.score(drawn(a), drawn(c.labels), drawn(c.weights)) -
				c.score(drawn(b), drawn(c.labels), drawn(c.weights))
			if math.Abs(got.Low-want) > 1e-12 || got.Low != got.High {
				t.Errorf("%s, seed %d: %v, the rows have %v", c.name, seed, got, want)
			}
			whole := c.score(a, c.labels, c.weights) - c.score(b, c.labels, c.weights)
			if got.Estimate != whole {
				t.Errorf("%s, seed %d: estimate %v, want %v", c.name, seed, got.Estimate, whole)
			}
		}
	}
}

// Labels are a number and noise of variance 1 each. Model a predicts the number, b with noise of variance ½
// added, so their R² are ½ and ¼.
func TestRSquaredDifferenceCoversTheTruth(t *testing.T) {
	missed := 0
	for seed := range uint64(60) {
		stream := rng.New(seed, "numbers")
		var a, b, labels []float32
		for range 400 {
			x := stream.NormFloat64()
			a = append(a, float32(7+x))
			b = append(b, float32(7+x+math.Sqrt(0.5)*stream.NormFloat64()))
			labels = append(labels, float32(7+x+stream.NormFloat64()))
		}
		if i := RSquaredDifference(a, b, labels, nil, 200, seed); i.Low > 0.25 || i.High < 0.25 {
			missed++
		}
	}
	if missed > 8 {
		t.Errorf("missed the truth in %d of 60 trials", missed)
	}
}

// What no resample has is NaN.
func TestDifferencesWithoutLabelsThatDiffer(t *testing.T) {
	a, b := []float32{1, 2, 3}, []float32{3, 2, 1}
	for _, got := range []Interval{
		WeightedAUCDifference(a, b, []float32{1, 1, 1}, []float32{1, 2, 0}, 10, 1),
		RSquaredDifference(a, b, []float32{2, 2, 2}, nil, 10, 1),
	} {
		if !math.IsNaN(got.Estimate) || !math.IsNaN(got.Low) || !math.IsNaN(got.High) {
			t.Errorf("interval %+v, want NaN", got)
		}
	}
}

// Of twenty labels two differ from the others, and every eighth resample has neither: it counts as none,
// though rounding leaves its labels a variance.
func TestRSquaredDifferenceOfResamplesWithoutLabelsThatDiffer(t *testing.T) {
	labels, a, b := make([]float32, 20), make([]float32, 20), make([]float32, 20)
	labels[3], labels[7] = 0.3, 0.7
	for i := range labels {
		a[i], b[i] = labels[i]+0.1, labels[i]-0.2
	}
	if got := RSquaredDifference(a, b, labels, nil, 500, 1); got.Low < 0 || got.High > 1e3 {
		t.Errorf("interval %+v of models whose errors are 0.1 and 0.2", got)
	}
}
