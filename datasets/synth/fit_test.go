package synth

import (
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/job"
	"tandem/algo/rng"
)

// From counts in exact proportion to rank^−s, with a different share of rank 1, Fit recovers s,
// the share and the number of ids, all of which occur.
func TestFitOfExactCounts(t *testing.T) {
	for _, c := range []struct {
		ids      int
		exponent float64
		top      float64 // of rank 1, as a multiple of its own weight
	}{{1000, 1.2, 1}, {1000, 0, 1}, {500, 0.7, 40}, {50, 2, 3}, {3, 1, 1}} {
		counts := make([]int64, c.ids)
		var sum float64
		for i := range counts {
			counts[len(counts)-1-i] = int64(math.Round(1e9 * math.Pow(float64(i+1), -c.exponent)))
		}
		counts[len(counts)-1] = int64(c.top * 1e9)
		for _, count := range counts {
			sum += float64(count)
		}
		got := Fit(counts)
		// Bisection ends within 10⁻⁶; counts are rounded to 1 in 10⁵ at least.
		if math.Abs(got.Exponent-c.exponent) > 1e-4 || got.Cardinality != int64(c.ids) ||
			math.Abs(got.Top-c.top*1e9/sum) > 1e-9 {
			t.Errorf("%+v: fitted %+v", c, got)
		}
	}
}

// A column fitted to draws from a distribution has the same share of the top id, number of
// distinct ids, and slope.
func TestFitOfDraws(t *testing.T) {
	const draws = 100_000
	for i, law := range []job.SyntheticColumn{
		{Cardinality: 2000, Exponent: 1.1},
		{Cardinality: 50_000, Exponent: 1.0, Top: 0.3},
		{Cardinality: 1_000_000, Exponent: 0.95},
	} {
		random := rng.New(1, "test of Fit", uint64(i))
		zipf := NewZipf(law)
		seen := map[int64]int64{}
		for range draws {
			seen[zipf.Rank(random)]++
		}
		var counts []int64
		for _, count := range seen {
			counts = append(counts, count)
		}
		got := Fit(counts)
		p := zipf.Probability(1)
		if deviation := math.Sqrt(p * (1 - p) / draws); math.Abs(got.Top-p) > 5*deviation {
			t.Errorf("%+v: top %v, want %v ± %v", law, got.Top, p, deviation)
		}
		if expected := NewZipf(got).ExpectedDistinct(draws); math.Abs(expected-float64(len(counts))) > 1 {
			t.Errorf("%+v: fitted %+v, which shows %.1f ids, want %d", law, got, expected, len(counts))
		}
		if math.Abs(got.Exponent-law.Exponent) > 0.1 {
			t.Errorf("%+v: exponent %v", law, got.Exponent)
		}
	}
}

// Any counts give a valid column with at least as many ids as counts, for any order of the
// counts, which is expected to show no more ids than there are counts.
func TestFitIsValidProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfN(rapid.Int64Range(1, 1000), 1, 50).Draw(t, "counts")
		got := Fit(counts)
		if err := got.Validate(); err != nil {
			t.Fatal(err)
		}
		var draws int64
		reversed := make([]int64, len(counts))
		for i, count := range counts {
			draws += count
			reversed[len(counts)-1-i] = count
		}
		if again := Fit(reversed); !reflect.DeepEqual(again, got) {
			t.Fatalf("%+v, and reversed %+v", got, again)
		}
		if got.Cardinality < int64(len(counts)) {
			t.Fatalf("%d ids, fitted %+v", len(counts), got)
		}
		if e := NewZipf(got).ExpectedDistinct(float64(draws)); e > float64(len(counts))+1 {
			t.Fatalf("%d ids, fitted %+v shows %v", len(counts), got, e)
		}
	})
}

func TestFitOfFewIDs(t *testing.T) {
	if got := Fit([]int64{7}); !reflect.DeepEqual(got, job.SyntheticColumn{Cardinality: 1}) {
		t.Errorf("one id: %+v", got)
	}
	// With two ids, Top describes the distribution completely: 3 draws of 4.
	if got := Fit([]int64{1, 3}); got.Exponent != 0 || got.Top != 0.75 {
		t.Errorf("two ids: %+v", got)
	}
}
