package synth

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/job"
	"tandem/algo/rng"
)

// testColumns cover s below, at and above 1, the smallest cardinalities, one beyond the ranks
// that are summed exactly, and shares of the most frequent id above and below that of the pure
// Zipf distribution.
var testColumns = []job.SyntheticColumn{
	{Cardinality: 1, Exponent: 1},
	{Cardinality: 2, Exponent: 0},
	{Cardinality: 3, Exponent: 3.3},
	{Cardinality: 50, Exponent: 0.5},
	{Cardinality: 50, Exponent: 1, Top: 0.4},
	{Cardinality: 50, Exponent: 1, Top: 0.05},
	{Cardinality: 4, Exponent: 1, Top: 0.25},
	{Cardinality: 1023, Exponent: 1.2},
	{Cardinality: 1025, Exponent: 1.2},
	{Cardinality: 100_000, Exponent: 0},
	{Cardinality: 100_000, Exponent: 1},
	{Cardinality: 100_000, Exponent: 0.8, Top: 0.26},
	{Cardinality: 100_000, Exponent: 0.82, Top: 0.005},
	{Cardinality: 100_000, Exponent: 1.5, Top: 0.0004},
	{Cardinality: 100_000, Exponent: 2.5},
}

func name(c job.SyntheticColumn) string {
	return fmt.Sprintf("n=%d/s=%v/top=%v", c.Cardinality, c.Exponent, c.Top)
}

// exactProbability is the definition, summed term by term: while the first id of the tail is
// more frequent than the share of the top id, it joins the flat head.
func exactProbability(c job.SyntheticColumn) []float64 {
	p := make([]float64, c.Cardinality)
	var sum float64
	for i := range p {
		p[i] = math.Pow(float64(i+1), -c.Exponent)
		sum += p[i]
	}
	left, flat := 1.0, 0
	if c.Top > 0 {
		for flat == 0 || flat < len(p)-1 && left*p[flat]/sum > c.Top {
			sum -= p[flat]
			left -= c.Top
			p[flat] = c.Top
			flat++
		}
	}
	for i := flat; i < len(p); i++ {
		p[i] *= left / sum
	}
	return p
}

func TestProbabilityMatchesDefinition(t *testing.T) {
	for _, c := range testColumns {
		t.Run(name(c), func(t *testing.T) {
			z, total := NewZipf(c), 0.0
			for i, want := range exactProbability(c) {
				got := z.Probability(int64(i + 1))
				if math.Abs(got-want) > 1e-7*want {
					t.Fatalf("p(%d) = %v, want %v", i+1, got, want)
				}
				total += want
				if i%997 == 0 {
					if got := z.Share(int64(i + 1)); math.Abs(got-total) > 1e-6 {
						t.Fatalf("share of top %d = %v, want %v", i+1, got, total)
					}
				}
			}
			if got := z.Share(c.Cardinality + 5); math.Abs(got-1) > 1e-9 {
				t.Errorf("share of all = %v, want 1", got)
			}
			if z.Probability(0) != 0 || z.Probability(c.Cardinality+1) != 0 || z.Share(0) != 0 {
				t.Error("ranks outside 1..n have a probability")
			}
		})
	}
}

func TestExpectedDistinctMatchesExactSum(t *testing.T) {
	for _, c := range testColumns {
		z, p := NewZipf(c), exactProbability(c)
		for _, draws := range []float64{0, 1, 2.5, 100, 65_536, 1e9} {
			var want float64
			for _, pi := range p {
				if pi == 1 {
					want += min(draws, 1)
				} else {
					want -= math.Expm1(draws * math.Log1p(-pi))
				}
			}
			if got := z.ExpectedDistinct(draws); math.Abs(got-want) > 1e-6*want {
				t.Errorf("%s: %v draws: %v distinct, want %v", name(c), draws, got, want)
			}
		}
	}
}

func TestExpectedDistinctMatchesDraws(t *testing.T) {
	// The number of distinct ids is a sum of negatively dependent indicators, so
	// its variance is at most its mean: 4 standard deviations are 4·√mean.
	const draws = 20_000
	z := NewZipf(job.SyntheticColumn{Cardinality: 10_000_000, Exponent: 1.05})
	random, seen := rng.New(5, "distinct"), map[int64]bool{}
	for range draws {
		seen[z.Rank(random)] = true
	}
	want := z.ExpectedDistinct(draws)
	if got := float64(len(seen)); math.Abs(got-want) > 4*math.Sqrt(want) {
		t.Errorf("%v distinct ids in %d draws, expected %v", got, draws, want)
	}
}

func TestRankIsInRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := job.SyntheticColumn{
			Cardinality: rapid.Int64Range(2, job.CardinalityMax).Draw(t, "cardinality"),
			Exponent:    rapid.Float64Range(0, job.ExponentMax).Draw(t, "exponent"),
		}
		if rapid.Bool().Draw(t, "set top") {
			c.Top = rapid.Float64Range(1/float64(c.Cardinality), 0.99).Draw(t, "top")
		}
		z, random := NewZipf(c), rng.New(rapid.Uint64().Draw(t, "seed"), "range")
		for range 100 {
			if rank := z.Rank(random); rank < 1 || rank > c.Cardinality {
				t.Fatalf("rank %d of %d", rank, c.Cardinality)
			}
		}
		once, twice := z.ExpectedDistinct(1000), z.ExpectedDistinct(2000)
		if math.Abs(z.ExpectedDistinct(1)-1) > 1e-6 || twice < once || once > 1000.001 {
			t.Fatalf("distinct ids: %v in 1 draw, %v in 1000, %v in 2000", z.ExpectedDistinct(1), once, twice)
		}
	})
}

func BenchmarkRank(b *testing.B) {
	z, random := NewZipf(job.SyntheticColumn{Cardinality: 10_000_000, Exponent: 1.05}), rng.New(1, "bench")
	for b.Loop() {
		z.Rank(random)
	}
}

func BenchmarkExpectedDistinct(b *testing.B) {
	z := NewZipf(job.SyntheticColumn{Cardinality: 10_000_000, Exponent: 1.05})
	for b.Loop() {
		z.ExpectedDistinct(65_536)
	}
}
