package compress

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// Signs are distinct signs, in an order that matters, as a message carries
// them.
type Signs struct {
	Plain  []uint64 // as they are
	Packed []byte   // by PackSigns, and then not empty; Plain is
}

// Size returns the number of bytes on a wire.
func (s Signs) Size() int { return 8*len(s.Plain) + len(s.Packed) }

// PackSigns writes signs whose prefixBits upper bits name their slots. The
// signs of a slot, as far as they are neighbours, are a run:
//
//	prefixBits, one byte · for each run: its length, as a varint · the bits of
//	a number, one byte · the least sign, rotated to end with its prefix, as a
//	varint · how far each sign lies above it, in that many bits
//
// Cost: one pass; allocates the result.
func PackSigns(signs []uint64, prefixBits int) Signs {
	packed := []byte{byte(prefixBits)}
	for len(signs) > 0 {
		run := 1
		for run < len(signs) && signs[run]>>(64-prefixBits) == signs[0]>>(64-prefixBits) {
			run++
		}
		n := measure(signs[:run], 1)
		packed = binary.AppendUvarint(packed, uint64(run))
		packed = append(packed, byte(n.width))
		packed = binary.AppendUvarint(packed, bits.RotateLeft64(n.least, prefixBits))
		packed = appendBits(packed, signs[:run], n.least, n.width)
		signs = signs[run:]
	}
	return Signs{Packed: packed}
}

// Unpack returns the signs. Plain signs alias s. It returns an error if Packed
// is not what PackSigns makes. The result is at most 64 times as long as Packed.
func (s Signs) Unpack() ([]uint64, error) {
	if len(s.Packed) == 0 {
		return s.Plain, nil
	}
	prefixBits, src := int(s.Packed[0]), s.Packed[1:]
	var signs []uint64
	for len(src) > 0 {
		run, rest, err := readUvarint(src)
		if err != nil {
			return nil, err
		}
		if len(rest) == 0 {
			return nil, errShort
		}
		width := int(rest[0])
		rotated, rest, err := readUvarint(rest[1:])
		if err != nil {
			return nil, err
		}
		// Signs are distinct, so only a single one takes no bits.
		if width > 64 || width == 0 && run != 1 || run > uint64(8*len(rest)+1) {
			return nil, fmt.Errorf("compress: a run of %d signs of %d bits in %d bytes", run, width, len(rest))
		}
		least := bits.RotateLeft64(rotated, -prefixBits)
		if signs, src, err = readBits(signs, rest, int(run), least, width); err != nil {
			return nil, err
		}
	}
	return signs, nil
}
