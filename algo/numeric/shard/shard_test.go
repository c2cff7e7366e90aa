package shard_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/shard"
	"tandem/algo/rng"
)

// chiSquare returns Σ (observed−expected)²/expected over the PSs, for n signs.
func chiSquare(n, count int, sign func(i int) uint64) float64 {
	observed := make([]int, count)
	for i := range n {
		observed[shard.Rows(count).Owner(sign(i))]++
	}
	expected, sum := float64(n)/float64(count), 0.0
	for _, o := range observed {
		sum += (float64(o) - expected) * (float64(o) - expected) / expected
	}
	return sum
}

// Any distinct signs are spread as if at random. For uniform choices the statistic has mean d = count−1 and
// variance 2d; Laurent and Massart (2000), lemma 1, bound the chance of more than d + 2·√(d·x) + 2x by e⁻ˣ,
// which for x = 12 is 6 in a million.
func TestSignsSpreadEvenly(t *testing.T) {
	const n = 50_000
	for _, c := range []struct {
		name string
		sign func(i int) uint64
	}{
		{"sequential", func(i int) uint64 { return uint64(i) }},
		{"sequential behind a prefix", func(i int) uint64 { return 3<<56 + uint64(i) }},
		{"multiples of 4096", func(i int) uint64 { return uint64(i) << 12 }},
		{"only the upper bits differ", func(i int) uint64 { return uint64(i) << 48 }},
		// Squares thin out as ids of a power law do: dense at first, then far apart.
		{"skewed", func(i int) uint64 { return uint64(i) * uint64(i) }},
	} {
		for _, count := range []int{2, 3, 7, 8, 100} {
			d, x := float64(count-1), 12.0
			bound := d + 2*math.Sqrt(d*x) + 2*x
			if got := chiSquare(n, count, c.sign); got > bound {
				t.Errorf("%s over %d PSs: chi-square %.1f, want at most %.1f", c.name, count, got, bound)
			}
		}
	}
}

// The table of a PS finds a row by the bits of Mix(sign). Were the PS chosen by
// the same bits, every table would use a fraction of its index only.
func TestPlacementIsIndependentOfTheTableIndex(t *testing.T) {
	const count, buckets, n = 8, 8, 64_000
	observed := [count * buckets]int{}
	for i := range uint64(n) {
		bucket := rng.Mix(i) >> 61 // its upper 3 bits
		observed[shard.Rows(count).Owner(i)*buckets+int(bucket)]++
	}
	sum, expected := 0.0, float64(n)/(count*buckets)
	for _, o := range observed {
		sum += (float64(o) - expected) * (float64(o) - expected) / expected
	}
	// As above with d = 63 and x = 12.
	if bound := 63 + 2*math.Sqrt(63*12) + 24; sum > bound {
		t.Errorf("chi-square %.1f, want at most %.1f", sum, bound)
	}
}

// A row must be found where an earlier version of the program has put it. The
// published SplitMix64, seeded with 0, returns Mix(γ), Mix(2γ), Mix(3γ), …, which
// begin with e220a839, 6e789e6a and 06c45d18: 0.8833, 0.4315 and 0.0264 of 2³². A
// sign s with Mix(s)+1 = kγ therefore belongs to PS ⌊0.8833·count⌋ and so on.
func TestOwnersAreFixedForEver(t *testing.T) {
	gamma := uint64(0x9e3779b97f4a7c15)
	for _, c := range []struct {
		k                uint64
		of2, of10, of100 int
	}{
		{k: 1, of2: 1, of10: 8, of100: 88},
		{k: 2, of2: 0, of10: 4, of100: 43},
		{k: 3, of2: 0, of10: 0, of100: 2},
	} {
		sign := unmix(c.k*gamma - 1)
		for _, want := range []struct{ count, owner int }{{1, 0}, {2, c.of2}, {10, c.of10}, {100, c.of100}} {
			if got := shard.Rows(want.count).Owner(sign); got != want.owner {
				t.Errorf("k = %d: PS %d of %d, want %d", c.k, got, want.count, want.owner)
			}
		}
	}
}

// unmix is the inverse of rng.Mix.
func unmix(z uint64) uint64 {
	z = unshift(z, 31) * inverse(0x94d049bb133111eb)
	z = unshift(z, 27) * inverse(0xbf58476d1ce4e5b9)
	return unshift(z, 30)
}

// unshift returns x of z = x ^ x>>n: each step makes n more bits right.
func unshift(z uint64, n int) uint64 {
	x := z
	for range 64 / n {
		x = z ^ x>>n
	}
	return x
}

// inverse returns 1/m modulo 2⁶⁴ for odd m. Newton's step doubles the number of
// right bits, of which m itself, its own inverse modulo 8, has 3.
func inverse(m uint64) uint64 {
	x := m
	for range 5 {
		x *= 2 - m*x
	}
	return x
}

func TestOwnerIsOneOfThePSs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sign := rapid.Uint64().Draw(t, "sign")
		count := rapid.IntRange(1, 1<<20).Draw(t, "count")
		if p := shard.Rows(count).Owner(sign); p < 0 || p >= count {
			t.Fatalf("PS %d of %d", p, count)
		}
	})
}

func TestPlanWithoutPSs(t *testing.T) {
	if three, again := shard.Rows(3), shard.Rows(3); three.Servers() != 3 || three != again ||
		three == shard.Rows(2) {
		t.Error("plans are not what they were made of")
	}
	defer func() {
		if got := recover(); got != "shard: 0 PSs, want at least 1" {
			t.Errorf("panic %v", got)
		}
	}()
	shard.Rows(0)
}

func BenchmarkOf(b *testing.B) {
	sum, plan := 0, shard.Rows(100)
	for i := range b.N {
		sum += plan.Owner(uint64(i))
	}
	if sum < 0 {
		b.Fatal(sum)
	}
}
