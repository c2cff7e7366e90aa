package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The library allocates memory for as many elements of a list, or bytes of a text, as the file
// claims, before it reads them. So the claims are checked first, by a walk over Thrift's compact
// protocol that stores nothing.
//
// Source: Apache Thrift, doc/specs/thrift-compact-protocol.md.

// Types of values in the compact protocol.
const (
	thriftTrue = iota + 1
	thriftFalse
	thriftByte
	thriftInt16
	thriftInt32
	thriftInt64
	thriftDouble
	thriftBinary
	thriftList
	thriftSet
	thriftMap
	thriftStruct
)

const thriftDepthMax = 32

// structBytesMin is the size of the smallest struct in a list of the file: in Parquet, the sort
// order of a column. The largest struct in memory, a column of a row group, has 560 bytes: 187
// per byte of the file.
const structBytesMin = 3

// errShort says that a struct continues behind the end of the bytes.
var errShort = errors.New("cut short")

// thriftBytes returns the length of the struct at the beginning of data. The error wraps errShort
// if the struct does not end in data, or claims more elements or letters than there are bytes.
func thriftBytes(data []byte) (int, error) {
	w := walker{data: data}
	err := w.structure(0)
	return w.at, err
}

type walker struct {
	data []byte
	at   int
}

// skip skips n bytes.
func (w *walker) skip(n uint64) error {
	if left := len(w.data) - w.at; n > uint64(left) {
		return fmt.Errorf("%w: %d bytes where %d are left", errShort, n, left)
	}
	w.at += int(n)
	return nil
}

func (w *walker) oneByte() (byte, error) {
	if err := w.skip(1); err != nil {
		return 0, err
	}
	return w.data[w.at-1], nil
}

func (w *walker) varint() (uint64, error) {
	v, n := binary.Uvarint(w.data[w.at:])
	switch {
	case n == 0:
		return 0, errShort
	case n < 0:
		return 0, errors.New("a number of more than 64 bits")
	}
	w.at += n
	return v, nil
}

func (w *walker) structure(depth int) error {
	if depth > thriftDepthMax {
		return fmt.Errorf("nested deeper than %d levels", thriftDepthMax)
	}
	for {
		head, err := w.oneByte()
		if err != nil || head == 0 {
			return err
		}
		if head>>4 == 0 { // the field number follows
			if _, err := w.varint(); err != nil {
				return err
			}
		}
		if kind := head & 15; kind == thriftTrue || kind == thriftFalse {
			continue // the type is the value
		}
		if err := w.value(head&15, depth); err != nil {
			return err
		}
	}
}

func (w *walker) value(kind byte, depth int) error {
	switch kind {
	case thriftTrue, thriftFalse, thriftByte:
		return w.skip(1)
	case thriftInt16, thriftInt32, thriftInt64:
		_, err := w.varint()
		return err
	case thriftDouble:
		return w.skip(8)
	case thriftBinary:
		n, err := w.varint()
		if err != nil {
			return err
		}
		return w.skip(n)
	case thriftList, thriftSet:
		return w.list(depth)
	case thriftMap:
		return w.pairs(depth)
	case thriftStruct:
		return w.structure(depth + 1)
	}
	return fmt.Errorf("unknown type %d", kind)
}

// list walks over a list: a byte with size and type, the size if it is 15 or more, the elements.
func (w *walker) list(depth int) error {
	head, err := w.oneByte()
	if err != nil {
		return err
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, err = w.varint(); err != nil {
			return err
		}
	}
	least := uint64(1)
	if head&15 == thriftStruct {
		least = structBytesMin
	}
	if left := uint64(len(w.data) - w.at); n > left/least {
		return fmt.Errorf("%w: %d elements in %d bytes", errShort, n, left)
	}
	for range n {
		begin := w.at
		if err := w.value(head&15, depth+1); err != nil {
			return err
		}
		if w.at-begin < int(least) {
			return fmt.Errorf("an element of %d bytes", w.at-begin)
		}
	}
	return nil
}

// pairs walks over a map: the number of pairs and, if there are any, a byte with both types and
// the pairs.
func (w *walker) pairs(depth int) error {
	n, err := w.varint()
	if err != nil || n == 0 {
		return err
	}
	kinds, err := w.oneByte()
	if err != nil {
		return err
	}
	if left := uint64(len(w.data) - w.at); n > left/2 {
		return fmt.Errorf("%w: %d pairs in %d bytes", errShort, n, left)
	}
	for range n {
		if err := w.value(kinds>>4, depth+1); err != nil {
			return err
		}
		if err := w.value(kinds&15, depth+1); err != nil {
			return err
		}
	}
	return nil
}
