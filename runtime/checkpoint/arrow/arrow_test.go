package arrow_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"tandem/internal/pythontest"
	"tandem/runtime/checkpoint/arrow"
)

var fields = []arrow.Field{
	{Name: "sign", Type: arrow.Uint64},
	{Name: "updates", Type: arrow.Uint32},
	{Name: "read", Type: arrow.Uint8},
	{Name: "embedding", Type: arrow.Float16, List: 3, Metadata: []arrow.KeyValue{{Key: "k", Value: "v"}}},
	{Name: "bits", Type: arrow.Uint16, List: 1},
	{Name: "state", Type: arrow.Float32, List: 2},
}

// sample returns a file of two batches, and the columns of both.
func sample(t testing.TB) (file []byte, columns [][][]byte) {
	t.Helper()
	var out bytes.Buffer
	w := arrow.NewWriter(&out, fields, []arrow.KeyValue{{Key: "order", Value: "of creation"}, {Key: "b"}})
	for batch, rows := range []int{5, 2} {
		var all [][]byte
		for i := range fields {
			column := make([]byte, rows*fields[i].RowBytes())
			for at := range column {
				column[at] = byte(at*7+i+batch) & 0x3b // no NaN in any type
			}
			all = append(all, column)
		}
		if err := w.WriteBatch(rows, all...); err != nil {
			t.Fatal(err)
		}
		columns = append(columns, all)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), columns
}

func TestReadReturnsWhatWasWritten(t *testing.T) {
	data, columns := sample(t)
	f, err := arrow.Read(data, trusted)
	if err != nil {
		t.Fatal(err)
	}
	order := arrow.KeyValue{Key: "order", Value: "of creation"}
	if !reflect.DeepEqual(f.Fields, fields) || !slices.Contains(f.Metadata, order) || len(f.Metadata) != 2 ||
		f.Rows() != 7 {
		t.Errorf("columns %+v, metadata %q, %d rows", f.Fields, f.Metadata, f.Rows())
	}
	for b, batch := range f.Batches {
		for i, column := range batch.Columns {
			if !bytes.Equal(column, columns[b][i]) {
				t.Errorf("batch %d, column %s: %x, want %x", b, fields[i].Name, column, columns[b][i])
			}
			place := uintptr(unsafe.Pointer(&column[0])) - uintptr(unsafe.Pointer(&data[0]))
			if place%64 != 0 {
				t.Errorf("batch %d, column %s starts at byte %d, want a multiple of 64", b, fields[i].Name,
					place)
			}
		}
	}
}

func TestFilesWithoutRows(t *testing.T) {
	var out bytes.Buffer
	if err := arrow.NewWriter(&out, fields, nil).Close(); err != nil {
		t.Fatal(err)
	}
	f, err := arrow.Read(out.Bytes(), trusted)
	if err != nil || f.Rows() != 0 || len(f.Fields) != len(fields) {
		t.Errorf("%+v, error %v", f, err)
	}
}

