package arrow

import (
	"encoding/binary"
	"fmt"
	"io"
)

// magic begins and ends a file; at the start it is padded to 8 bytes.
const magic = "ARROW1"

// alignment is the number of bytes of which the place of a column is a multiple.
const alignment = 64

// continuation begins a message.
const continuation = 0xffffffff

// Writer writes a file.
type Writer struct {
	out     io.Writer
	fields  []Field
	schema  record
	written int64
	blocks  []int64 // place, length of metadata and length of body of each record batch
	err     error
}

// NewWriter begins a file with columns.
func NewWriter(out io.Writer, fields []Field, metadata []KeyValue) *Writer {
	w := &Writer{out: out, fields: fields, schema: encodeSchema(fields, metadata)}
	w.write([]byte(magic + "\x00\x00"))
	w.message(messageSchema, w.schema, 0)
	return w
}

func (w *Writer) write(p []byte) {
	if w.err != nil {
		return
	}
	n, err := w.out.Write(p)
	w.written, w.err = w.written+int64(n), err
}

// zeros fills up to the alignment.
var zeros [alignment]byte

// padding returns how many bytes are missing to a multiple of the alignment.
func padding(n int64) int64 { return -n & (alignment - 1) }

// message writes the metadata of a message, padded so that its body is aligned, and returns their length.
func (w *Writer) message(kind uint8, header record, body int64) (length int64) {
	meta := encodeRoot(record{int16(version5), kind, header, body})
	const prefix = 8
	meta = append(meta, zeros[:padding(w.written+prefix+int64(len(meta)))]...)
	var head [prefix]byte
	binary.LittleEndian.PutUint32(head[:], continuation)
	binary.LittleEndian.PutUint32(head[4:], uint32(len(meta)))
	w.write(head[:])
	w.write(meta)
	return int64(prefix + len(meta))
}

// WriteBatch writes a record batch. Columns has the bytes of every column, in the order of the fields, with
// numbers in little-endian order. It panics if a column has another length than rows of its field.
func (w *Writer) WriteBatch(rows int, columns ...[]byte) error {
	var nodes, buffers []int64
	body := int64(0)
	for i := range w.fields {
		f, column := &w.fields[i], columns[i]
		if len(column) != rows*f.RowBytes() {
			panic(fmt.Sprintf("arrow: %d bytes of column %s, want %d", len(column), f.Name,
				rows*f.RowBytes()))
		}
		if f.List > 0 {
			nodes = append(nodes, int64(rows), 0)
			buffers = append(buffers, body, 0) // no bits of validity
		}
		nodes = append(nodes, int64(rows*max(f.List, 1)), 0)
		buffers = append(buffers, body, 0, body, int64(len(column)))
		body += int64(len(column)) + padding(int64(len(column)))
	}
	at := w.written
	batch := record{int64(rows), structs{nodes, 2}, structs{buffers, 2}}
	w.blocks = append(w.blocks, at, w.message(messageBatch, batch, body), body)
	for _, column := range columns {
		w.write(column)
		w.write(zeros[:padding(int64(len(column)))])
	}
	return w.err
}

// Close writes the end of the file. It does not close the underlying writer.
func (w *Writer) Close() error {
	w.write([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0})
	footer := encodeRoot(record{int16(version5), w.schema, vector{}, structs{w.blocks, 3}})
	w.write(footer)
	w.write(binary.LittleEndian.AppendUint32(nil, uint32(len(footer))))
	w.write([]byte(magic))
	return w.err
}
