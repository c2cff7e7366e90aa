package cache

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"unsafe"

	"tandem/algo/numeric/batch"
	"tandem/internal/parallel"
)

const (
	magic     = "tandem columns\n"
	version   = 1
	preamble  = 24
	alignment = 64
)

// castagnoli is the polynomial for which processors have an instruction.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Rows is the content of a cache file.
type Rows struct {
	Slots, Dense, Labels []string // names of the columns
	Weight               string   // of the weights, "" if there are none
	Weighted             []string // the slots whose ids have weights, in their order
	Batch                *batch.Batch
	// Dropped is the number of bad rows that were skipped; BadRows are the first few of them.
	Dropped int
	BadRows []BadRow
}

// BadRow is a row that was skipped.
type BadRow struct {
	Line           int    `json:"line"`
	Column, Reason string `json:",omitempty"`
	Value          []byte `json:",omitempty"` // any bytes
}

// header describes a file, and is part of it.
type header struct {
	Key    Key      `json:"key"`
	Rows   int      `json:"rows"`
	Slots  []string `json:"slots"`
	Dense  []string `json:"dense"`
	Labels []string `json:"labels"`
	Weight string   `json:"weight,omitempty"`
	// Weighted are the slots whose ids have weights.
	Weighted []string `json:"weighted,omitempty"`
	Dropped  int      `json:"dropped"`
	BadRows  []BadRow `json:"bad_rows"`
	Columns  []extent `json:"columns"`
}

// extent is the place of a column in the file. The columns are the ids of each slot, each
// followed by its offsets and, if it is weighted, its weights, the dense values, the labels and, if there are
// any, the weights.
type extent struct {
	Offset int64  `json:"offset"` // from the end of the header, rounded up to the alignment
	Bytes  int64  `json:"bytes"`
	CRC    uint32 `json:"crc32c"`
	// Single is set for ids if every row has exactly one; then no offsets follow.
	Single bool `json:"single,omitempty"`
}

// write writes a file.
func write(w io.Writer, key Key, rows *Rows) error {
	h := header{
		Key: key, Rows: rows.Batch.Samples, Slots: rows.Slots, Dense: rows.Dense, Labels: rows.Labels,
		Weight: rows.Weight, Weighted: rows.Weighted,
		Dropped: rows.Dropped, BadRows: shortened(rows.BadRows),
	}
	var columns [][]byte
	add := func(data []byte, single bool) {
		e := extent{Bytes: int64(len(data)), Single: single}
		if n := len(h.Columns); n > 0 {
			e.Offset = aligned(h.Columns[n-1].Offset + h.Columns[n-1].Bytes)
		}
		columns, h.Columns = append(columns, data), append(h.Columns, e)
	}
	for s, slot := range rows.Batch.Slots {
		single := isAscending(slot.Offsets)
		add(bytesOf(slot.IDs), single)
		if !single {
			add(bytesOf(slot.Offsets), false)
		}
		if slices.Contains(rows.Weighted, rows.Slots[s]) {
			add(bytesOf(slot.Weights), false)
		}
	}
	add(bytesOf(rows.Batch.Dense), false)
	add(bytesOf(rows.Batch.Labels), false)
	if rows.Weight != "" {
		add(bytesOf(rows.Batch.Weights), false)
	}
	parallel.ForEach(parallel.Cores(), len(columns),
		func(i int) { h.Columns[i].CRC = crc32.Checksum(columns[i], castagnoli) })

	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	begin := append([]byte(magic), version)
	begin = binary.LittleEndian.AppendUint32(begin, uint32(len(text)))
	begin = binary.LittleEndian.AppendUint32(begin, crc32.Checksum(text, castagnoli))
	begin = append(begin, text...)
	for _, data := range append([][]byte{begin}, columns...) {
		padding := make([]byte, aligned(int64(len(data)))-int64(len(data)))
		if _, err := w.Write(data); err != nil {
			return err
		}
		if _, err := w.Write(padding); err != nil {
			return err
		}
	}
	return nil
}

