package synth

import (
	"math"
	"slices"
	"testing"

	"tandem/algo/job"
)

func conversions(shared float64) job.Synthetic {
	return job.Synthetic{
		Seed: 3, TrainRows: 20_000, TestRows: 20_000, Numeric: 2, PositiveRate: 0.3,
		Columns:    []job.SyntheticColumn{{Cardinality: 1000, Exponent: 1}, {Cardinality: 50, Exponent: 0.5}},
		Conversion: &job.SyntheticConversion{Rate: 0.2, Shared: shared},
	}
}

// A second label changes neither ids nor numbers nor the first label, is 1 only after a click,
// and has the frequency of its probability.
func TestConversionFollowsAClick(t *testing.T) {
	both, err := Generate(conversions(0.5))
	if err != nil {
		t.Fatal(err)
	}
	alone := conversions(0)
	alone.Conversion = nil
	clicks, err := Generate(alone)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(both.Labels, []string{"click", "conversion"}) ||
		!slices.Equal(both.Test.Dense, clicks.Test.Dense) {
		t.Error("the rows are others")
	}
	converted, expected := 0.0, 0.0
	for i := range both.Test.Samples {
		click, conversion := both.Test.Labels[2*i], both.Test.Labels[2*i+1]
		if click != clicks.Test.Labels[i] || both.TestProbability[2*i] != clicks.TestProbability[i] {
			t.Fatalf("row %d: another click", i)
		}
		if conversion > click || both.TestProbability[2*i+1] > both.TestProbability[2*i] {
			t.Fatalf("row %d: a conversion without a click, or more probable", i)
		}
		converted += float64(conversion)
		expected += both.TestProbability[2*i+1]
	}
	// A sum of 20000 draws of mean below 0.1 deviates by less than √(20000·0.1) = 45.
	if math.Abs(converted-expected) > 4*45 {
		t.Errorf("%v conversions, %v expected", converted, expected)
	}
}

// The two logits have the requested correlation, and the mean probability of a conversion after
// a click is the requested rate.
func TestConversionScoresHaveTheRequestedCorrelation(t *testing.T) {
	for _, shared := range []float64{0, 0.5, 1} {
		data, err := Generate(conversions(shared))
		if err != nil {
			t.Fatal(err)
		}
		var x, y, xx, yy, xy, rate float64
		n := float64(data.Test.Samples)
		for i := range data.Test.Samples {
			click, follows := data.TestProbability[2*i], data.TestProbability[2*i+1]/data.TestProbability[2*i]
			a, b := math.Log(click/(1-click)), math.Log(follows/(1-follows))
			x, y, xx, yy, xy, rate = x+a/n, y+b/n, xx+a*a/n, yy+b*b/n, xy+a*b/n, rate+follows/n
		}
		got := (xy - x*y) / math.Sqrt((xx-x*x)*(yy-y*y))
		// Both teachers score the same few ids; their scores correlate by chance, by a few
		// hundredths.
		if math.Abs(got-shared) > 0.1 || math.Abs(rate-0.2) > 0.01 {
			t.Errorf("shared %v: correlation %.3f, rate %.3f, want 0.2", shared, got, rate)
		}
	}
}
