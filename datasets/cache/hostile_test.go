package cache

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

// The tests of this file assume that anyone can write a cache file with correct checksums.

// forge returns a file of a header and the bytes after it, with correct checksums.
func forge(h *header, data []byte) []byte {
	for i := range h.Columns {
		e := &h.Columns[i]
		if size := int64(len(data)); e.Offset >= 0 && e.Offset <= size && e.Bytes >= 0 &&
			e.Bytes <= size-e.Offset {
			e.CRC = crc32.Checksum(data[e.Offset:e.Offset+e.Bytes], castagnoli)
		}
	}
	text, err := json.Marshal(h)
	if err != nil {
		panic(err)
	}
	return append(headed(text), data...)
}

// headed returns the beginning of a file up to its columns.
func headed(text []byte) []byte {
	file := append([]byte(magic), version)
	file = binary.LittleEndian.AppendUint32(file, uint32(len(text)))
	file = binary.LittleEndian.AppendUint32(file, crc32.Checksum(text, castagnoli))
	file = append(file, text...)
	return append(file, make([]byte, aligned(int64(len(file)))-int64(len(file)))...)
}

// aligned64 returns a copy of a file with the alignment of a mapped file.
func aligned64(file []byte) []byte {
	buffer := make([]byte, len(file)+alignment)
	shift := int(-uintptr(unsafe.Pointer(unsafe.SliceData(buffer))) % alignment)
	return append(buffer[shift:shift], file...)
}

