package vec

import (
	"math"

	"tandem/algo/numeric/kernel/internal/shape"
)

// BF16 returns the bf16 (the upper half of an IEEE 754 binary32) nearest to f, and of
// two equally near ones the even one. Magnitudes from 2¹²⁸ − 2¹¹⁹ on become infinite. A
// NaN becomes a quiet NaN with the upper bits of its payload.
func BF16(f float32) uint16 {
	b := math.Float32bits(f)
	if f != f {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16) // may carry into the exponent, up to infinity's
}

// FromBF16 returns the value of a bf16, exactly.
func FromBF16(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// ToBF16 rounds every value to the nearest bf16: dst[i] = BF16(src[i]). It panics if
// the lengths differ. Cost: 6 bytes of memory traffic a value, and 16 values in
// about 10 instructions where the processor has AVX-512.
func ToBF16(dst []uint16, src []float32) {
	shape.Equal("dst", len(dst), len(src))
	if len(src) > 0 {
		active.toBF16(dst, src)
	}
}

func toBF16(dst []uint16, src []float32) {
	for i, v := range src {
		dst[i] = BF16(v)
	}
}
