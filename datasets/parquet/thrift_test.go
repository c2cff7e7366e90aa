package parquet

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// compactValue appends a value of any type of Thrift's compact protocol, and returns the number of its type
// in lists and maps.
func compactValue(t *rapid.T, out []byte, kind, depth int) []byte {
	number := func() uint64 { return rapid.Uint64().Draw(t, "number") }
	switch kind {
	case 1, 2, 3:
		return append(out, byte(number()))
	case 4, 5, 6:
		return binary.AppendUvarint(out, number())
	case 7:
		return binary.LittleEndian.AppendUint64(out, number())
	case 8:
		text := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "text")
		return append(binary.AppendUvarint(out, uint64(len(text))), text...)
	case 9, 10:
		n, of := rapid.IntRange(0, 20).Draw(t, "elements"), compactKind(t, depth)
		if n < 15 {
			out = append(out, byte(n<<4|of))
		} else {
			out = binary.AppendUvarint(append(out, byte(15<<4|of)), uint64(n))
		}
		for range n {
			out = compactValue(t, out, of, depth+1)
		}
		return out
	case 11:
		n := rapid.IntRange(0, 5).Draw(t, "pairs")
		if out = binary.AppendUvarint(out, uint64(n)); n == 0 {
			return out
		}
		key, value := compactKind(t, depth), compactKind(t, depth)
		out = append(out, byte(key<<4|value))
		for range n {
			out = compactValue(t, compactValue(t, out, key, depth+1), value, depth+1)
		}
		return out
	}
	return compactStruct(t, out, depth+1)
}

// compactKind draws a type, of which nested ones are not too deep.
func compactKind(t *rapid.T, depth int) int {
	if depth > 2 {
		return rapid.IntRange(1, 8).Draw(t, "kind")
	}
	return rapid.IntRange(1, 12).Draw(t, "kind")
}

// compactStruct appends a struct, of at least three bytes: a field of two, and others.
func compactStruct(t *rapid.T, out []byte, depth int) []byte {
	out = append(out, 1<<4|3, 77)
	for range rapid.IntRange(0, 4).Draw(t, "fields") {
		kind := compactKind(t, depth)
		if rapid.Bool().Draw(t, "far") { // the number of the field follows
			out = binary.AppendUvarint(append(out, byte(kind)), rapid.Uint64Range(0, 1<<20).Draw(t, "field"))
		} else {
			out = append(out, byte(rapid.IntRange(1, 15).Draw(t, "delta")<<4|kind))
		}
		if kind > 2 { // a truth value of a field is its type
			out = compactValue(t, out, kind, depth)
		}
	}
	return append(out, 0)
}

// The walk passes values of every type, alone, in lists, sets and maps, to the end of their struct, and
// notices where the bytes end before.
func TestThriftOfEveryType(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := compactStruct(t, nil, 0)
		if n, err := thriftBytes(append(data, 0xff, 0xff)); n != len(data) || err != nil {
			t.Fatalf("%d of %d bytes, %v: %x", n, len(data), err, data)
		}
		cut := rapid.IntRange(0, len(data)-1).Draw(t, "cut")
		if _, err := thriftBytes(data[:cut:cut]); !errors.Is(err, errShort) {
			t.Fatalf("%d of %d bytes: %v: %x", cut, len(data), err, data)
		}
	})
}

// Claims of more than there are bytes, elements of structs without room, and values of no type are refused
// before they are read, and so is what is nested too deep.
func TestThriftThatClaimsTooMuch(t *testing.T) {
	list := func(n byte, kind byte, rest ...byte) []byte { return append([]byte{0x19, n<<4 | kind}, rest...) }
	deep := func(n int) []byte {
		return append(append([]byte(strings.Repeat("\x1c", n)), 0x13, 7), make([]byte, n+1)...)
	}
	for _, c := range []struct {
		name string
		data []byte
		want string // "": it is accepted
	}{
		{"a list of as many bytes", append(list(3, 3, 1, 2, 3), 0), ""},
		{"a list of more", list(3, 3, 1, 2), "3 elements in 2 bytes"},
		{"structs of three bytes", append(list(2, 12, 0x13, 7, 0, 0x13, 7, 0), 0), ""},
		{"structs of fewer", list(3, 12, 0x13, 7, 0, 0x13, 7, 0, 0), "3 elements in 7 bytes"},
		{"an empty struct in a list", append(list(1, 12, 0, 0, 0), 0), "an element of 1 bytes"},
		{"pairs of as many bytes", []byte{0x1b, 2, 0x33, 1, 2, 3, 4, 0}, ""},
		{"pairs of more", []byte{0x1b, 3, 0x33, 1, 2, 3, 4, 0}, "3 pairs in 5 bytes"},
		{"no pairs", []byte{0x1b, 0, 0}, ""},
		{"a text of more", []byte{0x18, 4, 1, 2, 3}, "4 bytes where 3 are left"},
		{"type 13", []byte{0x1d, 0}, "unknown type 13"},
		{"type 0 in a list", append(list(1, 0, 9), 0), "unknown type 0"},
		{"a long number", []byte{0x16, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2, 0},
			"more than 64 bits"},
		{"32 levels", deep(32), ""},
		{"33 levels", deep(33), "nested deeper than 32 levels"},
	} {
		n, err := thriftBytes(c.data)
		if c.want == "" && (err != nil || n != len(c.data)) ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %d of %d bytes, %v; want %q", c.name, n, len(c.data), err, c.want)
		}
	}
}

// Blocks of delta-packed numbers have a whole number of numbers in each part, and as many bytes as their
// widths say; those of parts without numbers are not read.
func TestBlocksOfDeltas(t *testing.T) {
	for _, c := range []struct {
		name string
		data []byte
		n    int64
		rest int
		want string
	}{
		{"one number", []byte{8, 1, 1, 5}, 1, 0, ""},
		{"no number, and more", []byte{8, 1, 0, 5, 9, 9}, 1, 2, ""},
		{"a block", []byte{8, 2, 9, 5, 0, 2, 4, 1, 2, 3}, 9, 0, ""},   // 4 numbers of 2 bits, 4 of 4
		{"half of a block", []byte{8, 2, 5, 5, 0, 2, 4, 1}, 5, 0, ""}, // only the first part is there
		{"a part more", []byte{8, 2, 6, 5, 0, 2, 4, 1}, 6, 0, "2 bytes where 0 are left"},
		{"two blocks", []byte{8, 1, 10, 5, 0, 1, 7, 0, 1, 7}, 10, 0, ""},
		{"too many", []byte{8, 1, 10, 5, 0, 1, 7, 0, 1, 7}, 9, 0, "10 numbers in a page of 9"},
		{"no block", []byte{0, 1, 1, 5}, 1, 0, "blocks of 0 numbers in 1 parts"},
		{"no part", []byte{8, 0, 1, 5}, 1, 0, "blocks of 8 numbers in 0 parts"},
		{"uneven parts", []byte{8, 3, 1, 5}, 1, 0, "blocks of 8 numbers in 3 parts"},
		{"the largest block", []byte{0x80, 0x80, 4, 1, 1, 5}, 1, 0, ""},
		{"a larger block", []byte{0x81, 0x80, 4, 1, 1, 5}, 1, 0, "blocks of 65537 numbers"},
		{"no widths", []byte{8, 2, 9, 5, 0, 2}, 9, 0, "2 bytes where 1 are left"},
	} {
		rest, err := checkDelta(c.data, c.n)
		if c.want == "" && (err != nil || len(rest) != c.rest) ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %d bytes left, %v; want %q", c.name, len(rest), err, c.want)
		}
	}
}
