// Package arrow writes and reads files of the Arrow IPC format with columns of fixed width: numbers, or lists
// of a fixed number of numbers, without nulls and without compression.
//
// Every column of a record batch starts at a multiple of 64 bytes, so that a file that is mapped into memory
// can be read in place. The package has no dependency: Arrow's own module would be linked into every program
// that trains, and takes longer to build than all of Tandem.
//
// Source: "Arrow columnar format", https://arrow.apache.org/docs/format/Columnar.html, and its FlatBuffers
// Schema.fbs, Message.fbs and File.fbs, version 5 of the metadata.
//
// Only columns of fixed width are needed, which takes 500 lines. In tests, pyarrow reads the files.
package arrow

import "fmt"

// Type is the type of a number.
type Type uint8

const (
	Uint8   Type = iota + 1 // 1 byte
	Uint16                  // 2 bytes
	Uint32                  // 4 bytes
	Uint64                  // 8 bytes
	Float16                 // IEEE binary16
	Float32                 // IEEE binary32
)

// Size returns the bytes of a number.
func (t Type) Size() int { return [...]int{0, 1, 2, 4, 8, 2, 4}[t] }

// Field describes a column.
type Field struct {
	Name string
	Type Type
	// List is the number of numbers of a row, in a column of lists, or 0 in a column of numbers.
	List     int
	Metadata []KeyValue
}

// KeyValue is an entry of the metadata of a file or a column.
type KeyValue struct{ Key, Value string }

// RowBytes returns the bytes of a row of the column.
func (f *Field) RowBytes() int { return max(f.List, 1) * f.Type.Size() }

const (
	version5          = 4 // of the metadata
	messageSchema     = 1
	messageBatch      = 3
	typeInt           = 2
	typeFloatingPoint = 3
	typeFixedSizeList = 16
	// widestList bounds what damaged metadata can claim of a row.
	widestList = 1 << 24
)

// encodeType returns the kind and the table of a type of numbers.
func encodeType(t Type) (kind uint8, r record) {
	switch t {
	case Float16:
		return typeFloatingPoint, record{int16(0)}
	case Float32:
		return typeFloatingPoint, record{int16(1)}
	}
	return typeInt, record{int32(8 * t.Size()), false}
}

// encodeField returns the table of a field.
func encodeField(name string, kind uint8, of record, children vector, metadata []KeyValue) record {
	return record{text(name), false, kind, of, nil, children, encodeMetadata(metadata)}
}

// encodeMetadata returns the vector of entries, or nil if there are none.
func encodeMetadata(entries []KeyValue) any {
	if len(entries) == 0 {
		return nil
	}
	var all vector
	for _, e := range entries {
		all = append(all, record{text(e.Key), text(e.Value)})
	}
	return all
}

// encodeSchema returns the table of a schema.
func encodeSchema(fields []Field, metadata []KeyValue) record {
	var all vector
	for _, f := range fields {
		kind, of := encodeType(f.Type)
		if f.List > 0 {
			item := encodeField("item", kind, of, vector{}, nil)
			all = append(all, encodeField(f.Name, typeFixedSizeList, record{int32(f.List)}, vector{item},
				f.Metadata))
		} else {
			all = append(all, encodeField(f.Name, kind, of, vector{}, f.Metadata))
		}
	}
	return record{int16(0), all, encodeMetadata(metadata)}
}

// decodeSchema reads the table of a schema.
func decodeSchema(v view) (fields []Field, metadata []KeyValue, err error) {
	if v.scalar(0, 2) != 0 {
		return nil, nil, fmt.Errorf("big-endian numbers: only little-endian ones are read")
	}
	for _, f := range v.tables(1) {
		field, err := decodeField(f)
		if err != nil {
			return nil, nil, fmt.Errorf("column %q: %w", field.Name, err)
		}
		fields = append(fields, field)
	}
	return fields, decodeMetadata(v.tables(2)), v.source.err
}

func decodeMetadata(all []view) (entries []KeyValue) {
	for _, e := range all {
		entries = append(entries, KeyValue{e.text(0), e.text(1)})
	}
	return entries
}

// decodeField reads the table of a field.
func decodeField(v view) (f Field, err error) {
	f.Name, f.Metadata = v.text(0), decodeMetadata(v.tables(6))
	kind, of := v.scalar(2, 1), v.child(3)
	if kind == typeFixedSizeList {
		f.List = int(of.scalar(0, 4))
		items := v.tables(5)
		if len(items) != 1 || f.List < 1 || f.List > widestList {
			return f, fmt.Errorf("a list of %d numbers in %d columns", f.List, len(items))
		}
		kind, of = items[0].scalar(2, 1), items[0].child(3)
	}
	for t := Uint8; t <= Float32; t++ {
		want, as := encodeType(t)
		if kind == int64(want) && (kind == typeFloatingPoint && of.scalar(0, 2) == int64(as[0].(int16)) ||
			kind == typeInt && of.scalar(0, 4) == int64(as[0].(int32)) && of.scalar(1, 1) == 0) {
			f.Type = t
			return f, v.source.err
		}
	}
	return f, fmt.Errorf("type %d is not read here", kind)
}
