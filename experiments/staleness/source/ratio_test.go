package source

import (
	"math"
	"testing"

	"tandem/algo/metric"
	"tandem/algo/rng"
)

// Where y does not vary, the ends are those of the mean of x, divided by y.
func TestRatioToAConstant(t *testing.T) {
	x := []float64{0.03, 0.05, 0.04, 0.06}
	want := metric.MeanInterval(x)
	r := newRatio(x, []float64{0.01, 0.01, 0.01, 0.01})
	if r.Low == nil || r.High == nil || math.Abs(*r.Low-want.Low/0.01) > 1e-9 ||
		math.Abs(*r.High-want.High/0.01) > 1e-9 || math.Abs(r.Estimate-4.5) > 1e-9 {
		t.Errorf("%v, want %v ÷ 0.01", r, want)
	}
}

// The set contains the true ratio in 95 % of 1,000 samples, also where y is so noisy that the set often has
// no ends. Three standard deviations of a share of 0.95 are 0.02.
func TestRatioCoversTheTruth(t *testing.T) {
	const samples, seeds, truth = 1000, 10, 3
	for _, c := range []struct{ y, noise float64 }{{0.01, 0.003}, {0.01, 0.03}} {
		covered, ended := 0, 0
		for i := range samples {
			stream := rng.New(uint64(i), "ratio")
			var x, y []float64
			for range seeds {
				common := stream.NormFloat64() * c.noise
				x = append(x, truth*c.y+common+stream.NormFloat64()*c.noise)
				y = append(y, c.y+common)
			}
			switch r := newRatio(x, y); {
			case r.High != nil:
				ended++
				if *r.Low <= truth && truth <= *r.High {
					covered++
				}
			case r.Low == nil || *r.Low <= truth:
				covered++
			}
		}
		if share := float64(covered) / samples; share < 0.93 || c.noise < 0.01 && share > 0.97 {
			t.Errorf("noise %v: %v of the sets contain the truth", c.noise, share)
		}
		if enough := samples * 9 / 10; c.noise < 0.01 && ended < enough || c.noise > 0.01 && ended > enough {
			t.Errorf("noise %v: %d of %d sets have ends", c.noise, ended, samples)
		}
	}
}

func TestRatioTexts(t *testing.T) {
	for _, c := range []struct {
		x, y []float64
		want string
	}{
		{[]float64{4, 4, 4}, []float64{2, 2, 2}, "2 (2 to 2)"},
		{[]float64{0.040, 0.041, 0.042}, []float64{0.003, 0, 0.001}, "≥ 7.7"},
		{[]float64{1, -1, 0.1}, []float64{-1, 1, 0.2}, "any"},
		{[]float64{1, 1, 1}, []float64{0, 0, 0}, "any"},
	} {
		if got := newRatio(c.x, c.y).String(); got != c.want {
			t.Errorf("%v ÷ %v: %s, want %s", c.x, c.y, got, c.want)
		}
	}
}
