package compress

import "math"

// Bits of an fp32 value.
const (
	exponentUnit = 1 << 23   // 1 in the exponent, which is biased by 127
	infinityBits = 255 << 23 // larger magnitudes are NaN
	magnitude    = 1<<31 - 1 // all but the sign
)

// Half returns the half (IEEE 754 binary16) nearest to f, of two the even one.
// Magnitudes from 65,520 on become infinite. A NaN stays one, made quiet, with
// the upper bits of its payload.
func Half(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b>>16) & 0x8000
	b &= magnitude
	switch {
	case b > infinityBits:
		return sign | 0x7e00 | uint16(b>>13)&0x3ff
	case b >= (127+16)*exponentUnit:
		return sign | 0x7c00
	case b < (127-14)*exponentUnit:
		// The result is subnormal, a multiple of 2⁻²⁴. That is what the last bit of
		// a sum with ½ is worth, so the addition rounds as it should.
		return sign | uint16(math.Float32bits(math.Float32frombits(b)+0.5)-(127-1)*exponentUnit)
	}
	// Rounding up may carry into the exponent, up to infinity's.
	b += 0xfff + b>>13&1 - (127-15)*exponentUnit
	return sign | uint16(b>>13)
}

// Float returns the value of a half, exactly.
func Float(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	b := uint32(h&0x7fff) << 13
	switch b >> 23 {
	case 0: // zero or subnormal
		b = math.Float32bits(float32(h&0x3ff) * 0x1p-24)
	case 31: // infinity or NaN
		b += (255 - 31) * exponentUnit
	default:
		b += (127 - 15) * exponentUnit
	}
	return math.Float32frombits(sign | b)
}