// shortened returns bad rows with at most valueMax bytes of their values.
func shortened(rows []BadRow) []BadRow {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Value = rows[i].Value[:min(len(rows[i].Value), valueMax)]
	}
	return rows
}

// isAscending reports whether offsets are 0, 1, 2, and so on.
func isAscending(offsets []int32) bool {
	for i, offset := range offsets {
		if int(offset) != i {
			return false
		}
	}
	return true
}

func aligned(n int64) int64 { return (n + alignment - 1) / alignment * alignment }

// number is an element of a column.
type number interface{ uint64 | int32 | float32 }

// bytesOf returns the memory of values.
func bytesOf[T number](values []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))),
		len(values)*int(unsafe.Sizeof(*new(T))))
}

// valuesOf returns data as values. Data must be aligned and hold whole values.
func valuesOf[T number](data []byte) []T {
	if len(data) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(data))), len(data)/int(unsafe.Sizeof(*new(T))))
}

// Errors about the content of a file. After any of them, the caller reads the source again and
// stores its rows in place of the file.
var (
	errForeign = errors.New("not a file of columns")
	errDamaged = errors.New("damaged")
	errVersion = errors.New("of another version")

	errChecksum = fmt.Errorf("%w: a checksum differs", errDamaged)
)

// Limits of a header.
const (
	headerMax = 4 << 20 // bytes: some 40,000 columns
	valueMax  = 1 << 10 // bytes of the value of a bad row
)

// readHeader returns the header of a file and the position of its columns. Memory: at most 130
// times the header, which has at most headerMax bytes.
func readHeader(data []byte) (*header, int64, error) {
	if len(data) < preamble || !bytes.HasPrefix(data, []byte(magic)) {
		return nil, 0, errForeign
	}
	if data[len(magic)] != version {
		return nil, 0, errVersion
	}
	length := int64(binary.LittleEndian.Uint32(data[16:]))
	if most := min(int64(len(data))-preamble, headerMax); length > most {
		return nil, 0, fmt.Errorf("%w: a header of %d bytes, want at most %d", errDamaged, length, most)
	}
	text := data[preamble : preamble+length]
	if crc32.Checksum(text, castagnoli) != binary.LittleEndian.Uint32(data[20:]) {
		return nil, 0, errChecksum
	}
	h := &header{}
	if err := json.Unmarshal(text, h); err != nil {
		return nil, 0, fmt.Errorf("%w: %w", errForeign, err)
	}
	return h, aligned(preamble + length), nil
}

// validate returns an error unless the header has as many columns as its rows need, each with
// the right length.
func (h *header) validate() error {
	rows, at := int64(h.Rows), 0
	next := func(bytes int64) bool { // negative: any number
		at++
		return at <= len(h.Columns) && (bytes < 0 || h.Columns[at-1].Bytes == bytes)
	}
	ok := rows >= 0 && rows < math.MaxInt32 && h.Dropped >= 0
	for _, name := range h.Slots {
		ids := 8 * rows
		if at < len(h.Columns) && h.Columns[at].Single {
			ok = next(ids) && ok
		} else if ok = next(-1) && h.Columns[at-1].Bytes%8 == 0 && ok; ok {
			ids = h.Columns[at-1].Bytes
			ok = next(4 * (rows + 1))
		}
		if slices.Contains(h.Weighted, name) {
			ok = next(ids/2) && ok
		}
	}
	ok = ok && next(4*rows*int64(len(h.Dense))) && next(4*rows*int64(len(h.Labels)))
	if h.Weight != "" {
		ok = ok && next(4*rows)
	}
	if !ok || at != len(h.Columns) {
		return fmt.Errorf("%w: %d columns do not fit %d rows with %d slots, %d numbers and %d labels",
			errForeign,
			len(h.Columns), h.Rows, len(h.Slots), len(h.Dense), len(h.Labels))
	}
	return nil
}

