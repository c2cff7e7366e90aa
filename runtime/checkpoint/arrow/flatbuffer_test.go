package arrow

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
)

// A table whose place is outside of its bytes, or partly, is an error, and every later read is 0.
func TestTablesOutsideOfTheirBytes(t *testing.T) {
	whole := encodeRoot(record{int64(7), int64(8)})
	if v := readRoot(whole); v.scalar(1, 8) != 8 || v.source.err != nil {
		t.Fatalf("field 1 is %d, %v", v.scalar(1, 8), v.source.err)
	}
	for _, at := range []uint32{1 << 31, uint32(len(whole)), uint32(len(whole)) - 3} {
		damaged := append([]byte(nil), whole...)
		binary.LittleEndian.PutUint32(damaged, at)
		v := readRoot(damaged)
		if x := v.scalar(1, 8); x != 0 || !errors.Is(v.source.err, errMetadata) {
			t.Errorf("root at %d: field 1 is %d, %v", at, x, v.source.err)
		}
	}
}

// All that a buffer holds lies at multiples of its size, as FlatBuffers wants: the table of the fields of a
// record at an even place, and numbers of 64 bits at multiples of 8. Source:
// flatbuffers.dev/internals, "Tables" and "Vectors".
func TestObjectsAreAligned(t *testing.T) {
	for n := range 9 { // bytes of the texts before
		of := strings.Repeat("x", n)
		data := encodeRoot(record{text(of), vector{record{text(of), int64(3)}, record{nil, int64(4)}},
			structs{[]int64{5, 6, 7, 8}, 2}, record{int64(9)}})
		number := func(at int) int { return int(binary.LittleEndian.Uint32(data[at:])) }
		follow := func(at int) int { return at + number(at) }
		// fields returns the places of the fields of a record, 0 of those that are absent.
		fields := func(table int) (places []int) {
			virtual := table - number(table)
			if table%4 != 0 || virtual%2 != 0 {
				t.Errorf("texts of %d bytes: a table at %d, and its fields at %d", n, table, virtual)
			}
			for at := virtual + 4; at < virtual+int(binary.LittleEndian.Uint16(data[virtual:])); at += 2 {
				place := int(binary.LittleEndian.Uint16(data[at:]))
				if place > 0 {
					place += table
				}
				places = append(places, place)
			}
			return places
		}
		var got []uint64
		integer := func(at int) {
			if at%8 != 0 {
				t.Errorf("texts of %d bytes: a number of 64 bits at %d", n, at)
			}
			got = append(got, binary.LittleEndian.Uint64(data[at:]))
		}
		root := fields(follow(0))
		if at := follow(root[0]); number(at) != n || string(data[at+4:][:n]) != of || data[at+4+n] != 0 {
			t.Errorf("%q at %d, want %q and a zero", data[at:], at, of)
		}
		list := follow(root[1])
		for i := range number(list) {
			own := fields(follow(list + 4 + 4*i))
			if (own[0] == 0) != (i == 1) {
				t.Errorf("record %d has the fields %v", i, own)
			}
			integer(own[1])
		}
		pairs := follow(root[2])
		for i := range 2 * number(pairs) {
			integer(pairs + 4 + 8*i)
		}
		integer(fields(follow(root[3]))[0])
		if !slices.Equal(got, []uint64{3, 4, 5, 6, 7, 8, 9}) || len(data)%8 != 0 {
			t.Errorf("numbers %v, of %d bytes", got, len(data))
		}
	}
}

// The length of a message's metadata and that of its body lead to the next message, up to the end of the
// stream. The schema has no body. Source: arrow.apache.org/docs/format/Columnar.html, "Encapsulated message
// format".
func TestMessagesLeadToEachOther(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, []Field{{Name: "a", Type: Uint64}}, nil)
	for _, rows := range []int{1, 20} {
		if err := w.WriteBatch(rows, make([]byte, 8*rows)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data, at := out.Bytes(), 8
	var bodies []int64
	for {
		if binary.LittleEndian.Uint32(data[at:]) != continuation {
			t.Fatalf("no message at byte %d, behind bodies of %d bytes", at, bodies)
		}
		size := int(binary.LittleEndian.Uint32(data[at+4:]))
		if size == 0 {
			break
		}
		message := readRoot(data[at+8:][:size])
		bodies = append(bodies, message.scalar(3, 8))
		at += 8 + size + int(bodies[len(bodies)-1])
	}
	if !slices.Equal(bodies, []int64{0, 64, 192}) {
		t.Errorf("bodies of %d bytes, want 0, 64 and 192", bodies)
	}
}
