package table_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/isa"
	"tandem/algo/numeric/table"
)

// neighbours returns the values of a form on both sides of v, or v itself twice.
func neighbours(p table.Precision, v float32) (low, high float64) {
	last := math.Ldexp(1, max(math.Ilogb(float64(v))-7, -133)) // of 8 significant bits
	if p == table.FP16 {
		last = math.Ldexp(1, max(math.Ilogb(float64(v))-10, -24)) // of 11, down to 2⁻²⁴
	}
	return math.Floor(float64(v)/last) * last, math.Ceil(float64(v)/last) * last
}

// For all random bits, a value becomes one of its two neighbours, and one that
// the form holds stays.
func TestRoundingGoesToANeighbour(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom([]table.Precision{table.BF16, table.FP16}).Draw(t, "precision")
		v := rapid.OneOf(rapid.Float32Range(-1000, 1000), rapid.Float32Range(-1e-4, 1e-4),
			rapid.Float32Range(-1e-7, 1e-7)).Draw(t, "value")
		got := float64(table.Round(p, v, rapid.Uint32().Draw(t, "random bits")))
		if low, high := neighbours(p, v); v != 0 && got != low && got != high {
			t.Fatalf("%v of %v is %v, want %v or %v", p, v, got, low, high)
		}
		exact := table.Round(p, v, 0)
		if again := table.Round(p, exact, rapid.Uint32().Draw(t,
			"more bits")); math.Float32bits(again) != math.Float32bits(exact) {
			t.Fatalf("%v of %v, which it holds, is %v", p, exact, again)
		}
	})
}

// Over all random bits the mean is the value: exactly where the bits decide, and
// within 2⁻¹³ of a last place for subnormal halves.
func TestRoundingIsUnbiased(t *testing.T) {
	for _, tt := range []struct {
		p     table.Precision
		bits  uint
		v     float32
		error float64 // of the mean, in last places
	}{
		{table.BF16, 16, 1.2345678, 0}, {table.BF16, 16, -3.1415927e-20, 0}, {table.BF16, 16, 0.99999994, 0},
		{table.FP16, 13, 1.2345678, 0}, {table.FP16, 13, -1023.4567, 0},
		{table.FP16, 13, 0x1p-14 + 0x1p-30, 0},
		{table.FP16, 13, 3.3e-6, 0x1p-13}, {table.FP16, 13, -2e-8, 0x1p-13},
	} {
		sum := 0.0
		for random := range uint32(1) << tt.bits {
			sum += float64(table.Round(tt.p, tt.v, random))
		}
		low, high := neighbours(tt.p, tt.v)
		if mean := math.Ldexp(sum, -int(tt.bits)); math.Abs(mean-float64(tt.v)) > tt.error*(high-low) {
			t.Errorf("%v of %v is %v on average, off by %v last places", tt.p, tt.v, mean,
				(mean-float64(tt.v))/(high-low))
		}
	}
}

func TestRoundingOfExtremes(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, tt := range []struct {
		p       table.Precision
		v, want float32
	}{
		{table.BF16, inf, inf}, {table.BF16, -inf, -inf}, {table.BF16, math.MaxFloat32, 0x1.fep127},
		{table.BF16, -math.MaxFloat32, -0x1.fep127},
		{table.FP16, inf, inf}, {table.FP16, -inf, -inf}, {table.FP16, 1e6, 65504},
		{table.FP16, -65519, -65504}, {table.FP16, 65504, 65504},
		{table.BF16, 0, 0}, {table.FP16, 0, 0},
	} {
		if got := table.Round(tt.p, tt.v, math.MaxUint32); got != tt.want {
			t.Errorf("%v of %v is %v, want %v", tt.p, tt.v, got, tt.want)
		}
	}
	for _, p := range []table.Precision{table.BF16, table.FP16} {
		for _, v := range []float32{nan, math.Float32frombits(0x7f800001), math.Float32frombits(0xffffffff)} {
			if got := table.Round(p, v, math.MaxUint32); got == got {
				t.Errorf("%v of a NaN is %v", p, got)
			}
		}
	}
}

