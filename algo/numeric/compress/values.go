package compress

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Form is the encoding of the values of a message.
type Form string

// The forms. A value takes 4, 2, or 2 bytes and 1 for every block.
const (
	FP32      Form = "fp32"
	FP16      Form = "fp16"
	FP16Block Form = "fp16-block"
)

// Forms lists the forms.
func Forms() []Form { return []Form{FP32, FP16, FP16Block} }

// BlockValues is the number of neighbouring values that share a scale; the last
// block of a list may have fewer. A block of 128 adds 0.4 % to its halves.
const BlockValues = 128

// Size returns the number of bytes that n values take. It panics on an unknown form, as all functions here
// do.
func (f Form) Size(n int) int {
	switch f {
	case FP32:
		return 4 * n
	case FP16:
		return 2 * n
	case FP16Block:
		return 2*n + (n+BlockValues-1)/BlockValues
	}
	panic(fmt.Sprintf("compress: unknown form %q", string(f)))
}

// ValueSize returns the bytes of a value in a long list.
func (f Form) ValueSize() float64 { return float64(f.Size(BlockValues)) / BlockValues }

// Values are values as they travel, in the one field that the form uses.
type Values struct {
	Form   Form
	Floats []float32 // of FP32, as they are
	Packed []byte    // of the other forms, little endian
}

// Pack encodes values in a form. FP32 aliases them. FP16 is a sequence of halves. FP16Block is a sequence of
// blocks, each a byte, 114 + log₂ of the scale, and the halves of the scaled values.
//
// Cost: one pass; allocates the result.
func Pack(form Form, values []float32) Values {
	switch form {
	case FP32:
		return Values{Form: form, Floats: values}
	case FP16:
		packed := make([]byte, form.Size(len(values)))
		putHalves(packed, values, 1)
		return Values{Form: form, Packed: packed}
	}
	packed := make([]byte, form.Size(len(values)))
	for at := 0; len(values) > 0; {
		block := values[:min(BlockValues, len(values))]
		k := scaleExponent(block)
		packed[at] = byte(scaleBias + k)
		putHalves(packed[at+1:], block, powerOfTwo(k))
		values = values[len(block):]
		at += 1 + 2*len(block)
	}
	return Values{Form: form, Packed: packed}
}

// Size returns the number of bytes on a wire.
func (v Values) Size() int { return 4*len(v.Floats) + len(v.Packed) }

// Unpack returns the n values. FP32 aliases v. It returns an error if v does not have n values, or is not an
// encoding of Pack. Cost: one pass; allocates the result.
func (v Values) Unpack(n int) ([]float32, error) {
	switch v.Form {
	case FP32, FP16, FP16Block:
	default:
		return nil, fmt.Errorf("compress: values of unknown form %q", string(v.Form))
	}
	floats, packedBytes := n, 0
	if v.Form != FP32 {
		floats, packedBytes = 0, v.Form.Size(n)
	}
	if len(v.Floats) != floats || len(v.Packed) != packedBytes {
		return nil, fmt.Errorf("compress: %d numbers in %s take %d bytes, got %d", n, v.Form, v.Form.Size(n),
			v.Size())
	}
	if v.Form == FP32 {
		return v.Floats, nil
	}
	values := make([]float32, n)
	if v.Form == FP16 {
		getHalves(values, v.Packed, 1)
		return values, nil
	}
	packed := v.Packed
	for rest := values; len(rest) > 0; {
		block := rest[:min(BlockValues, len(rest))]
		if err := checkScale(packed[0]); err != nil {
			return nil, err
		}
		k := int(packed[0]) - scaleBias
		getHalves(block, packed[1:], powerOfTwo(-k))
		rest = rest[len(block):]
		packed = packed[1+2*len(block):]
	}
	return values, nil
}

// The exponents of scales. scaleLeast belongs to the largest finite norms.
// Below a norm of 2⁻¹¹² the scale stays at scaleMost: fp32 values of that size
// are multiples of 2⁻¹⁴⁹, which it makes multiples of a half's 2⁻²⁴.
const (
	scaleLeast = 14 - 127
	scaleMost  = 126
	scaleBias  = 114
)

// checkScale returns an error unless a byte stands for the scale of a block.
func checkScale(b byte) error {
	if k := int(b) - scaleBias; k < scaleLeast || k > scaleMost {
		return fmt.Errorf("compress: a block's scale is 2^%d; want an exponent of %d to %d", k, scaleLeast,
			scaleMost)
	}
	return nil
}

// scaleExponent returns the exponent of the scale that takes the largest finite
// magnitude of a block into [2¹⁴, 2¹⁵), where nothing rounds to infinity.
func scaleExponent(block []float32) int {
	norm := uint32(0) // the bits of magnitudes are in the order of their values
	for _, x := range block {
		if b := math.Float32bits(x) & magnitude; b < infinityBits {
			norm = max(norm, b)
		}
	}
	return min(14-(int(norm/exponentUnit)-127), scaleMost)
}

// powerOfTwo returns 2^k for |k| ≤ 126.
func powerOfTwo(k int) float32 { return math.Float32frombits(uint32(127+k) * exponentUnit) }

// putHalves writes the halves of scaled values to the front of dst.
func putHalves(dst []byte, values []float32, scale float32) {
	dst = dst[:2*len(values)]
	for i := putWide(dst, values, scale); i < len(values); i++ {
		binary.LittleEndian.PutUint16(dst[2*i:], Half(values[i]*scale))
	}
}

// getHalves reads len(values) halves from the front of src and scales them.
func getHalves(values []float32, src []byte, scale float32) {
	src = src[:2*len(values)]
	for i := getWide(values, src, scale); i < len(values); i++ {
		values[i] = Float(binary.LittleEndian.Uint16(src[2*i:])) * scale
	}
}
