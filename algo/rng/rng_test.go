package rng_test

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/rng"
)

const gamma = 0x9e3779b97f4a7c15

// The i-th output of SplitMix64 is Mix(seed + i·γ). Rosetta Code, "Pseudo-random numbers/Splitmix64",
// lists these numbers for seed 1234567.
func TestMixIsTheFinalizerOfSplitMix64(t *testing.T) {
	state := uint64(1234567)
	for i, want := range []uint64{
		6457827717110365317, 3203168211198807973, 9817491932198370423,
		4593380528125082431, 16408922859458223821,
	} {
		state += gamma
		if got := rng.Mix(state); got != want {
			t.Errorf("output %d is %d, want %d", i, got, want)
		}
	}
}

// A flipped input bit flips each output bit in half of the cases. Over n words, the number of flips has a
// standard deviation of √n/2. One of the 64·64 counts deviates by more than 6 of them with a probability
// below 64·64·2e-9 < 1e-5.
func TestMixFlipsEveryBitHalfTheTime(t *testing.T) {
	const n = 4096
	for in := range 64 {
		flips := [64]int{}
		for i := range uint64(n) {
			word := i * gamma
			for changed := rng.Mix(word) ^ rng.Mix(word^1<<in); changed != 0; changed &= changed - 1 {
				flips[bits.TrailingZeros64(changed)]++
			}
		}
		for out, count := range flips {
			if math.Abs(float64(count)-n/2) > 6*math.Sqrt(n)/2 {
				t.Errorf("input bit %d flips output bit %d in %d of %d words", in, out, count, n)
			}
		}
	}
}

// Streams that differ in any part of their name have different keys. A chance collision of the keys below
// has a probability of 2⁻⁵⁷.
func TestKeysOfDifferentStreamsDiffer(t *testing.T) {
	keys := map[uint64]string{}
	for _, c := range []struct {
		name string
		key  uint64
	}{
		{"seed 0", rng.Key(0, "row")},
		{"seed 1", rng.Key(1, "row")},
		{"another purpose", rng.Key(0, "rows")},
		{"letters swapped", rng.Key(0, "orw")},
		{"no purpose", rng.Key(0, "")},
		{"id 0", rng.Key(0, "row", 0)},
		{"id 1", rng.Key(0, "row", 1)},
		{"ids 0, 0", rng.Key(0, "row", 0, 0)},
		{"ids 0, 1", rng.Key(0, "row", 0, 1)},
		{"ids 1, 0", rng.Key(0, "row", 1, 0)},
		{"seed 1, id 1", rng.Key(1, "row", 1)},
		{"purpose as an id", rng.Key(0, "", 'r', 'o', 'w')},
	} {
		if other, taken := keys[c.key]; taken {
			t.Errorf("%s and %s share a key", c.name, other)
		}
		keys[c.key] = c.name
	}
}

func TestSameStreamSameNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, id := rapid.Uint64().Draw(t, "seed"), rapid.Uint64().Draw(t, "id")
		a, b := rng.New(seed, "shuffle", id), rng.New(seed, "shuffle", id)
		other := rng.New(seed, "shuffle", id+1)
		differs := false
		for range 4 {
			x := a.Uint64()
			if y := b.Uint64(); y != x {
				t.Fatalf("the same stream gives %d and %d", x, y)
			}
			differs = differs || other.Uint64() != x
		}
		if !differs {
			t.Fatal("two streams give the same four numbers")
		}
	})
}

// Two streams are uncorrelated. The correlation of n pairs of independent values has a standard deviation
// of 1/√n.
func TestStreamsAreUncorrelated(t *testing.T) {
	const n = 100_000
	for _, c := range []struct {
		name string
		a, b uint64
	}{
		{"neighbouring ids", rng.Key(1, "row", 5), rng.Key(1, "row", 6)},
		{"neighbouring seeds", rng.Key(1, "row", 5), rng.Key(2, "row", 5)},
		{"different purposes", rng.Key(1, "row"), rng.Key(1, "drop")},
	} {
		sum := 0.0
		for i := range n {
			x, y := float64(rng.Unit(c.a, i))-0.5, float64(rng.Unit(c.b, i))-0.5
			sum += x * y
		}
		// The variance of a uniform value is 1/12.
		if correlation := 12 * sum / n; math.Abs(correlation) > 5/math.Sqrt(n) {
			t.Errorf("%s: correlation %.4f", c.name, correlation)
		}
	}
}

func TestUnitIsBelowOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := rng.Unit(rapid.Uint64().Draw(t, "key"), rapid.IntRange(0, math.MaxInt).Draw(t, "i"))
		if u < 0 || u >= 1 || u != float32(math.Floor(float64(u)*(1<<24)))/(1<<24) {
			t.Fatalf("%v is not a multiple of 2⁻²⁴ in [0, 1)", u)
		}
	})
}

// The mean of n uniform values is 1/2 ± 1/√(12n), their mean square 1/3 ± √(4/45n). A value deviates by
// more than five standard deviations once in a million.
func TestUnitIsUniform(t *testing.T) {
	const n = 200_000
	key := rng.Key(1, "uniform")
	mean, square := 0.0, 0.0
	for i := range n {
		u := float64(rng.Unit(key, i))
		mean += u / n
		square += u * u / n
	}
	if math.Abs(mean-0.5) > 5/math.Sqrt(12*n) {
		t.Errorf("mean %v, want 1/2", mean)
	}
	if math.Abs(square-1.0/3) > 5*math.Sqrt(4.0/45/n) {
		t.Errorf("mean square %v, want 1/3", square)
	}
}

func BenchmarkKey(b *testing.B) {
	sum := uint64(0)
	for i := range b.N {
		sum += rng.Key(1, "row", uint64(i))
	}
	if sum == 1 {
		b.Fatal(sum)
	}
}

// A generator that has drawn from one stream draws from another what a new one would.
func TestReseedBeginsTheStreamOfNew(t *testing.T) {
	var source rand.PCG
	draws := rand.New(&source)
	for i := range uint64(10) {
		rng.Reseed(&source, 1, "order", i)
		again := rng.New(1, "order", i)
		for range 3 {
			if got, want := draws.NormFloat64(), again.NormFloat64(); got != want {
				t.Errorf("stream %d draws %v, want %v", i, got, want)
			}
		}
	}
}
