package compress

import (
	"encoding/binary"
	"fmt"
)

// Signs are distinct signs, in a significant order, as they travel.
type Signs struct {
	Plain  []uint64 // as they are
	Packed []byte   // by PackSigns; Plain is empty then
}

// Size returns the number of bytes on a wire.
func (s Signs) Size() int { return 8*len(s.Plain) + len(s.Packed) }

// PackSigns encodes signs whose prefixBits upper bits name their feature group. Neighbouring signs of one
// group are a run:
//
//	prefixBits, one byte · for each run: its length and its prefix, as varints ·
//	the lower bits of its signs, as numbers
//
// If the encoding is not smaller, the signs stay plain and alias the argument. Cost: one pass; allocates the
// result.
func PackSigns(signs []uint64, prefixBits int) Signs {
	shift := 64 - prefixBits
	packed := []byte{byte(prefixBits)}
	var ids []uint64
	for rest := signs; len(rest) > 0; rest = rest[len(ids):] {
		prefix := rest[0] >> shift
		ids = ids[:0]
		for len(ids) < len(rest) && rest[len(ids)]>>shift == prefix {
			ids = append(ids, rest[len(ids)]&(1<<shift-1))
		}
		packed = binary.AppendUvarint(packed, uint64(len(ids)))
		packed = binary.AppendUvarint(packed, prefix)
		packed = measure(ids, 1).appendList(packed, ids)
	}
	if len(packed) >= 8*len(signs) {
		return Signs{Plain: signs}
	}
	return Signs{Packed: packed}
}

// Unpack returns the signs. Plain signs alias s. It returns an error if Packed
// is not an encoding of PackSigns. The result is at most 64 times as long as Packed.
func (s Signs) Unpack() ([]uint64, error) {
	if len(s.Packed) == 0 {
		return s.Plain, nil
	}
	prefixBits, src := int(s.Packed[0]), s.Packed[1:]
	if prefixBits > 63 {
		return nil, fmt.Errorf("compress: signs with a prefix of %d bits", prefixBits)
	}
	var signs []uint64
	for len(src) > 0 {
		run, rest, err := readUvarint(src)
		if err != nil {
			return nil, err
		}
		prefix, rest, err := readUvarint(rest)
		if err != nil {
			return nil, err
		}
		if run > uint64(8*len(rest)) {
			return nil, errShort
		}
		first := len(signs)
		// Signs are distinct, so only one of a run can take no bits.
		if signs, src, err = readList(signs, rest, int(run), 1); err != nil {
			return nil, err
		}
		for i := range signs[first:] {
			signs[first+i] |= prefix << (64 - prefixBits)
		}
	}
	return signs, nil
}
