package similar

import (
	"math"
	"math/rand/v2"
	"testing"
)

// From counts in exact proportion to rank^−s, with a different share of rank 1 and in any order, Exponent
// recovers s.
func TestExponentOfExactCounts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		ids      int
		exponent float64
		top      float64 // of rank 1, as a multiple of its own weight
	}{{1000, 1.2, 1}, {1000, 0, 1}, {500, 0.7, 40}, {50, 2, 3}, {3, 1, 1}} {
		counts := make([]int64, c.ids)
		for i := range counts {
			counts[i] = int64(math.Round(1e9 * math.Pow(float64(i+1), -c.exponent)))
		}
		counts[0] = int64(c.top * 1e9)
		random.Shuffle(len(counts), func(i, j int) { counts[i], counts[j] = counts[j], counts[i] })
		// Bisection ends within 10⁻⁶; counts are rounded to 1 in 10⁵ at least.
		if got := Exponent(counts); math.Abs(got-c.exponent) > 1e-4 {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// Ids that occur fewer than 5 times do not change the exponent of at least 10 that occur more often; if
// fewer than 10 do, all count.
func TestExponentLeavesRareIDsOut(t *testing.T) {
	frequent := []int64{1000, 500, 333, 250, 200, 167, 143, 125, 111, 100, 91}
	rare := append([]int64{4, 4, 3, 3, 2, 1, 1, 1}, frequent...)
	if got, want := Exponent(rare), Exponent(frequent); got != want {
		t.Errorf("%v with rare ids, %v without", got, want)
	}
	if few, with := Exponent(frequent[:5]), Exponent(append([]int64{1, 1, 1}, frequent[:5]...)); few == with {
		t.Errorf("%v with rare ids and without, want different exponents", few)
	}
}
