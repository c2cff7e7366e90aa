package exec

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"reflect"

	"tandem/algo/protocol/msg"
)

// Fingerprint returns a 64-bit hash of a message's payload, which differs with any bit of its values except
// by chance. Of a rank's part of a batch it leaves out the ids, because they need not travel.
//
// Cost: about half a nanosecond a byte of what the payload refers to.
func Fingerprint(m msg.Message, payload Payload) uint64 {
	h := fingerprint(m.Kind) + 1
	switch payload := payload.(type) {
	case Samples:
		h.value(reflect.ValueOf(payload.Bounds))
		h.value(reflect.ValueOf(payload.Dense))
		h.value(reflect.ValueOf(payload.Labels))
		if len(payload.Weights) > 0 {
			h.value(reflect.ValueOf(payload.Weights))
		}
	case DenseShard:
		h.value(reflect.ValueOf([]float32(payload)))
	default:
		h.value(reflect.ValueOf(payload))
	}
	return uint64(h)
}

// fingerprint hashes words in order: each becomes the exclusive or of the two halves of a product with an odd
// constant.
type fingerprint uint64

func (h *fingerprint) word(x uint64) {
	high, low := bits.Mul64(uint64(*h)^x, 0x9e3779b97f4a7c15)
	*h = fingerprint(high ^ low)
}

// value hashes a value of any plain type, following pointers.
func (h *fingerprint) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		h.value(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			// Recordings of programs that knew no weights of ids have none.
			if f := v.Field(i); v.Type().Field(i).Name != "Weights" || f.Len() > 0 {
				h.value(f)
			}
		}
	case reflect.Slice:
		h.word(uint64(v.Len()) + 1)
		if !h.numbers(v) {
			for i := range v.Len() {
				h.value(v.Index(i))
			}
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		h.word(uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		h.word(v.Uint())
	case reflect.Float32, reflect.Float64:
		h.word(math.Float64bits(v.Float()))
	case reflect.Bool:
		if v.Bool() {
			h.word(1)
		} else {
			h.word(2)
		}
	case reflect.String:
		h.bytes([]byte(v.String()))
	default:
		panic(fmt.Sprintf("exec: no fingerprint of %v", v.Type()))
	}
}

// numbers hashes the slices that most payloads consist of, fast. It returns false for other types, and hashes
// nothing.
func (h *fingerprint) numbers(v reflect.Value) bool {
	if !v.CanInterface() {
		return false
	}
	switch s := v.Interface().(type) {
	case []float32:
		for len(s) > 1 {
			h.word(uint64(math.Float32bits(s[0])) | uint64(math.Float32bits(s[1]))<<32)
			s = s[2:]
		}
		for _, x := range s {
			h.word(uint64(math.Float32bits(x)))
		}
	case []uint64:
		for _, x := range s {
			h.word(x)
		}
	case []int32:
		for _, x := range s {
			h.word(uint64(x))
		}
	case []byte:
		h.bytes(s)
	default:
		return false
	}
	return true
}

// bytes hashes bytes, eight at a time. Their number distinguishes trailing zeros.
func (h *fingerprint) bytes(s []byte) {
	h.word(uint64(len(s)))
	for len(s) >= 8 {
		h.word(binary.LittleEndian.Uint64(s))
		s = s[8:]
	}
	var tail [8]byte
	copy(tail[:], s)
	h.word(binary.LittleEndian.Uint64(tail[:]))
}