// Every set of instructions rounds all values to the same bits.
func TestRoundingKernelsAreTheirPortableForms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.OneOf(rapid.Map(rapid.Uint32(), math.Float32frombits),
			rapid.Float32Range(-1e-4, 1e-4),
			rapid.SampledFrom([]float32{0, float32(math.Copysign(0, -1)), 65504, 65520, -1e9,
				math.MaxFloat32, float32(math.Inf(1)), float32(math.NaN()), 0x1p-14, 0x1p-24})),
			1, 70).Draw(t, "values")
		key := rapid.Uint64().Draw(t, "key")
		for _, p := range []table.Precision{table.BF16, table.FP16} {
			want := table.RoundAll(isa.Portable, p, values, key)
			for _, set := range isa.Sets() {
				if got := table.RoundAll(set, p, values, key); !slices.Equal(got, want) {
					t.Fatalf("%v, %v of %v: %x, want %x", set, p, values, got, want)
				}
			}
		}
	})
}

// A new narrow row holds the initial values of a wide one, each rounded to one of its neighbours.
func TestNewNarrowRowsAreWideOnesRounded(t *testing.T) {
	for _, p := range []table.Precision{table.BF16, table.FP16} {
		c := config()
		c.Dim, c.InitBound = 33, 0.25
		wide := mustLookup(t, mustNew(t, c), 9)
		c.Precision = p
		for i, got := range mustLookup(t, mustNew(t, c), 9) {
			if low, high := neighbours(p, wide[i]); float64(got) != low && float64(got) != high {
				t.Errorf("%v: element %d is %v, want %v or %v", p, i, got, low, high)
			}
		}
	}
}

// Updates far below half a last place of the format add up on average, as in fp32. The bits
// of a row depend neither on other rows, nor on the shard, nor on the instruction set.
func TestNarrowRowsLearn(t *testing.T) {
	for _, p := range []table.Precision{table.BF16, table.FP16} {
		var digests []uint64
		for _, set := range isa.Sets() {
			c := config()
			c.Dim, c.Precision, c.InitBound = 33, p, 0
			tab := mustNew(t, c)
			tab.Use(set)
			if set != isa.Portable {
				mustLookup(t, tab, 1, 2, 3)
			}
			row := mustLookup(t, tab, 9)
			grad := slices.Repeat([]float32{-1.0 / 1024}, c.Dim)
			grad[0] = -1
			for range 1024 {
				tab.Apply([]uint64{9}, grad, 1, nil)
			}
			// Element 0 goes to 1024, exactly in fp16; the others to 1 ± √(1024·p(1−p)) last
			// places: below 0.5·32·2⁻⁸ for bf16, 5 deviations of the mean of 32 elements.
			got := mustLookup(t, tab, 9)
			mean := 0.0
			for i := 1; i < c.Dim; i++ {
				mean += float64(got[i]-row[i]) / 32
			}
			if math.Abs(mean-1) > 5*16*0x1p-8/math.Sqrt(32) {
				t.Errorf("%v, %v: 1024 updates by 1/1024 add up to %v", p, set, mean)
			}
			alone := 0
			for sign, values := range tab.All() {
				if sign == 9 && slices.Equal(values[:c.Dim], got) {
					alone++
				}
			}
			if alone != 1 {
				t.Errorf("%v: All does not show what Lookup reads", p)
			}
			clone := mustNew(t, c)
			mustLookup(t, clone, 1, 2, 3)
			others := clone.Digest()
			digest := tab.Digest()
			if set != isa.Portable {
				digest -= others
			}
			digests = append(digests, digest)
		}
		if slices.Min(digests) != slices.Max(digests) {
			t.Errorf("%v: the row depends on others or on instructions: %x", p, digests)
		}
	}
}

// Narrow rows take half the memory of their embeddings.
func TestNarrowRowsAreSmaller(t *testing.T) {
	c := config()
	c.Dim = 64
	wide := mustNew(t, c)
	c.Precision = table.BF16
	narrow := mustNew(t, c)
	for sign := range uint64(10_000) {
		mustLookup(t, wide, sign)
		mustLookup(t, narrow, sign)
	}
	// Of 12 + 256 + 256 bytes a row 128 go; a slab of up to 1 MiB may be empty.
	if saved := wide.Memory() - narrow.Memory(); saved < 10_000*128-1<<20 || saved > 10_000*128+1<<20 {
		t.Errorf("%v and %v: %v saved, want about 1.28MB", wide.Memory(), narrow.Memory(), saved)
	}
}
