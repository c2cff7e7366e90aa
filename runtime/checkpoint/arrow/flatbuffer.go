package arrow

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The metadata of Arrow are FlatBuffers: tables whose fields are found through a vtable, so that any of them
// may be absent. The encoder writes what a table refers to behind the table. Every table, and every field of
// it, takes a multiple of 8 bytes, which aligns them for all types.
//
// Source: "FlatBuffers internals", https://flatbuffers.dev/internals.

// object is what a field of a table refers to.
type object interface {
	// encode appends the object and returns where it starts.
	encode(e *encoder) int
}

// record is a table. A field is absent (nil), a scalar (bool, uint8, int16, int32, int64) or an object.
type record []any

// vector is a vector of tables.
type vector []record

// structs is a vector of structs of 64-bit integers, size integers each.
type structs struct {
	values []int64
	size   int
}

// text is a string.
type text string

// encoder appends objects.
type encoder struct{ out []byte }

// encodeRoot returns a FlatBuffer with a root table.
func encodeRoot(root record) []byte {
	e := &encoder{out: make([]byte, 8)}
	binary.LittleEndian.PutUint32(e.out, uint32(root.encode(e)))
	e.align(8, 0)
	return e.out
}

// align appends zeros until the length is rest modulo n.
func (e *encoder) align(n, rest int) {
	for len(e.out)%n != rest {
		e.out = append(e.out, 0)
	}
}

func (e *encoder) uint16(v int) { e.out = binary.LittleEndian.AppendUint16(e.out, uint16(v)) }
func (e *encoder) uint32(v int) { e.out = binary.LittleEndian.AppendUint32(e.out, uint32(v)) }

// refer makes the offset at a place lead to an object.
func (e *encoder) refer(place int, to object) {
	start := to.encode(e)
	binary.LittleEndian.PutUint32(e.out[place:], uint32(start-place))
}

func (r record) encode(e *encoder) int {
	e.align(8, 0)
	virtual := len(e.out)
	e.uint16(4 + 2*len(r))
	e.uint16(8 + 8*len(r))
	for i, field := range r {
		if field == nil {
			e.uint16(0)
		} else {
			e.uint16(8 + 8*i)
		}
	}
	e.align(8, 0)
	start := len(e.out)
	e.uint32(start - virtual)
	e.uint32(0)
	for _, field := range r {
		e.out = binary.LittleEndian.AppendUint64(e.out, scalar(field))
	}
	for i, field := range r {
		if child, ok := field.(object); ok {
			e.refer(start+8+8*i, child)
		}
	}
	return start
}

// scalar returns the bits of a scalar field, and 0 for other fields.
func scalar(field any) uint64 {
	switch v := field.(type) {
	case bool:
		if v {
			return 1
		}
	case uint8:
		return uint64(v)
	case int16:
		return uint64(uint16(v))
	case int32:
		return uint64(uint32(v))
	case int64:
		return uint64(v)
	}
	return 0
}

func (v vector) encode(e *encoder) int {
	e.align(8, 4)
	start := len(e.out)
	e.uint32(len(v))
	e.out = append(e.out, make([]byte, 4*len(v))...)
	for i, r := range v {
		e.refer(start+4+4*i, r)
	}
	return start
}

func (s structs) encode(e *encoder) int {
	e.align(8, 4)
	start := len(e.out)
	e.uint32(len(s.values) / s.size)
	for _, v := range s.values {
		e.out = binary.LittleEndian.AppendUint64(e.out, uint64(v))
	}
	return start
}

func (t text) encode(e *encoder) int {
	e.align(8, 4)
	start := len(e.out)
	e.uint32(len(t))
	e.out = append(append(e.out, t...), 0)
	return start
}

// errMetadata says that metadata are not a valid FlatBuffer.
var errMetadata = errors.New("the metadata are damaged")

// view is a table that is read; a view of start 0 has no fields. The first read outside of the buffer sets
// the error of its source, and every later read returns 0.
type view struct {
	source *source
	start  int
}

// source is a FlatBuffer that is read.
type source struct {
	data []byte
	err  error
	left int // objects that may still be read: damaged metadata can repeat one without end
}

// readRoot returns the root table of a FlatBuffer.
func readRoot(data []byte) view {
	s := &source{data: data, left: 1 << 20}
	return s.table(0)
}

// number returns the little-endian integer of a number of bytes.
func (s *source) number(at, size int) uint64 {
	if s.err != nil || at < 0 || size > len(s.data) || at > len(s.data)-size {
		s.fail("offset %d", at)
		return 0
	}
	var b [8]byte
	copy(b[:], s.data[at:at+size])
	return binary.LittleEndian.Uint64(b[:])
}

// fail sets the error, if there is none.
func (s *source) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("%w: %s of %d bytes", errMetadata, fmt.Sprintf(format, args...), len(s.data))
	}
}

// follow returns the place that the offset at a place leads to.
func (s *source) follow(at int) int {
	if s.left--; s.left < 0 {
		s.fail("too many objects")
	}
	return at + int(s.number(at, 4))
}

// table returns the table that the offset at a place leads to.
func (s *source) table(at int) view { return view{s, s.follow(at)} }

// place returns where a field is, or 0 if it is absent.
func (v view) place(field int) int {
	if v.start == 0 {
		return 0
	}
	s := v.source
	virtual := v.start - int(int32(s.number(v.start, 4)))
	if 4+2*field+2 > int(s.number(virtual, 2)) {
		return 0
	}
	offset := int(s.number(virtual+4+2*field, 2))
	if offset == 0 || s.err != nil {
		return 0
	}
	return v.start + offset
}

// scalar returns the value of a scalar field of a number of bytes, sign-extended; 0 if the field is absent.
func (v view) scalar(field, size int) int64 {
	at := v.place(field)
	if at == 0 {
		return 0
	}
	shift := 64 - 8*size
	return int64(v.source.number(at, size)) << shift >> shift
}

// child returns the table of a field.
func (v view) child(field int) view {
	if at := v.place(field); at != 0 {
		return v.source.table(at)
	}
	return view{source: v.source}
}

// list returns where the elements of a vector field of elements of a size start, and their number.
func (v view) list(field, size int) (start, length int) {
	at := v.place(field)
	if at == 0 {
		return 0, 0
	}
	s := v.source
	start = s.follow(at)
	length = int(s.number(start, 4))
	start += 4
	if s.err == nil && length > (len(s.data)-start)/size {
		s.fail("vector of %d elements", length)
	}
	if s.err != nil {
		return 0, 0
	}
	return start, length
}

// tables returns the tables of a vector field.
func (v view) tables(field int) []view {
	start, length := v.list(field, 4)
	var all []view
	for i := range length {
		all = append(all, v.source.table(start+4*i))
		if v.source.err != nil {
			return nil
		}
	}
	return all
}

// integers returns the structs of a vector field as their 64-bit integers.
func (v view) integers(field, size int) []int64 {
	start, length := v.list(field, 8*size)
	all := make([]int64, 0, length*size)
	for i := range length * size {
		all = append(all, int64(v.source.number(start+8*i, 8)))
	}
	return all
}

// text returns the string of a field.
func (v view) text(field int) string {
	start, length := v.list(field, 1)
	return string(v.source.data[start : start+length])
}
