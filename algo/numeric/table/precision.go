package table

import (
	"fmt"
	"math"
	"slices"

	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/isa"
	"tandem/algo/rng"
)

// Precision is the format of the embedding values of a row. The optimizer state is
// always float32.
type Precision uint8

const (
	FP32 Precision = iota // 4 bytes
	BF16                  // 2 bytes: the upper half of a float32, 8 significant bits
	FP16                  // 2 bytes: IEEE binary16, 11 significant bits, up to 65,504
)

// Precisions returns the names of all precisions, by value.
func Precisions() []string { return []string{"fp32", "bf16", "fp16"} }

// String returns the name that job files use.
func (p Precision) String() string { return Precisions()[p] }

// ParsePrecision returns the precision with a name of Precisions.
func ParsePrecision(name string) (Precision, error) {
	i := slices.Index(Precisions(), name)
	if i < 0 {
		return 0, fmt.Errorf("precision %q: want one of %v", name, Precisions())
	}
	return Precision(i), nil
}

// bytes returns the memory of an embedding, in whole words.
func (p Precision) bytes(dim int) int {
	if p == FP32 {
		return 4 * dim
	}
	return (2*dim + 3) &^ 3
}

// widen returns the value of a half, exactly.
func (p Precision) widen(half uint16) float32 {
	if p == BF16 {
		return math.Float32frombits(uint32(half) << 16)
	}
	return compress.Float(half)
}

// Rounding is stochastic: a value between two neighbours of the narrow format becomes
// the upper neighbour with a probability equal to its distance from the lower one, as a
// share of the gap. Small updates are so preserved on average, where rounding to the
// nearest would lose them. Exact values stay. A value beyond the largest finite one
// becomes the largest finite one; Inf and NaN stay.
//
// The random bits are a function of (seed, sign, updates of the row, element), so that
// rows depend neither on the order of other rows nor on shards.

// narrow rounds a value by random bits: of bf16 the lower 16 count, of fp16 13.
// Subnormal halves are rounded up with a probability that is off by less than
// 2⁻¹³; all others exactly.
func (p Precision) narrow(v float32, random uint32) uint16 {
	b := math.Float32bits(v)
	sign, size := uint16(b>>16)&0x8000, b&0x7fff_ffff
	if p == BF16 {
		const infinity, largest = 0x7f80_0000, 0x7f7f
		switch half := uint16((size + random&0xffff) >> 16); {
		case size > infinity:
			return sign | 0x7fc0
		case size < infinity && half > largest:
			return sign | largest
		default:
			return sign | half
		}
	}
	const infinity, tooLarge, normal = 0x7f80_0000, (127 + 16) << 23, (127 - 14) << 23
	random &= 1<<13 - 1
	switch {
	case size > infinity:
		return sign | 0x7e00
	case size == infinity:
		return sign | 0x7c00
	case size < normal:
		// A multiple of 2⁻²⁴, the last place of subnormal halves, and the rest is cut off.
		sum := math.Float32frombits(size) + float32(random)*0x1p-37
		return sign | uint16(sum*0x1p24)
	case size+random >= tooLarge:
		return sign | 0x7bff
	}
	return sign | uint16((size+random-(127-15)<<23)>>13)
}

// roundingKey returns the key of the random bits of a row after a number of updates.
func (t *Table) roundingKey(sign uint64, updates uint32) uint64 {
	return rng.Mix(t.rounding ^ rng.Mix(sign+uint64(updates)*0x9e3779b97f4a7c15))
}

// randomBits returns those of an element: 32 of them, by the mixer "lowbias32" with
// half of the key added on the way.
//
// Source: Wellons, hash-prospector, 2018.
func randomBits(key uint64, element int) uint32 {
	x := uint32(key) + uint32(element)*0x9e3779b9
	x = (x ^ x>>16) * 0x7feb352d
	x += uint32(key >> 32)
	x = (x ^ x>>15) * 0x846ca68b
	return x ^ x>>16
}

// narrowAll rounds values, at least one, by the random bits of a key.
func (p Precision) narrowAll(set isa.Set, dst []uint16, values []float32, key uint64) {
	dst = dst[:len(values)]
	done := 0
	switch {
	case set == isa.AVX512 && p == BF16:
		narrowBF16AVX512(&dst[0], &values[0], len(values), key)
		return
	case set == isa.AVX512:
		narrowFP16AVX512(&dst[0], &values[0], len(values), key)
		return
	case set == isa.Portable || len(values) < 8:
	case p == BF16:
		done = len(values) &^ 7
		narrowBF16AVX2(&dst[0], &values[0], done, key)
	default:
		done = len(values) &^ 7
		narrowFP16AVX2(&dst[0], &values[0], done, key)
	}
	for i, v := range values[done:] {
		dst[done+i] = p.narrow(v, randomBits(key, done+i))
	}
}

// widenAll reads the values of a row.
func (t *Table) widenAll(dst []float32, row int) {
	if t.set != isa.Portable {
		only := [1]int32{int32(row)}
		v := t.view()
		t.copyRows(&v, dst, only[:])
		return
	}
	p := t.config.Precision
	for i, h := range t.halves(row) {
		dst[i] = p.widen(h)
	}
}
