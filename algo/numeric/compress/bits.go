package compress

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// errShort is the error of bytes that end early.
var errShort = errors.New("compress: the bytes end early")

// numbers is a list of numbers as it is written: one byte with the number of
// bits that each takes above the least of them, the least as a varint, and the
// bits, the first number in the lowest, in whole bytes.
type numbers struct {
	least uint64
	width int
}

// measure returns how to write a list. More than free numbers take at least a
// bit each, so that a list is never longer than a reader has reason to expect.
func measure(list []uint64, free int) numbers {
	if len(list) == 0 {
		return numbers{}
	}
	least, most := list[0], list[0]
	for _, x := range list {
		least, most = min(least, x), max(most, x)
	}
	n := numbers{least, bits.Len64(most - least)}
	if n.width == bits.Len64(most) {
		n.least = 0 // it saves nothing, and is one byte so
	}
	if n.width == 0 && len(list) > free {
		n.width = 1
	}
	return n
}

// bodySize returns the bytes that count numbers of a width take.
func bodySize(count, width int) int { return (count*width + 7) / 8 }

// size returns the bytes that count numbers take, varint not counted.
func (n numbers) size(count int) int { return 1 + bodySize(count, n.width) }

// appendList writes a list.
func (n numbers) appendList(dst []byte, list []uint64) []byte {
	dst = append(dst, byte(n.width))
	dst = binary.AppendUvarint(dst, n.least)
	return appendBits(dst, list, n.least, n.width)
}

// appendBits writes the lowest width bits of each x − least.
func appendBits(dst []byte, list []uint64, least uint64, width int) []byte {
	if width == 0 {
		return dst
	}
	var pending uint64 // the lowest have bits are not yet written
	have := 0
	for _, x := range list {
		x -= least
		pending |= x << have
		have += width
		if have >= 64 {
			dst = binary.LittleEndian.AppendUint64(dst, pending)
			have -= 64
			pending = x >> (width - have) // a shift by 64 leaves 0
		}
	}
	for ; have > 0; have -= 8 {
		dst = append(dst, byte(pending))
		pending >>= 8
	}
	return dst
}

// parseList reads how a list of count numbers is written. It returns the numbers' bits, and the bytes behind
// them.
func parseList(src []byte, count, free int) (n numbers, body, rest []byte, err error) {
	if len(src) == 0 {
		return n, nil, nil, errShort
	}
	n.width = int(src[0])
	if n.least, src, err = readUvarint(src[1:]); err != nil {
		return n, nil, nil, err
	}
	if n.width > 64 || n.width == 0 && count > free {
		return n, nil, nil, fmt.Errorf("compress: %d numbers of %d bits; want 1 to 64", count, n.width)
	}
	body, rest, err = n.cut(src, count)
	return n, body, rest, err
}

// cut returns the bits of count numbers and the bytes behind them, if they are there.
func (n numbers) cut(src []byte, count int) (body, rest []byte, err error) {
	if n.width > 0 && count > 8*len(src)/n.width {
		return nil, nil, errShort
	}
	size := bodySize(count, n.width)
	return src[:size], src[size:], nil
}

// at returns number i of a list with some bits.
func (n numbers) at(body []byte, i int) uint64 {
	at := i * n.width
	mask := uint64(1)<<n.width - 1 // of width 64: all
	x := n.least + bitsAt(body, at)&mask
	if over := at%8 + n.width - 64; over > 0 {
		x += uint64(body[at/8+8]) << (n.width - over) & mask
	}
	return x
}

// readList reads count numbers to the end of list and returns the bytes behind
// them. It allocates after it has seen that they are there.
func readList(list []uint64, src []byte, count, free int) (all []uint64, rest []byte, err error) {
	n, body, rest, err := parseList(src, count, free)
	if err != nil {
		return nil, nil, err
	}
	return n.appendTo(list, body, count), rest, nil
}

// readBits reads count numbers of width bits and returns the bytes behind them.
// It allocates after it has seen that they are there.
func readBits(list []uint64, src []byte, count, width int) (all []uint64, rest []byte, err error) {
	n := numbers{width: width}
	body, rest, err := n.cut(src, count)
	if err != nil {
		return nil, nil, err
	}
	return n.appendTo(list, body, count), rest, nil
}

// appendTo adds count numbers with some bits to a list: at, for all of them.
func (n numbers) appendTo(list []uint64, body []byte, count int) []uint64 {
	first, least, width := len(list), n.least, n.width
	list = append(list, make([]uint64, count)...)
	mask := uint64(1)<<width - 1 // of width 64: all
	for i := range count {
		at := i * width
		list[first+i] = least + bitsAt(body, at)&mask
		if over := at%8 + width - 64; over > 0 {
			list[first+i] += uint64(body[at/8+8]) << (width - over) & mask
		}
	}
	return list
}

// bitsAt returns the 64 bits from position at on, less those of a ninth byte;
// bits behind the end are 0.
func bitsAt(body []byte, at int) uint64 {
	if at/8+8 <= len(body) {
		return binary.LittleEndian.Uint64(body[at/8:]) >> (at % 8)
	}
	var tail [8]byte
	copy(tail[:], body[at/8:])
	return binary.LittleEndian.Uint64(tail[:]) >> (at % 8)
}

// readUvarint reads a varint and returns the bytes behind it.
func readUvarint(src []byte) (x uint64, rest []byte, err error) {
	x, n := binary.Uvarint(src)
	if n <= 0 {
		return 0, nil, errShort
	}
	return x, src[n:], nil
}