// columns returns the memory of the columns after checking every byte.
func (h *header) columns(data []byte, begin int64) ([][]byte, error) {
	columns, data := make([][]byte, len(h.Columns)), data[min(begin, int64(len(data))):]
	// End is the end of the previous column: callers write to rows, so columns must not overlap.
	size, end := int64(len(data)), int64(0)
	for i, e := range h.Columns {
		if e.Offset < end || e.Offset%alignment != 0 || e.Offset > size || e.Bytes < 0 ||
			e.Bytes > size-e.Offset {
			return nil, fmt.Errorf("%w: column %d has %d bytes from byte %d; want a range between bytes "+
				"%d and %d",
				errDamaged, i, e.Bytes, e.Offset, end, size)
		}
		end = e.Offset + e.Bytes
		columns[i] = data[e.Offset : e.Offset+e.Bytes]
	}
	whole := make([]bool, len(columns))
	parallel.ForEach(parallel.Cores(), len(columns), func(i int) {
		whole[i] = crc32.Checksum(columns[i], castagnoli) == h.Columns[i].CRC
	})
	if slices.Contains(whole, false) {
		return nil, errChecksum
	}
	return columns, nil
}

// read returns the content of a file. The rows alias data.
func read(data []byte, h *header, begin int64) (*Rows, error) {
	if err := h.validate(); err != nil {
		return nil, err
	}
	columns, err := h.columns(data, begin)
	if err != nil {
		return nil, err
	}
	b := &batch.Batch{Samples: h.Rows, Slots: make([]batch.Jagged, len(h.Slots))}
	var single []int32 // offsets of all slots with one id per row
	next := 0
	for i := range b.Slots {
		slot := &b.Slots[i]
		slot.IDs = valuesOf[uint64](columns[next])
		if h.Columns[next].Single {
			if single == nil {
				single = ascending(h.Rows + 1)
			}
			slot.Offsets = single
		} else {
			next++
			slot.Offsets = valuesOf[int32](columns[next])
		}
		next++
		if slices.Contains(h.Weighted, h.Slots[i]) {
			slot.Weights = valuesOf[float32](columns[next])
			next++
		}
	}
	b.Dense, b.Labels = valuesOf[float32](columns[next]), valuesOf[float32](columns[next+1])
	if h.Weight != "" {
		b.Weights = valuesOf[float32](columns[next+2])
	}
	bad := make([]error, len(b.Slots))
	parallel.ForEach(parallel.Cores(), len(b.Slots), func(i int) { bad[i] = checkOffsets(&b.Slots[i]) })
	for i, err := range bad {
		if err != nil {
			return nil, fmt.Errorf("%w: slot %q: %w", errDamaged, h.Slots[i], err)
		}
	}
	return &Rows{Slots: h.Slots, Dense: h.Dense, Labels: h.Labels, Weight: h.Weight, Weighted: h.Weighted,
		Batch:   b,
		Dropped: h.Dropped, BadRows: h.BadRows}, nil
}

// ascending returns the numbers 0 to n−1.
func ascending(n int) []int32 {
	numbers := make([]int32, n)
	for i := range numbers {
		numbers[i] = int32(i)
	}
	return numbers
}

// checkOffsets returns an error unless the offsets ascend from 0 to the number of ids.
func checkOffsets(slot *batch.Jagged) error {
	before := int32(0)
	for i, offset := range slot.Offsets {
		if offset < before || i == 0 && offset != 0 {
			return fmt.Errorf("offset %d of row %d after %d: offsets must ascend from 0", offset, i, before)
		}
		before = offset
	}
	if int(before) != len(slot.IDs) {
		return fmt.Errorf("offsets up to %d of %d ids", before, len(slot.IDs))
	}
	return nil
}