// A batch may have no rows, as others of the file have some.
func TestABatchWithoutRows(t *testing.T) {
	var out bytes.Buffer
	one := arrow.Field{Name: "sign", Type: arrow.Uint64}
	w := arrow.NewWriter(&out, []arrow.Field{one}, nil)
	for _, column := range [][]byte{make([]byte, 16), {}, make([]byte, 8)} {
		if err := w.WriteBatch(len(column)/8, column); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := arrow.Read(out.Bytes(), trusted)
	if err != nil || len(f.Batches) != 3 || f.Batches[1].Rows != 0 || f.Rows() != 3 {
		t.Errorf("%+v, %v", f, err)
	}
}

// Of a file whose end is missing nothing is read, and an error of the disk is returned, wherever it comes.
func TestShortFilesAreRefused(t *testing.T) {
	data, columns := sample(t)
	for n := range data {
		if _, err := arrow.Read(data[:n], trusted); err == nil {
			t.Fatalf("%d of %d bytes are a file", n, len(data))
		}
		w := arrow.NewWriter(&disk{left: n}, fields, []arrow.KeyValue{{Key: "order", Value: "of creation"},
			{Key: "b"}})
		var err error
		for _, all := range columns {
			err = errors.Join(err, w.WriteBatch(len(all[0])/8, all...))
		}
		if errors.Join(err, w.Close()) == nil {
			t.Fatalf("%d bytes were written on a disk of %d", len(data), n)
		}
	}
}

// disk is a writer with room for some bytes.
type disk struct{ left int }

func (d *disk) Write(p []byte) (int, error) {
	n := min(len(p), d.left)
	if d.left -= n; n < len(p) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

// A footer that claims more than the file is refused before anything is read of it.
func TestClaimsOfAFooterAreChecked(t *testing.T) {
	data, _ := sample(t)
	end := len(data) - 10
	whole := end - 8 // between the magic numbers
	for length, fits := range map[int]bool{whole: true, whole + 1: false, math.MaxUint32: false} {
		changed := bytes.Clone(data)
		binary.LittleEndian.PutUint32(changed[end:], uint32(length))
		asked := 0
		_, err := arrow.Read(changed, func(lo, hi int) error { asked++; return nil })
		// A length that fits is believed, and what it leads to is read.
		if err == nil || (asked == 2) != fits {
			t.Errorf("a footer of %d bytes, of %d: error %v after %d checks", length, whole, err, asked)
		}
	}
}

// The metadata of every message takes a multiple of 8 bytes, as Arrow's format wants it. Source:
// arrow.apache.org/docs/format/Columnar.html, "Encapsulated message format".
func TestMetadataIsAligned(t *testing.T) {
	data, _ := sample(t)
	begin := []byte{0xff, 0xff, 0xff, 0xff}
	messages := 0
	for at := 8; at+8 <= len(data); at += 8 { // behind the magic number, messages begin at multiples of 8
		if !bytes.Equal(data[at:at+4], begin) {
			continue
		}
		if size := binary.LittleEndian.Uint32(data[at+4:]); size%8 != 0 {
			t.Errorf("the message at byte %d has %d bytes of metadata", at, size)
		}
		messages++
	}
	if messages != 4 { // the schema, two batches and the end of the stream
		t.Errorf("%d messages", messages)
	}
}

// pyarrow reads the same numbers, memory-mapped, and finds nothing wrong in a full validation.
func TestPyarrowReadsFiles(t *testing.T) {
	python := pythontest.With(t, "pyarrow")
	data, columns := sample(t)
	name := filepath.Join(t.TempDir(), "rows.arrow")
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	const script = `
import json, sys, pyarrow as pa
f = pa.ipc.open_file(pa.memory_map(sys.argv[1]))
t = f.read_all()
t.validate(full=True)
columns = []
for i in range(f.num_record_batches):
    b = f.get_batch(i)
    numbers = [c.values if isinstance(c, pa.FixedSizeListArray) else c for c in b.columns]
    columns.append([n.buffers()[1].to_pybytes()[:len(n) * n.type.bit_width // 8].hex() for n in numbers])
print(json.dumps({"types": [str(c.type) for c in t.schema], "rows": t.num_rows, "columns": columns,
    "order": t.schema.metadata[b"order"].decode(), "k": t.schema.field("embedding").metadata[b"k"].decode()}))
`
	out := python.Run(t, nil, "-c", script, name)
	var got struct {
		Types    []string
		Rows     int
		Columns  [][]string
		Order, K string
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	want := []string{"uint64", "uint32", "uint8", "fixed_size_list<item: halffloat not null>[3]",
		"fixed_size_list<item: uint16 not null>[1]", "fixed_size_list<item: float not null>[2]"}
	if !reflect.DeepEqual(got.Types, want) || got.Rows != 7 || got.Order != "of creation" || got.K != "v" {
		t.Errorf("pyarrow reads %+v, want types %q", got, want)
	}
	for b := range columns {
		for i, column := range columns[b] {
			if want := hexOf(column); got.Columns[b][i] != want {
				t.Errorf("batch %d, column %s: pyarrow reads %s, want %s", b, fields[i].Name,
					got.Columns[b][i], want)
			}
		}
	}
}

func hexOf(p []byte) string {
	const digits = "0123456789abcdef"
	var out []byte
	for _, b := range p {
		out = append(out, digits[b>>4], digits[b&15])
	}
	return string(out)
}

// Damaged files are an error or have columns that lie in the file; no input crashes the reader.
func FuzzRead(f *testing.F) {
	data, _ := sample(f)
	f.Add(data)
	f.Add(data[:len(data)/2])
	for at := 0; at < len(data); at += 13 {
		broken := bytes.Clone(data)
		broken[at] ^= 0x81
		f.Add(broken)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := arrow.Read(data, trusted)
		if err != nil {
			return
		}
		for _, b := range file.Batches {
			for i, column := range b.Columns {
				if len(column) != b.Rows*file.Fields[i].RowBytes() {
					t.Fatalf("%d bytes of %d rows of %+v", len(column), b.Rows, file.Fields[i])
				}
			}
		}
	})
}

// trusted says that bytes are as they were written.
func trusted(lo, hi int) error { return nil }