// stored returns a file of rows, its header and the memory of its columns.
func stored(t testing.TB, n int) (key Key, h *header, data []byte) {
	t.Helper()
	key = Key{Sources: []Source{{Path: "/clicks"}}, Format: "x"}
	var file bytes.Buffer
	if err := write(&file, key, someRows(n)); err != nil {
		t.Fatal(err)
	}
	h, begin, err := readHeader(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return key, h, bytes.Clone(file.Bytes()[begin:])
}

// Columns of someRows.
const (
	userIDs = iota
	tagIDs
	tagOffsets
	tagWeights
	denseValues
)

// For any content of the columns, the rows are complete or the error names the slot or column.
func TestColumnsThatContradictEachOther(t *testing.T) {
	for name, c := range map[string]struct {
		change func(h *header, offsets []int32)
		want   string // "" for none
	}{
		"nothing": {func(*header, []int32) {}, ""},
		"not from 0": {func(_ *header, o []int32) { o[0] = 1 },
			`damaged: slot "tags": offset 1 of row 0`},
		"below 0": {func(_ *header, o []int32) { o[1] = -1 },
			`damaged: slot "tags": offset -1 of row 1 after 0`},
		"descending": {func(_ *header, o []int32) { o[2], o[3] = o[3], o[2] },
			`offset 1 of row 3 after 3`},
		"beyond the ids": {func(_ *header, o []int32) { o[5] = 1000 },
			`damaged: slot "tags": offsets up to 1000 of 4 ids`},
		"too few": {func(_ *header, o []int32) { o[5]-- }, "offsets up to 3 of 4 ids"},
		"half an id": {func(h *header, _ []int32) { h.Columns[tagIDs].Bytes -= 4 },
			"not a file of columns"},
		"too few weights": {func(h *header, _ []int32) { h.Columns[tagWeights].Bytes -= 4 },
			"not a file of columns"},
		"weights of no slot": {func(h *header, _ []int32) { h.Weighted = nil }, "not a file of columns"},
		"out of place": {func(h *header, _ []int32) { h.Columns[denseValues].Offset = 1 << 40 },
			"column 4 has 40 bytes from byte"},
		"over another": {func(h *header, _ []int32) { h.Columns[denseValues].Offset = 0 },
			"column 4 has 40 bytes from byte 0; want a range between bytes"},
		"dropped rows": {func(h *header, _ []int32) { h.Dropped = -1 }, "not a file of columns"},
		"no columns at all": {func(h *header, _ []int32) {
			h.Slots, h.Dense, h.Labels, h.Weight, h.Rows = nil, nil, nil, "", 1<<31-2
			h.Columns = []extent{{}, {}}
		}, ""},
	} {
		key, h, data := stored(t, 5)
		data = aligned64(data)
		c.change(h, valuesOf[int32](data[h.Columns[tagOffsets].Offset:][:h.Columns[tagOffsets].Bytes]))
		got := allocated(func() {
			_, err := readFor(aligned64(forge(h, data)), key)
			if c.want == "" && err != nil || c.want != "" &&
				(err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: error %v, want %q", name, err, c.want)
			}
		})
		if got > 1<<20 {
			t.Errorf("%s: %d bytes of memory", name, got)
		}
	}
}

// allocated returns the bytes that f allocates, freed or not.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A header above the limit is refused before it is read. The memory for a header of many small
// values is proportional to its size.
func TestHeadersAreBounded(t *testing.T) {
	long := headed(bytes.Repeat([]byte(" "), headerMax+1))
	if _, _, err := readHeader(long); err == nil || !strings.Contains(err.Error(),
		"a header of 4194305 bytes, want at most 4194304") {
		t.Errorf("a long header: %v", err)
	}
	short := append(headed([]byte("{}"))[:preamble:preamble], 0)
	if _, _, err := readHeader(short); err == nil || !strings.Contains(err.Error(),
		"a header of 2 bytes, want at most 1") {
		t.Errorf("a header that is not there: %v", err)
	}
	for field, element := range map[string]string{"columns": "{}", "bad_rows": "{}", "slots": `""`} {
		n := (headerMax - 100) / 3
		text := []byte(`{"` + field + `":[` + strings.Repeat(element+",", n-1) + element + "]}")
		file := headed(text)
		got := allocated(func() {
			if _, _, err := readHeader(file); err != nil {
				t.Errorf("%s: %v", field, err)
			}
		})
		if most := uint64(130 * len(file)); got > most { // twice and more of what stays: slices grow
			t.Errorf("%s: %d bytes are read with %d of memory, want at most %d", field, len(file), got, most)
		}
	}
}

// The values of bad rows can be as long as a line; they are stored in part.
func TestBadRowsAreShortened(t *testing.T) {
	folder, key, rows := Folder(t.TempDir()), sourceKey(t, "x"), someRows(3)
	rows.BadRows[0].Value = bytes.Repeat([]byte("v"), headerMax)
	if err := folder.Store(key, rows); err != nil {
		t.Fatal(err)
	}
	got, err := folder.Load(key)
	if err != nil || len(got.BadRows[0].Value) != valueMax || len(rows.BadRows[0].Value) != headerMax {
		t.Errorf("%v, %d bytes kept", err, len(got.BadRows[0].Value))
	}
}

// FuzzReadFor reads files with arbitrary headers and columns but correct checksums. A file is an
// error, or holds complete rows that are equal after writing and reading them again.
func FuzzReadFor(f *testing.F) {
	for _, n := range []int{0, 1, 5} {
		_, h, data := stored(f, n)
		text, err := json.Marshal(h)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, data)
	}
	f.Add([]byte(`{"rows":2147483646,"columns":[{},{}]}`), []byte{})
	f.Fuzz(func(t *testing.T, text, data []byte) {
		h := &header{}
		if json.Unmarshal(text, h) != nil {
			if _, err := readFor(headed(text), Key{}); err == nil {
				t.Error("a header that is none is believed")
			}
			return
		}
		file := aligned64(forge(h, data))
		var rows *Rows
		var err error
		got := allocated(func() { rows, err = readFor(file, h.Key) })
		if most := uint64(130*len(file) + 1<<20); got > most {
			t.Errorf("%d bytes are read with %d of memory", len(file), got)
		}
		if err != nil {
			return
		}
		for i, slot := range rows.Batch.Slots {
			if err := checkOffsets(&slot); err != nil || len(slot.Offsets) != rows.Batch.Samples+1 {
				t.Errorf("slot %d: %v, %d offsets of %d rows", i, err, len(slot.Offsets), rows.Batch.Samples)
			}
		}
		if rows.Batch.Samples > 1<<16 {
			return // without columns
		}
		var again bytes.Buffer
		if err := write(&again, h.Key, rows); err != nil {
			t.Fatal(err)
		}
		back, err := readFor(aligned64(again.Bytes()), h.Key)
		if err != nil {
			t.Fatal(err)
		}
		var twice bytes.Buffer
		if err := write(&twice, h.Key, back); err != nil || !bytes.Equal(twice.Bytes(), again.Bytes()) {
			t.Errorf("rows changed, %v", err)
		}
	})
}

// A file of anything else is an error.
func FuzzFile(f *testing.F) {
	key, h, data := stored(f, 3)
	f.Add(forge(h, data))
	f.Add([]byte(magic + "\x01\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, file []byte) {
		if _, err := readFor(aligned64(file), key); err == nil && !bytes.HasPrefix(file, []byte(magic)) {
			t.Error("believed")
		}
	})
}
