package arrow

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// File is a file that is read.
type File struct {
	Fields   []Field
	Metadata []KeyValue
	Batches  []Batch
}

// Batch is a record batch of a file.
type Batch struct {
	Rows int
	// Columns has the bytes of every column, in the order of File.Fields. They alias the file.
	Columns [][]byte
	// Starts has the byte of the file at which each column starts.
	Starts []int
}

// Rows returns the number of rows of all batches.
func (f *File) Rows() (rows int) {
	for _, b := range f.Batches {
		rows += b.Rows
	}
	return rows
}

var errNoFile = errors.New("this is not an Arrow file, or its end is missing")

// Read returns the columns of a file, whose structure it checks but which it does not copy: data must not
// change while the result is in use. Check says whether the bytes [lo, hi) are as they were written. It is
// asked about all bytes that say where columns are, before they are used, and about none of the columns.
func Read(data []byte, check func(lo, hi int) error) (*File, error) {
	const head, tail = len(magic) + 2, len(magic) + 4
	if len(data) < head+tail || string(data[:len(magic)]) != magic ||
		string(data[len(data)-len(magic):]) != magic {
		return nil, errNoFile
	}
	end := int64(len(data) - tail)
	if err := check(int(end), len(data)); err != nil {
		return nil, err
	}
	length := int64(binary.LittleEndian.Uint32(data[end:]))
	if length > end-int64(head) {
		return nil, fmt.Errorf("%w: a footer of %d bytes", errNoFile, length)
	}
	if err := check(int(end-length), int(end)); err != nil {
		return nil, err
	}
	footer := readRoot(data[end-length : end])
	f := new(File)
	var err error
	if f.Fields, f.Metadata, err = decodeSchema(footer.child(1)); err != nil {
		return nil, err
	}
	blocks := footer.integers(3, 3)
	if err := footer.source.err; err != nil {
		return nil, err
	}
	for i := 0; i < len(blocks); i += 3 {
		at, meta, body := blocks[i], int64(int32(blocks[i+1])), blocks[i+2]
		if at < 0 || meta < 8 || body < 0 || at > end || meta > end-at || body > end-at-meta {
			return nil, fmt.Errorf("record batch %d lies outside of the file", i/3)
		}
		if err := check(int(at), int(at+meta)); err != nil {
			return nil, err
		}
		b, err := f.readBatch(data[at+8:at+meta], data[at+meta:at+meta+body], int(at+meta))
		if err != nil {
			return nil, fmt.Errorf("record batch %d: %w", i/3, err)
		}
		f.Batches = append(f.Batches, b)
	}
	return f, nil
}

// readBatch reads a record batch from its metadata and its body, which starts at a byte of the file.
func (f *File) readBatch(meta, body []byte, start int) (b Batch, err error) {
	message := readRoot(meta)
	batch := message.child(2)
	rows, nodes, buffers := batch.scalar(0, 8), batch.integers(1, 2), batch.integers(2, 2)
	switch compressed := batch.child(3); {
	case message.source.err != nil:
		return b, message.source.err
	case message.scalar(1, 1) != messageBatch:
		return b, errors.New("the message has another kind")
	case compressed.start != 0:
		return b, errors.New("compressed columns are not read here")
	case rows < 0 || rows > int64(len(body)):
		return b, fmt.Errorf("%d rows in %d bytes", rows, len(body))
	}
	b.Rows = int(rows)
	for i := range f.Fields {
		field := &f.Fields[i]
		if field.List > 0 { // the node of the lists has no data
			if len(nodes) < 2 || len(buffers) < 2 || nodes[0] != rows || nodes[1] != 0 {
				return b, fmt.Errorf("column %s: lists are missing", field.Name)
			}
			nodes, buffers = nodes[2:], buffers[2:]
		}
		numbers := rows * int64(max(field.List, 1))
		if len(nodes) < 2 || len(buffers) < 4 || nodes[0] != numbers || nodes[1] != 0 {
			return b, fmt.Errorf("column %s: numbers are missing", field.Name)
		}
		at, length, want := buffers[2], buffers[3], rows*int64(field.RowBytes())
		if at < 0 || at > int64(len(body)) || length < want || want > int64(len(body))-at {
			return b, fmt.Errorf("column %s: %d bytes at %d of %d, want %d", field.Name, length, at,
				len(body), want)
		}
		b.Columns, b.Starts = append(b.Columns, body[at:at+want:at+want]), append(b.Starts, start+int(at))
		nodes, buffers = nodes[2:], buffers[4:]
	}
	return b, message.source.err
}
