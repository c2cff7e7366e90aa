package predict_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"tandem/algo/quantity"
	"tandem/algo/unit"
	"tandem/sim/predict"
)

// A ratio has the median, interval and odds of its points, and points at which a job does not fit count
// nothing.
func TestPair(t *testing.T) {
	nan := math.NaN()
	p := predict.Pair([]float64{2, 6, 5, nan, 8}, []float64{4, 6, 2, 1, nan})
	if p.Ratio != 1 || p.Above != 0.5 || p.Interval.Low >= 0.52 || p.Interval.High <= 2.4 ||
		!math.IsNaN(p.Points[3]) {
		t.Errorf("%+v", p)
	}
	one := []float64{1}
	if predict.Pair([]float64{1, 2}, one) != nil || predict.Pair([]float64{nan}, one) != nil {
		t.Error("values without a point in common have a ratio")
	}
}

// What two jobs share cancels: the same job has the ratio 1 at every point, and one with faster cores is
// faster at all of them, by a ratio known better than either throughput.
func TestPairedJobsShareTheirUnknowns(t *testing.T) {
	const n = 32
	slow, fast := persia(t), persia(t)
	for _, e := range fast.Parameters() {
		if e.Name == "server.core-speed" || e.Name == "embedding-workers.core-speed" {
			e.Parameter.Improve(1.5)
		}
	}
	o := predict.Options{Samples: n, WithoutEnds: true}
	a, b := run(t, slow, o), run(t, fast, o)
	same := predict.Pair(a.Samples, a.Samples)
	if same.Ratio != 1 || same.Above != 0.5 || same.Interval != (predict.Interval{Low: 1, High: 1}) {
		t.Errorf("a job against itself: %+v", same)
	}
	p := predict.Pair(b.Samples, a.Samples)
	if p.Above != 1 || p.Ratio <= 1.02 || p.Interval.Width() > a.Interval.Width()/1.3 {
		t.Errorf("1.5 times the speed: ratio %.3f (%+v) at %.2f of the points; alone %+v", p.Ratio,
			p.Interval, p.Above, a.Interval)
	}
}

// The parameter that alone makes a ratio decides it; where one job has another calibration, each has its own;
// chance decides nothing.
func TestDecidersFindTheParameterBehindARatio(t *testing.T) {
	const n, name = 64, "embedding-workers.core-speed"
	a, b := persia(t), persia(t)
	v := a.Parameters()
	ratios := make([]float64, n)
	for k, point := range v.Sample(n, 1) {
		for i, e := range v {
			if e.Name == name {
				ratios[k] = math.Exp(point[i])
			}
		}
	}
	names := [2]string{"B", "A"}
	if d := predict.Deciders(a, b, names, ratios); len(d) != 1 || d[0].Name != name || d[0].Share < 0.999 {
		t.Errorf("decided by %+v, want %s", d, name)
	}
	r := rand.New(rand.NewPCG(1, 2))
	found := 0
	const draws = 400
	for range draws {
		noise := make([]float64, n)
		for k := range noise {
			noise[k] = r.NormFloat64()
		}
		found += min(1, len(predict.Deciders(a, b, names, noise)))
	}
	if found > draws/10 { // 1 in 20 is what chance may decide
		t.Errorf("%d of %d times noise is decided", found, draws)
	}
	if d := predict.Deciders(a, b, names, ratios[:3]); len(d) > 0 {
		t.Errorf("3 points are decided by %+v", d)
	}
	// Predictions with hugectr are off by more than the number of GPUs changes of what is not known.
	a = choose(t, predict.Choice{Preset: "dgx-h100", GPUs: 8})
	b = choose(t, predict.Choice{Preset: "dgx-h100", GPUs: 16})
	o := predict.Options{Samples: n, WithoutEnds: true}
	p := predict.Pair(run(t, b, o).Samples, run(t, a, o).Samples)
	if d := predict.Deciders(b, a, names, p.Points); len(d) == 0 || d[0].Name != predict.ErrorOf+"hugectr" {
		t.Errorf("decided by %+v", d)
	}
}

// Prices follow the points: the middle is that of the profiles, and ranges of prices vary.
func TestDollarsAtPoints(t *testing.T) {
	j := choose(t, predict.Choice{Preset: "dgx-h100", GPUs: 8})
	middle, sampled, missing := j.DollarsPerHour(16)
	if want, _ := j.Hardware.DollarsPerHour(8, 0); middle != float64(want) || missing != "" ||
		len(sampled) != 16 {
		t.Errorf("$ %v (%v) at %d points, %q missing", middle, want, len(sampled), missing)
	}
	span := predict.Percentiles(sampled)
	if span.Low >= middle || span.High <= middle || span.Width() < 1.5 {
		t.Errorf("$ %v, at points %+v", middle, span)
	}
	j = persia(t)
	j.Hardware.EmbeddingPSs.Host.DollarsPerHour = quantity.Value[unit.Dollars]{}
	if _, _, missing = j.DollarsPerHour(2); missing == "" {
		t.Error("hosts without a price have one")
	}
}
