// Package spool keeps decoded rows in a temporary file, for files that cannot be read from their
// middle: compressed text, and Parquet, whose row groups are large.
package spool

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/klauspost/compress/zstd"

	"tandem/algo/numeric/batch"
)

// Rows are rows in a temporary file, block by block. Blocks are added by one goroutine and then
// read by any number of them.
//
// Memory: about 32 bytes per block.
type Rows struct {
	dense, labels  int    // columns
	slots          []bool // whether their ids have weights
	weighted       bool
	file           *os.File
	encoder        *zstd.Encoder
	decoder        *zstd.Decoder
	buffer, packed []byte
	places         []place
	end            int64
	counts         []int // rows before each block, and after the last
}

// place is where a block is in the file.
type place struct {
	offset int64
	bytes  int // packed
	plain  int // unpacked
}

// Create returns rows without blocks, with slots, whose ids have weights or none, numbers of columns and, if
// they are weighted, weights.
// Their file is in a folder, which is made if it does not exist, and disappears with the last
// reference to the rows or with the process; where an open file cannot be removed, Close removes it.
func Create(folder string, slots []bool, dense, labels int, weighted bool) (*Rows, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(folder, "rows-*.tmp")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(file.Name()) // systems that do not remove open files leave it to Close
	r := &Rows{slots: slots, dense: dense, labels: labels, weighted: weighted, file: file, counts: []int{0}}
	r.encoder, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1))
	if err == nil {
		r.decoder, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0))
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Close removes the file. The rows cannot be read any more.
func (r *Rows) Close() error {
	err := r.file.Close()
	_ = os.Remove(r.file.Name())
	return err
}

// Add adds a block.
func (r *Rows) Add(rows *batch.Batch) error {
	b := binary.LittleEndian.AppendUint32(r.buffer[:0], uint32(rows.Samples))
	for s, slot := range rows.Slots {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(slot.IDs)))
		for i, end := range slot.Offsets[1:] {
			b = binary.LittleEndian.AppendUint32(b, uint32(end-slot.Offsets[i]))
		}
		for _, id := range slot.IDs {
			b = binary.LittleEndian.AppendUint64(b, id)
		}
		if r.slots[s] {
			b = appendFloats(b, slot.Weights)
		}
	}
	for _, values := range [][]float32{rows.Dense, rows.Labels, rows.Weights} {
		b = appendFloats(b, values)
	}
	r.buffer, r.packed = b, r.encoder.EncodeAll(b, r.packed[:0])
	if _, err := r.file.WriteAt(r.packed, r.end); err != nil {
		return fmt.Errorf("%w: rows that cannot be read from the middle of their file are kept in this "+
			"folder: free space, or set XDG_CACHE_HOME to a folder with space", err)
	}
	r.places = append(r.places, place{r.end, len(r.packed), len(b)})
	r.end += int64(len(r.packed))
	r.counts = append(r.counts, r.Samples()+rows.Samples)
	if r.Samples() > math.MaxInt32 {
		return fmt.Errorf("more than %d rows: split the file", math.MaxInt32)
	}
	return nil
}

func appendFloats(b []byte, values []float32) []byte {
	for _, value := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(value))
	}
	return b
}

// Samples returns the number of rows.
func (r *Rows) Samples() int { return r.counts[len(r.counts)-1] }

// Blocks returns the number of blocks.
func (r *Rows) Blocks() int { return len(r.places) }

// Range returns the numbers of the rows of a block, lo to hi−1.
func (r *Rows) Range(number int) (lo, hi int) { return r.counts[number], r.counts[number+1] }

// Read returns the rows of a block.
func (r *Rows) Read(number int) (*batch.Batch, error) {
	at := r.places[number]
	packed := make([]byte, at.bytes)
	if _, err := r.file.ReadAt(packed, at.offset); err != nil {
		return nil, fmt.Errorf("%s: %w", r.file.Name(), err)
	}
	plain, err := r.decoder.DecodeAll(packed, make([]byte, 0, at.plain))
	if err != nil || len(plain) != at.plain {
		return nil, fmt.Errorf("%s: %w", r.file.Name(), cmp.Or(err, io.ErrUnexpectedEOF))
	}
	in := reader{plain}
	rows := &batch.Batch{Samples: int(in.uint32()), Slots: make([]batch.Jagged, len(r.slots))}
	for s := range rows.Slots {
		slot := batch.Jagged{IDs: make([]uint64, in.uint32()), Offsets: make([]int32, rows.Samples+1)}
		for i := range rows.Samples {
			slot.Offsets[i+1] = slot.Offsets[i] + int32(in.uint32())
		}
		for i := range slot.IDs {
			slot.IDs[i] = in.uint64()
		}
		if r.slots[s] {
			slot.Weights = in.floats(len(slot.IDs))
		}
		rows.Slots[s] = slot
	}
	rows.Dense = in.floats(rows.Samples * r.dense)
	rows.Labels = in.floats(rows.Samples * r.labels)
	if r.weighted {
		rows.Weights = in.floats(rows.Samples)
	}
	return rows, nil
}

// reader reads numbers from bytes that this process has written.
type reader struct{ rest []byte }

func (r *reader) uint32() uint32 {
	value := binary.LittleEndian.Uint32(r.rest)
	r.rest = r.rest[4:]
	return value
}

func (r *reader) uint64() uint64 {
	value := binary.LittleEndian.Uint64(r.rest)
	r.rest = r.rest[8:]
	return value
}

func (r *reader) floats(n int) []float32 {
	values := make([]float32, n)
	for i := range values {
		values[i] = math.Float32frombits(r.uint32())
	}
	return values
}
