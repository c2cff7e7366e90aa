package compress

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// mustRoundTrip packs and unpacks.
func mustRoundTrip(t rapid.TB, form Form, values []float32) []float32 {
	packed := Pack(form, values)
	if packed.Size() != form.Size(len(values)) {
		t.Fatalf("%d values in %s: %d bytes, want %d", len(values), form, packed.Size(),
			form.Size(len(values)))
	}
	got, err := packed.Unpack(len(values))
	if err != nil {
		t.Fatalf("%s: %v", form, err)
	}
	if len(got) != len(values) {
		t.Fatalf("%s: %d values became %d", form, len(values), len(got))
	}
	return got
}

// anyFloats draws values of any bits, or all of about the same size.
func anyFloats(t *rapid.T) []float32 {
	n := rapid.IntRange(0, 3*BlockValues).Draw(t, "n")
	exponents := rapid.SampledFrom([][2]int{{0, 255}, {0, 2}, {100, 120}, {110, 145}, {240, 254}}).Draw(t,
		"exponents")
	values := make([]float32, n)
	for i := range values {
		b := rapid.Uint32().Draw(t, "bits")&^uint32(infinityBits) | uint32(rapid.IntRange(exponents[0],
			exponents[1]).Draw(t, "exponent"))<<23
		values[i] = math.Float32frombits(b)
	}
	return values
}

// finiteNorm is the largest finite magnitude.
func finiteNorm(block []float32) (norm float64) {
	for _, x := range block {
		if a := math.Abs(float64(x)); a <= math.MaxFloat32 {
			norm = max(norm, a)
		}
	}
	return norm
}

func TestFP32IsExactAndNotCopied(t *testing.T) {
	values := []float32{1, float32(math.Inf(1)), float32(math.NaN())}
	if got := mustRoundTrip(t, FP32, values); &got[0] != &values[0] {
		t.Error("copied")
	}
}

// A plain cast is Half and Float of each value.
func TestFP16CastsEachValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := anyFloats(t)
		for i, got := range mustRoundTrip(t, FP16, values) {
			if want := Float(Half(values[i])); math.Float32bits(got) != math.Float32bits(want) {
				t.Fatalf("%v became %v, want %v", values[i], got, want)
			}
		}
	})
}

// |x̂ − x| ≤ 2⁻¹¹·|x| + 2⁻³⁹·‖v‖∞ for every finite value of a block v; what is
// not finite stays what it is. The scaled value is below 2¹⁵, so it is cast with
// a relative error of 2⁻¹¹, or, below 2⁻¹⁴, with an absolute one of 2⁻²⁵; the
// scale is above 2¹⁴/‖v‖∞ (or, for the tiniest blocks, exact). Only values that
// round to 2¹²⁸ have no fp32 form, and become infinite.
func TestBlockErrorBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := anyFloats(t)
		got := mustRoundTrip(t, FP16Block, values)
		for lo := 0; lo < len(values); lo += BlockValues {
			block := values[lo:min(lo+BlockValues, len(values))]
			norm := finiteNorm(block)
			for i, x := range block {
				y := got[lo+i]
				switch a := math.Abs(float64(x)); {
				case x != x:
					if y == y {
						t.Fatalf("NaN became %v", y)
					}
				case math.IsInf(a, 0):
					if y != x {
						t.Fatalf("%v became %v", x, y)
					}
				case a >= 0x1p128*(1-0x1p-12):
					if y != float32(math.Copysign(math.Inf(1), float64(x))) {
						t.Fatalf("%v became %v", x, y)
					}
				default:
					if off, bound := math.Abs(float64(y)-float64(x)), 0x1p-11*a+0x1p-39*norm; off > bound {
						t.Fatalf("%v in a block of norm %v became %v: off by %v, bound %v", x, norm, y, off,
							bound)
					}
				}
			}
		}
	})
}

