package compress

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// valueOf is the value of a finite half by its definition: sign, five bits of
// exponent biased by 15, ten bits of fraction.
func valueOf(h uint16) float64 {
	fraction, exponent := float64(h&0x3ff)/1024, int(h>>10&31)
	value := math.Ldexp(1+fraction, exponent-15)
	if exponent == 0 {
		value = math.Ldexp(fraction, -14)
	}
	if h&0x8000 != 0 {
		value = -value
	}
	return value
}

// halfOf is the plain form of Half: it searches the nearest of all halves, for
// which infinity counts as the 2¹⁶ that comes next.
func halfOf(f float32) uint16 {
	sign := uint16(math.Float32bits(f)>>16) & 0x8000
	if f != f {
		return sign | 0x7e00 | uint16(math.Float32bits(f)>>13)&0x3ff
	}
	x := math.Abs(float64(f))
	lo, hi := uint16(0), uint16(0x7c00) // value(lo) ≤ x; x < value(hi), or hi is infinity
	if x >= valueOf(hi) {
		return sign | hi
	}
	for hi-lo > 1 {
		if middle := (lo + hi) / 2; valueOf(middle) <= x {
			lo = middle
		} else {
			hi = middle
		}
	}
	below, above := x-valueOf(lo), valueOf(hi)-x
	if above < below || above == below && hi%2 == 0 {
		return sign | hi
	}
	return sign | lo
}

// Every half has the value of its definition, and survives the conversion to float32 and back.
func TestEveryHalf(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		f := Float(h)
		switch {
		case h&0x7fff == 0x7c00:
			if !math.IsInf(float64(f), 1-int(h>>15)*2) || Half(f) != h {
				t.Fatalf("infinity %#x is %v and comes back as %#x", h, f, Half(f))
			}
		case h&0x7fff > 0x7c00:
			if f == f || Half(f) != h|0x200 { // 0x200 is what makes a NaN quiet
				t.Fatalf("NaN %#x is %v and comes back as %#x", h, f, Half(f))
			}
		default:
			if float64(f) != valueOf(h) || Half(f) != h {
				t.Fatalf("%#x is %v, want %v, and comes back as %#x", h, f, valueOf(h), Half(f))
			}
		}
	}
}

// The cast is that of the plain form at, just below and just above every point
// where rounding turns over, and for any bits at all.
func TestHalfRoundsToNearestEven(t *testing.T) {
	check := func(f float32) {
		if got, want := Half(f), halfOf(f); got != want {
			t.Fatalf("%v (%#x) becomes %#x, want %#x", f, math.Float32bits(f), got, want)
		}
	}
	for i := range uint16(0x7c00) {
		tie := float32((valueOf(i) + valueOf(i+1)) / 2)
		for _, f := range []float32{tie, math.Nextafter32(tie, 0), math.Nextafter32(tie, 1e9)} {
			check(f)
			check(-f)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		if f := math.Float32frombits(rapid.Uint32().Draw(t, "bits")); Half(f) != halfOf(f) {
			t.Fatalf("%v becomes %#x, want %#x", f, Half(f), halfOf(f))
		}
	})
}

// 65,519.99 is nearest to the largest half; 65,520 lies half way to 2¹⁶, the
// even one, which no half has.
func TestOverflowIsInfinite(t *testing.T) {
	if got := Float(Half(math.Nextafter32(65520, 0))); got != 65504 {
		t.Errorf("just below 65520 becomes %v", got)
	}
	for _, f := range []float32{65520, 1e30, math.MaxFloat32} {
		if got := Float(Half(-f)); !math.IsInf(float64(got), -1) {
			t.Errorf("%v becomes %v", -f, got)
		}
	}
}
