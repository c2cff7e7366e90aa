package synth

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/job"
	"tandem/algo/rng"
)

// coverageColumns cover one point and several, a flat head, a piece of one rank, a steep and a
// flat piece, ids beyond 2⁴⁰, and shares of the most frequent id above and below that of the
// points.
var coverageColumns = []job.SyntheticColumn{
	{Cardinality: 10, Coverage: []job.CoveragePoint{{Top: 3, Share: 0.6}}},
	{Cardinality: 3, Coverage: []job.CoveragePoint{{Top: 1, Share: 0.8868}, {Top: 2, Share: 0.9997}}},
	{Cardinality: 5000, Coverage: []job.CoveragePoint{{Top: 10, Share: 0.1}, {Top: 100, Share: 0.35},
		{Top: 1000, Share: 0.8}}},
	{Cardinality: 90_000, Coverage: []job.CoveragePoint{{Top: 1, Share: 0.26}, {Top: 10, Share: 0.3},
		{Top: 100, Share: 0.44}, {Top: 1000, Share: 0.72}, {Top: 10_000, Share: 0.95}}},
	{Cardinality: 2000, Top: 0.5, Coverage: []job.CoveragePoint{{Top: 1, Share: 0.1}, {Top: 50, Share: 0.9}}},
	{Cardinality: 2000, Top: 0.02, Coverage: []job.CoveragePoint{{Top: 1, Share: 0.1},
		{Top: 50, Share: 0.9}}},
	{Cardinality: 30, Top: 0.04, Coverage: []job.CoveragePoint{{Top: 1, Share: 0.9}}},
	{Cardinality: 4000, Coverage: []job.CoveragePoint{{Top: 2000, Share: 0.5001}}},
}

// Shares pass through the points, probabilities are those of a distribution and never grow with
// the rank, and every quantile is the rank whose shares enclose it.
func TestCoveragePassesThroughItsPoints(t *testing.T) {
	for i, c := range coverageColumns {
		d := NewCoverage(c)
		if c.Top == 0 {
			for _, point := range c.Coverage {
				if got := d.Share(point.Top); math.Abs(got-point.Share) > 1e-12 {
					t.Errorf("column %d: top %d in %v, want %v", i, point.Top, got, point.Share)
				}
			}
		}
		if c.Top > 0 && math.Abs(d.Probability(1)-c.Top) > 1e-12 {
			t.Errorf("column %d: p(1) = %v, want %v", i, d.Probability(1), c.Top)
		}
		sum, before := 0.0, 1.0
		for rank := int64(1); rank <= c.Cardinality; rank++ {
			p := d.Probability(rank)
			if !(p > 0) || p > before*(1+1e-6)+1e-15 {
				t.Fatalf("column %d: p(%d) = %v after %v", i, rank, p, before)
			}
			middle := sum + p/2
			if got := d.Quantile(middle); got != rank {
				t.Fatalf("column %d: quantile %v is %d, want %d", i, middle, got, rank)
			}
			sum, before = sum+p, p
			if math.Abs(d.Share(rank)-sum) > 1e-9 {
				t.Fatalf("column %d: share of top %d is %v, want %v", i, rank, d.Share(rank), sum)
			}
		}
		if d.Probability(0) != 0 || d.Probability(c.Cardinality+1) != 0 || math.Abs(sum-1) > 1e-9 {
			t.Errorf("column %d: probabilities outside the ranks, or a sum of %v", i, sum)
		}
	}
}

// In a piece between two others of the same power law, the ids follow this law: mean shares per
// decade of p(i) ∝ i^−0.7, whose cumulative shares are summed here, give back its probabilities.
func TestCoverageOfAPowerLawIsAPowerLaw(t *testing.T) {
	const n, s = 1_000_000, 0.7
	cumulative := make([]float64, n+1)
	for i := 1; i <= n; i++ {
		cumulative[i] = cumulative[i-1] + math.Pow(float64(i), -s)
	}
	c := job.SyntheticColumn{Cardinality: n}
	for top := 10; top < n; top *= 10 {
		c.Coverage = append(c.Coverage, job.CoveragePoint{Top: int64(top),
			Share: cumulative[top] / cumulative[n]})
	}
	d := NewCoverage(c)
	for rank := 101; rank < 100_000; rank = rank*3/2 + 1 {
		want := math.Pow(float64(rank), -s) / cumulative[n]
		if got := d.Probability(int64(rank)); math.Abs(got/want-1) > 0.05 {
			t.Errorf("p(%d) = %v, want %v", rank, got, want)
		}
	}
}

// Pearson's statistic over k cells is near χ²(k−1): see TestRejectionInversionIsExact.
func TestCoverageDrawsItsProbabilities(t *testing.T) {
	const draws = 100_000
	for i, c := range coverageColumns {
		d, random := NewCoverage(c), rng.New(7, "coverage", uint64(i))
		counts := make([]int, c.Cardinality+1)
		for range draws {
			counts[d.Rank(random)]++
		}
		var statistic, want, got, cells float64
		for rank := int64(1); rank <= c.Cardinality; rank++ {
			want += d.Probability(rank) * draws
			got += float64(counts[rank])
			if want >= 20 {
				statistic += (got - want) * (got - want) / want
				want, got, cells = 0, 0, cells+1
			}
		}
		if limit := cells - 1 + 5*math.Sqrt(2*max(cells-1, 0)) + 1e-9; statistic > limit {
			t.Errorf("column %d: χ² = %v over %v cells, limit %v", i, statistic, cells, limit)
		}
	}
}

