package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// The tests of this file assume that anyone can write a file.

// table is the parts of a file.
type table struct {
	body []byte
	meta format.FileMetaData
}

func load(t testing.TB, name string) (whole []byte, parts table) {
	t.Helper()
	whole, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	end := len(whole) - trailerBytes
	begin := end - int(binary.LittleEndian.Uint32(whole[end:]))
	parts.body = slices.Clone(whole[:begin])
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), whole[begin:end], &parts.meta); err != nil {
		t.Fatal(err)
	}
	return whole, parts
}

// file joins the parts.
func (p *table) file(t testing.TB) []byte {
	t.Helper()
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), &p.meta)
	if err != nil {
		t.Fatal(err)
	}
	return closed(append(slices.Clone(p.body), footer...), len(footer))
}

func closed(file []byte, footer int) []byte {
	return append(binary.LittleEndian.AppendUint32(file, uint32(footer)), "PAR1"...)
}

// user is the first column, of text.
var user = &job.Table{Slots: []job.IDColumn{{Column: "user"}}, Label: "click"}

// allocated returns the bytes that f allocates, freed or not.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Claims of a footer or a page header are checked before memory is allocated for them.
func TestClaimsAreChecked(t *testing.T) {
	// list is a struct whose field 2 is a list of n structs, which are not there.
	list := func(n uint64) []byte {
		return append(binary.AppendUvarint([]byte{2<<4 | thriftList,
			15<<4 | thriftStruct}, n), 0, 0)
	}
	text := binary.AppendUvarint([]byte{1<<4 | thriftBinary}, 1<<30)
	deep := bytes.Repeat([]byte{1<<4 | thriftStruct}, 1000)
	for name, c := range map[string]struct {
		file func(p *table) []byte
		want string
	}{
		"nothing": {func(p *table) []byte { return p.file(t) }, ""},
		"a long footer": {func(p *table) []byte { return closed(p.body, math.MaxUint32) },
			"not a whole Parquet file: a footer of 4294967295 bytes"},
		"many structs": {func(p *table) []byte {
			return closed(append(p.body, list(1<<31)...),
				len(list(1<<31)))
		}, "2147483648 elements in 2 bytes"},
		"a long text": {func(p *table) []byte { return closed(append(p.body, text...), len(text)) },
			"1073741824 bytes where 0 are left"},
		"deep structs": {func(p *table) []byte { return closed(append(p.body, deep...), len(deep)) },
			"nested deeper than 32 levels"},
		"empty structs": {func(p *table) []byte {
			return closed(append(p.body, 1<<4|thriftList,
				1<<4|thriftStruct, 0, 0, 0), 5)
		}, "an element of 1 bytes"},
		"no type": {func(p *table) []byte { return closed(append(p.body, 1<<4|14, 0), 2) },
			"unknown type 14"},
		"pages behind all": {func(p *table) []byte {
			p.column().DataPageOffset,
				p.column().DictionaryPageOffset = 1<<40, 0
			return p.file(t)
		}, "bytes of pages from byte 1099511627776"},
		"pages before all": {func(p *table) []byte { p.column().DataPageOffset = -4; return p.file(t) },
			"from byte -4"},
		"too many pages": {func(p *table) []byte {
			p.column().TotalCompressedSize = 1 << 40
			return p.file(
				t)
		},
			"1099511627776 bytes of pages"},
		"a large page": {func(p *table) []byte {
			p.page(t, func(h *format.PageHeader) { h.UncompressedPageSize = math.MaxInt32 })
			return p.file(t)
		}, "bytes that decompress to 2147483647: write smaller pages"},
		"a page that is not there": {func(p *table) []byte {
			p.page(t, func(h *format.PageHeader) { h.CompressedPageSize = math.MaxInt32 })
			return p.file(t)
		}, "2147483647 bytes, of "},
		"many values": {func(p *table) []byte {
			p.page(t, func(h *format.PageHeader) {
				h.DataPageHeader.V.NumValues = math.MaxInt32
			})
			return p.file(t)
		}, "2147483647 values, in a file of "},
	} {
		_, parts := load(t, "snappy.parquet")
		file := c.file(&parts)
		got := allocated(func() {
			_, _, err := read(bytes.NewReader(file), int64(len(file)), user)
			if c.want == "" && err != nil || c.want != "" &&
				(err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: error %v, want %q", name, err, c.want)
			}
		})
		if got > 16<<20 {
			t.Errorf("%s: %d bytes of memory", name, got)
		}
	}
}

// column is the column of the label, click, in the first row group, which is read first.
func (p *table) column() *format.ColumnMetaData { return &p.meta.RowGroups[0].Columns[6].MetaData }

// page changes the header of the first page of that column, and moves everything behind it.
func (p *table) page(t testing.TB, change func(*format.PageHeader)) {
	t.Helper()
	at := p.column().DataPageOffset
	n, err := thriftBytes(p.body[at:])
	if err != nil {
		t.Fatal(err)
	}
	var h format.PageHeader
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), p.body[at:int(at)+n], &h); err != nil {
		t.Fatal(err)
	}
	change(&h)
	header, err := thrift.Marshal(new(thrift.CompactProtocol), &h)
	if err != nil {
		t.Fatal(err)
	}
	p.body = slices.Concat(p.body[:at], header, p.body[int(at)+n:])
	p.column().TotalCompressedSize += int64(len(header) - n)
}

