package metric

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"tandem/algo/rng"
)

func TestStudentQuantileAgainstGonum(t *testing.T) {
	for degrees := 1; degrees <= 40; degrees++ {
		for _, p := range []float64{0.9, 0.975, 0.995} {
			want := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(degrees)}.Quantile(p)
			if got := studentQuantile(p, degrees); math.Abs(got-want) > 1e-14*want {
				t.Errorf("t(%v, %d) = %v, gonum %v", p, degrees, got, want)
			}
		}
	}
}

func TestStudentQuantileAgainstPrintedTable(t *testing.T) {
	// The 0.975 column of a printed table of Student's t.
	for degrees, want := range map[int]float64{1: 12.706, 4: 2.776, 9: 2.262, 30: 2.042} {
		if got := studentQuantile(0.975, degrees); math.Abs(got-want) > 5e-4 {
			t.Errorf("t(0.975, %d) = %v, table %v", degrees, got, want)
		}
	}
}

func TestMeanInterval(t *testing.T) {
	// Mean 3, variance (4+1+0+1+4)/4 = 2.5, so half = 2.776·√(2.5/5) = 1.963.
	got := MeanInterval([]float64{1, 2, 3, 4, 5})
	if got.Estimate != 3 || math.Abs(got.High-3-1.963) > 1e-3 || math.Abs(3-got.Low-1.963) > 1e-3 {
		t.Errorf("interval %+v, want 3 ± 1.963", got)
	}
	got = MeanInterval([]float64{2})
	if got.Estimate != 2 || !math.IsInf(got.Low, -1) || !math.IsInf(got.High, 1) {
		t.Errorf("interval of one value %+v", got)
	}
	if got := MeanInterval(nil); !math.IsNaN(got.Estimate) || !math.IsNaN(got.Low) {
		t.Errorf("interval without values %+v", got)
	}
}

// A 95 % interval contains the true mean in 95 % of trials. The share of 2,000 trials has a standard
// deviation of 0.5 %, so 93 % to 97 % is four of them.
func TestMeanIntervalCoversTheMean(t *testing.T) {
	const trials = 2000
	covered := 0
	stream := rng.New(1, "coverage")
	for range trials {
		values := make([]float64, 5)
		for i := range values {
			values[i] = stream.NormFloat64()
		}
		if i := MeanInterval(values); i.Low <= 0 && 0 <= i.High {
			covered++
		}
	}
	if share := float64(covered) / trials; share < 0.93 || share > 0.97 {
		t.Errorf("covered %.3f, want 0.95", share)
	}
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      Verdict
	}{
		{-0.0004, 0.0006, Equivalent},
		{0.0002, 0.0006, Equivalent}, // certain but negligible
		{0.0002, 0.0016, Different},
		{-0.004, -0.002, Different},
		{-0.0002, 0.0016, Inconclusive},
		{-0.001, 0.0005, Inconclusive}, // the margin itself is outside
		{math.NaN(), math.NaN(), Inconclusive},
		{math.Inf(-1), math.Inf(1), Inconclusive},
	} {
		if got := Judge(Interval{Low: c.low, High: c.high}, EquivalenceMargin); got != c.want {
			t.Errorf("[%v, %v]: %v, want %v", c.low, c.high, got, c.want)
		}
	}
}

// The product has the estimates' product inside the least and the largest product of values of both.
func TestTimesIsTheWidestProduct(t *testing.T) {
	for _, c := range []struct{ a, b, want Interval }{
		{Interval{2, 1, 3}, Interval{10, 5, 20}, Interval{20, 5, 60}},
		{Interval{1, -1, 3}, Interval{10, 5, 20}, Interval{10, -20, 60}},
		{Interval{-2, -3, -1}, Interval{-4, -5, -3}, Interval{8, 3, 15}},
	} {
		if got := c.a.Times(c.b); got != c.want {
			t.Errorf("%v × %v is %v, want %v", c.a, c.b, got, c.want)
		}
	}
}