func TestCoverageExpectedDistinctMatchesExactSum(t *testing.T) {
	for i, c := range coverageColumns {
		d := NewCoverage(c)
		for _, draws := range []float64{0, 1, 2.5, 100, 65_536, 1e9} {
			var want float64
			for rank := int64(1); rank <= c.Cardinality; rank++ {
				want -= math.Expm1(draws * math.Log1p(-d.Probability(rank)))
			}
			if got := d.ExpectedDistinct(draws); math.Abs(got-want) > 1e-5*want {
				t.Errorf("column %d: %v draws: %v distinct, want %v", i, draws, got, want)
			}
		}
	}
}

// Any valid column has a distribution that falls, passes through its points, and draws ranks in
// range; an invalid one is refused before.
func FuzzCoverage(f *testing.F) {
	f.Add(int64(1000), int64(10), 0.3, int64(100), 0.5, 0.0)
	f.Add(job.CardinalityMax, int64(1), 0.9, job.CardinalityMax-1, 0.95, 1e-9)
	f.Add(int64(2), int64(1), 0.5, int64(2), 0.6, 0.5)
	f.Add(int64(5), int64(4), 0.8, int64(0), math.NaN(), 0.2)
	f.Add(int64(26), int64(1), 0.5, int64(2), 1-1e-16, 3.0/14)
	f.Add(int64(26), int64(1), 0.5, int64(2), 1-1e-9, 3.0/70)
	f.Fuzz(func(t *testing.T, n, top1 int64, share1 float64, top2 int64, share2, top float64) {
		c := job.SyntheticColumn{Cardinality: n, Top: top,
			Coverage: []job.CoveragePoint{{Top: top1, Share: share1}, {Top: top2, Share: share2}}}
		if c.Validate() != nil {
			return
		}
		d := NewCoverage(c)
		random := rng.New(1, "fuzz")
		for range 50 {
			if rank := d.Rank(random); rank < 1 || rank > n {
				t.Fatalf("rank %d of %d", rank, n)
			}
		}
		before := 0.0
		for _, rank := range []int64{1, 2, top1 - 1, top1, top1 + 1, top2, top2 + 1, n / 2, n - 1, n} {
			if got := d.Share(rank); !(got >= 0 && got <= 1+1e-9) {
				t.Fatalf("share of top %d: %v", rank, got)
			}
		}
		for rank := int64(1); rank <= min(n, 100); rank++ {
			share := d.Share(rank)
			if share < before {
				t.Fatalf("share of top %d: %v after %v", rank, share, before)
			}
			before = share
		}
		if got := d.ExpectedDistinct(1000); !(got > 0 && got <= 1000.01) {
			t.Fatalf("%v distinct ids in 1000 draws", got)
		}
	})
}

// The coverage of a table whose shares are those of any falling probabilities is valid.
func TestCoverageOfAnyTableProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.Float64Range(0.01, 1), 2, 40).Draw(t, "weights")
		slices.SortFunc(weights, func(a, b float64) int { return int(math.Copysign(1, b-a)) })
		var sum, part float64
		for _, w := range weights {
			sum += w
		}
		c := job.SyntheticColumn{Cardinality: int64(len(weights))}
		for i, w := range weights[:len(weights)-1] {
			part += w
			c.Coverage = append(c.Coverage, job.CoveragePoint{Top: int64(i + 1), Share: part / sum})
		}
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		d := NewCoverage(c)
		for i, w := range weights {
			if got := d.Probability(int64(i + 1)); math.Abs(got-w/sum) > 1e-9 {
				t.Fatalf("p(%d) = %v, want %v", i+1, got, w/sum)
			}
		}
	})
}

// The head answers as the formulas do, also next to every share, where rounding decides.
func TestHeadAnswersAsTheFormulas(t *testing.T) {
	for i, c := range coverageColumns {
		d := NewCoverage(c)
		check := func(u float64) {
			if u < 0 || u >= 1 {
				return
			}
			if got, want := d.Quantile(u), d.quantile(u); got != want {
				t.Fatalf("column %d: quantile %v is %d, by the formulas %d", i, u, got, want)
			}
		}
		for rank := range min(c.Cardinality, 2*headMost) + 1 {
			share := d.share(rank)
			if got := d.Share(rank); got != share {
				t.Fatalf("column %d: share of top %d is %v, by the formulas %v", i, rank, got, share)
			}
			for _, away := range []float64{0, 1e-16, 1e-15, 1e-14, 1e-13, 2e-12, 1e-9} {
				check(share - away)
				check(share + away)
			}
		}
		random := rng.New(1, "head", uint64(i))
		for range 20_000 {
			check(random.Float64())
		}
	}
}