// The walk reaches the end of every footer of a real writer.
func TestThriftBytes(t *testing.T) {
	for _, name := range []string{"delta.parquet", "gzip-v2.parquet", "snappy.parquet",
		"zstd-plain.parquet"} {
		whole, parts := load(t, name)
		footer := whole[len(parts.body) : len(whole)-trailerBytes]
		if n, err := thriftBytes(footer); err != nil || n != len(footer) {
			t.Errorf("%s: %d of %d bytes, %v", name, n, len(footer), err)
		}
		for cut := range footer {
			if _, err := thriftBytes(footer[:cut]); !errors.Is(err, errShort) {
				t.Fatalf("%s, %d of %d bytes: %v", name, cut, len(footer), err)
			}
		}
	}
}

// FuzzRead reads arbitrary files: rows are complete, or there is an error. A file is a real one of which cut
// bytes, from byte at on, are replaced by a patch; with all of them cut, the patch is the file. What the
// search shrinks is the patch: shrinking a file of 10 kB takes the whole minute that -fuzzminimizetime
// allows, for every input that it finds.
func FuzzRead(f *testing.F) {
	var wholes [][]byte
	for i, name := range []string{"delta.parquet", "gzip-v2.parquet", "snappy.parquet",
		"zstd-plain.parquet"} {
		whole, parts := load(f, name)
		wholes = append(wholes, whole)
		f.Add(byte(i), uint16(len(whole)), uint16(0), []byte(nil))
		f.Add(byte(i), uint16(len(parts.body)), uint16(1), []byte{0}) // the footer
		for _, group := range parts.meta.RowGroups {
			for _, chunk := range group.Columns {
				f.Add(byte(i), uint16(chunk.MetaData.DataPageOffset), uint16(1), []byte{0})
			}
		}
	}
	spec := &job.Table{
		Slots:   []job.IDColumn{{Column: "user"}, {Column: "item"}, {Column: "tags"}, {Column: "codes"}},
		Numeric: []string{"price", "age"}, Label: "click",
	}
	f.Fuzz(func(t *testing.T, which byte, at, cut uint16, patch []byte) {
		whole := wholes[int(which)%len(wholes)]
		begin := min(int(at), len(whole))
		file := slices.Concat(whole[:begin], patch, whole[min(begin+int(cut), len(whole)):])
		b, bad, err := read(bytes.NewReader(file), int64(len(file)), spec)
		if err != nil {
			return
		}
		for i, slot := range b.Slots {
			if len(slot.Offsets) != b.Samples+1 || int(slot.Offsets[b.Samples]) != len(slot.IDs) ||
				!slices.IsSorted(slot.Offsets) {
				t.Errorf("slot %d: %d offsets up to %d of %d ids", i, len(slot.Offsets),
					slot.Offsets[b.Samples], len(slot.IDs))
			}
		}
		if len(b.Slots) != 4 || len(b.Labels) != b.Samples || len(b.Dense) != 2*b.Samples {
			t.Errorf("%d slots, %d labels, %d numbers of %d rows", len(b.Slots), len(b.Labels), len(b.Dense),
				b.Samples)
		}
		for _, row := range bad {
			if row.Line < 1 || row.Line > b.Samples {
				t.Errorf("bad row %d of %d", row.Line, b.Samples)
			}
		}
	})
}

// FuzzThrift walks over arbitrary bytes, without allocating memory and without passing their end.
func FuzzThrift(f *testing.F) {
	whole, parts := load(f, "snappy.parquet")
	f.Add(whole[len(parts.body) : len(whole)-trailerBytes])
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := thriftBytes(data)
		if n > len(data) || err == nil && (n == 0 || data[n-1] != 0) {
			t.Errorf("%d of %d bytes, %v", n, len(data), err)
		}
		if err == nil {
			var h format.PageHeader // the library must find the same end
			if err := thrift.Unmarshal(new(thrift.CompactProtocol), data[:n], &h); err != nil &&
				strings.Contains(err.Error(), "EOF") {
				t.Errorf("the library reads on: %v", err)
			}
		}
	})
}

// A decimal of any length and scale is a number of 32 bits, or a bad value.
func TestHostileDecimals(t *testing.T) {
	long := bytes.Repeat([]byte{0x7f}, 1<<20)
	for _, c := range []struct {
		digits []byte
		scale  int
		isBad  bool
	}{
		{nil, 0, true}, {[]byte{5}, 0, false}, {[]byte{5}, math.MaxInt32, false},
		{[]byte{5}, math.MinInt32, true}, {[]byte{0}, math.MinInt32, true}, {long, 0, true},
		{long, math.MaxInt32, true}, {long[:16], 38, false},
	} {
		column, value := column{decimal: true, use: numeric, scale: c.scale}, parquet.ByteArrayValue(c.digits)
		x, reason := column.number(&piece{}, &value)
		if (reason != "") != c.isBad || math.IsInf(float64(x), 0) || math.IsNaN(float64(x)) {
			t.Errorf("%d bytes, scale %d: %v, %q", len(c.digits), c.scale, x, reason)
		}
	}
}
