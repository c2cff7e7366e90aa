package synth

import (
	"math"
	"testing"

	"tandem/algo/job"
	"tandem/algo/rng"
)

// Hörmann and Derflinger 1996, section 2: rejection-inversion generates from the
// discrete law exactly, not from its continuous hat.
//
// Pearson's statistic over k cells is near χ²(k−1), of mean k−1 and standard
// deviation √(2(k−1)); 5 of these are passed with a probability below 10⁻⁴.
// Cells have at least 20 expected draws: the rest is pooled.
func TestRejectionInversionIsExact(t *testing.T) {
	const draws = 100_000
	for _, c := range testColumns {
		t.Run(name(c), func(t *testing.T) {
			z, random := NewZipf(c), rng.New(7, "exact")
			counts := make([]int, c.Cardinality)
			for range draws {
				counts[z.Rank(random)-1]++
			}
			var statistic, pooledWant, pooledGot float64
			cells := 0.0
			for i, p := range exactProbability(c) {
				pooledWant += p * draws
				pooledGot += float64(counts[i])
				if pooledWant >= 20 {
					statistic += (pooledGot - pooledWant) * (pooledGot - pooledWant) / pooledWant
					pooledWant, pooledGot = 0, 0
					cells++
				}
			}
			if limit := cells - 1 + 5*math.Sqrt(2*max(cells-1, 0)) + 1e-9; statistic > limit {
				t.Errorf("χ² = %v over %v cells, limit %v", statistic, cells, limit)
			}
		})
	}
}

// Section 3: the number of rejections stays small for any exponent and any
// number of ranks. Far tails must be as exact as heads: the share of draws
// beyond a rank has a standard deviation of √(p(1−p)/draws) ≤ 0.0016.
func TestRejectionInversionIsExactInTheFarTail(t *testing.T) {
	const draws = 100_000
	for _, c := range []job.SyntheticColumn{
		{Cardinality: 10_000_000, Exponent: 0.98, Top: 0.041},
		{Cardinality: 1_000_000_000, Exponent: 1},
		{Cardinality: job.CardinalityMax, Exponent: 0.5},
	} {
		z, random := NewZipf(c), rng.New(8, "tail")
		ranks := make([]int64, draws)
		for i := range ranks {
			ranks[i] = z.Rank(random)
		}
		for top := int64(1); top < c.Cardinality; top *= 10 {
			within := 0
			for _, rank := range ranks {
				if rank <= top {
					within++
				}
			}
			if got, want := float64(within)/draws, z.Share(top); math.Abs(got-want) > 5*0.0016 {
				t.Errorf("%s: %v of draws in the top %d, want %v", name(c), got, top, want)
			}
		}
	}
}

// A steep tail behind a wide flat head, far from rank 1, still has the exact distribution, and
// every draw terminates. With ranks counted from 1, draws from the first of these columns never
// ended, and the tails of the others were up to two per cent too heavy.
func TestRejectionInversionIsExactBehindAWideHead(t *testing.T) {
	const draws = 100_000
	for _, c := range []job.SyntheticColumn{
		{Cardinality: 1_099_511_627_773, Exponent: 5.640799047379242, Top: 0.000361629815011858},
		{Cardinality: job.CardinalityMax, Exponent: 10, Top: 1e-6},
		{Cardinality: job.CardinalityMax, Exponent: 2.5, Top: 1e-10},
		{Cardinality: 100_000_000, Exponent: 4, Top: 1e-7},
	} {
		z, random := NewZipf(c), rng.New(9, "head")
		ranks := make([]int64, draws)
		for i := range ranks {
			ranks[i] = z.Rank(random)
		}
		for _, part := range []float64{0.3, 1, 1.02, 1.1, 1.3, 2, 5} { // of the head
			top := int64(part * float64(z.flat))
			within := 0
			for _, rank := range ranks {
				if rank <= top {
					within++
				}
			}
			if got, want := float64(within)/draws, z.Share(top); math.Abs(got-want) > 5*0.0016 {
				t.Errorf("%s: %v of draws in the top %d, want %v", name(c), got, top, want)
			}
		}
	}
}