// Values of 11 bits that are at least 2⁻²⁸ of the norm are exact, at any size:
// scaled they lie in [2⁻¹⁴, 2¹⁵), where halves have 11 bits.
func TestBlockOfHalvesIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		smallest := rapid.IntRange(-149, 127-38).Draw(t, "smallest")
		values := make([]float32, rapid.IntRange(1, BlockValues).Draw(t, "n"))
		for i := range values {
			bits, above := rapid.IntRange(1024, 2047).Draw(t, "bits"), rapid.IntRange(0, 27).Draw(t, "above")
			values[i] = float32(math.Ldexp(float64(bits), smallest+above))
		}
		if got := mustRoundTrip(t, FP16Block, values); !slices.Equal(got, values) {
			t.Fatalf("%v became %v", values, got)
		}
	})
}

func TestBlockKeepsZeros(t *testing.T) {
	zeros := mustRoundTrip(t, FP16Block, []float32{0, float32(math.Copysign(0, -1))})
	if zeros[0] != 0 || !math.Signbit(float64(zeros[1])) {
		t.Errorf("zeros became %v", zeros)
	}
}

// Gradients of 10⁻⁸ vanish in a plain cast, whose least value is 2⁻²⁴ ≈ 6·10⁻⁸,
// and keep 11 bits in a block.
func TestBlocksKeepSmallGradients(t *testing.T) {
	small := slices.Repeat([]float32{1e-8, -3e-8}, 100)
	if plain := mustRoundTrip(t, FP16, small); plain[0] != 0 {
		t.Errorf("plain: %v", plain[0])
	}
	if scaled := mustRoundTrip(t, FP16Block, small); math.Abs(float64(scaled[0])/1e-8-1) > 0x1p-11 {
		t.Errorf("scaled: %v", scaled[0])
	}
}

func TestUnpackRefuses(t *testing.T) {
	for _, c := range []struct {
		v    Values
		n    int
		want string
	}{
		{Values{Form: "fp8"}, 0, `unknown form "fp8"`},
		{Values{Form: FP32, Floats: make([]float32, 2)}, 3, "3 numbers in fp32 take 12 bytes, got 8"},
		{Values{Form: FP32, Packed: make([]byte, 12)}, 3, "got 12"},
		{Values{Form: FP16, Packed: make([]byte, 7)}, 3, "take 6 bytes, got 7"},
		{Values{Form: FP16, Floats: make([]float32, 1), Packed: make([]byte, 2)}, 3, "got 6"},
		{Values{Form: FP16Block, Packed: make([]byte, 3)}, 1, "scale is 2^-114"},
		{Values{Form: FP16Block, Packed: []byte{255, 0, 0}}, 1, "scale is 2^141"},
	} {
		if _, err := c.v.Unpack(c.n); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.v, err, c.want)
		}
	}
}

// Unpacking any bytes returns an error or the given number of values.
func FuzzValues(f *testing.F) {
	f.Add(Pack(FP16Block, []float32{1, 2, 3}).Packed, 3, true)
	f.Fuzz(func(t *testing.T, data []byte, n int, block bool) {
		n = min(max(n, 0), len(data))
		v := Values{Form: FP16, Packed: data}
		if block {
			v.Form = FP16Block
		}
		got, err := v.Unpack(n)
		if err == nil && len(got) != n {
			t.Errorf("%d numbers, want %d", len(got), n)
		}
		if refused := v.Check(v.Form, n); (err == nil) != (refused == nil) {
			t.Errorf("unpacking: %v; checking: %v", err, refused)
		}
	})
}

func BenchmarkPack(b *testing.B) {
	values := make([]float32, 1<<16)
	for i := range values {
		values[i] = float32(math.Sin(float64(i))) * 1e-3
	}
	for _, form := range Forms()[1:] {
		packed := Pack(form, values)
		b.Run("pack/"+string(form), func(b *testing.B) {
			b.SetBytes(int64(4 * len(values)))
			for b.Loop() {
				Pack(form, values)
			}
		})
		b.Run("unpack/"+string(form), func(b *testing.B) {
			b.SetBytes(int64(4 * len(values)))
			for b.Loop() {
				if _, err := packed.Unpack(len(values)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A half takes two bytes; a block of 128 of them has one byte more.
func TestValueSizeIsThatOfALongList(t *testing.T) {
	for form, want := range map[Form]float64{FP32: 4, FP16: 2, FP16Block: 2 + 1.0/128} {
		if got := form.ValueSize(); got != want {
			t.Errorf("%s: %v bytes a value, want %v", form, got, want)
		}
	}
}
