package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/delta"
)

// In some encodings a few bytes represent many values. The library allocates memory for as many
// values as they claim, so this file checks the counts against the header of the page.
//
// Source: Apache Parquet, Encodings.md.

// checkRuns checks a hybrid of runs and bit-packed values of a number of bits: it must have at
// most n values. The number of bit-packed values is bounded by their bytes.
func checkRuns(data []byte, bits int, n int64) error {
	if bits > 32 {
		return fmt.Errorf("values of %d bits", bits)
	}
	for len(data) > 0 {
		head, size := binary.Uvarint(data)
		if size <= 0 {
			return errShort
		}
		data = data[size:]
		count, take := head>>1, uint64(bits+7)/8
		if packed := head&1 == 1; packed && bits > 0 {
			if count > uint64(len(data)) {
				return errShort
			}
			count, take = 0, count*uint64(bits)
		} else if packed {
			count *= 8
		}
		if count > uint64(n)+7 {
			return fmt.Errorf("a run of %d values in a page of %d", count, n)
		}
		if n -= int64(min(count, uint64(n))); take > uint64(len(data)) {
			return errShort
		}
		data = data[take:]
	}
	return nil
}

// checkDelta checks delta-packed numbers, at most n of them, and returns the bytes behind them.
func checkDelta(data []byte, n int64) (rest []byte, err error) {
	w := walker{data: data}
	var head [4]uint64 // size of a block, its mini-blocks, numbers, the first number
	for i := range head {
		if head[i], err = w.varint(); err != nil {
			return nil, err
		}
	}
	block, parts, count := head[0], head[1], head[2]
	switch {
	case count > uint64(n):
		return nil, fmt.Errorf("%d numbers in a page of %d", count, n)
	case block == 0 || block > 1<<16 || parts == 0 || block%parts != 0:
		return nil, fmt.Errorf("blocks of %d numbers in %d parts", block, parts)
	}
	for left := count - min(count, 1); left > 0; {
		if _, err := w.varint(); err != nil {
			return nil, err
		}
		widths := w.at
		if err := w.skip(parts); err != nil {
			return nil, err
		}
		for i := uint64(0); i < parts && left > 0; i++ {
			if err := w.skip(block / parts * uint64(data[widths+int(i)]) / 8); err != nil {
				return nil, err
			}
			left -= min(left, block/parts)
		}
	}
	return data[w.at:], nil
}

// checkPrefixes checks texts that are written as the length of the prefix that they share with the
// previous text, and the rest. A text of one byte can represent one as long as all texts before it.
func checkPrefixes(data []byte, n, most int64) error {
	rest, err := checkDelta(data, n)
	if err == nil {
		_, err = checkDelta(rest, n)
	}
	if err != nil {
		return err
	}
	prefixes, err := new(delta.BinaryPackedEncoding).DecodeInt32(nil, data)
	if err != nil {
		return err
	}
	sum := int64(0)
	for _, length := range prefixes {
		if length < 0 {
			return errors.New("a text with a negative prefix length")
		}
		if sum += int64(length); sum > most {
			return fmt.Errorf("texts with prefixes of more than %d bytes: write smaller pages", most)
		}
	}
	return nil
}
