package table

import (
	"iter"
	"math"
	"unsafe"

	"tandem/algo/rng"
)

// The header of a row is three words: the lower and the upper half of the
// sign, and the valid flag ‖ a mark ‖ a 30-bit update count.
const (
	headerWords = 3
	headerBytes = 4 * headerWords
	valid       = 1 << 31
	mark        = 1 << 30 // the row has been read since eviction or expiry last examined it
	maxUpdates  = mark - 1
)

// setHeader writes the header of a new row.
func setHeader(words *[headerWords]uint32, sign uint64) {
	words[0], words[1], words[2] = uint32(sign), uint32(sign>>32), valid
}

// countUpdate adds one to the update count of a row, which stays at its limit
// of 2³⁰−1.
func countUpdate(words *[headerWords]uint32) {
	if words[2]&maxUpdates != maxUpdates {
		words[2]++
	}
}

// place returns where a row starts.
func (t *Table) place(row int) unsafe.Pointer {
	return unsafe.Add(t.slabs[row>>t.slabShift], (row&(1<<t.slabShift-1))*t.rowBytes)
}

// placeOrNil is place, nil for −1.
func (t *Table) placeOrNil(row int32) unsafe.Pointer {
	if row < 0 {
		return nil
	}
	return t.place(int(row))
}

// values returns the embedding of a row of FP32, where it lies.
func (t *Table) values(row int) []float32 {
	return unsafe.Slice((*float32)(unsafe.Add(t.place(row), headerBytes)), t.config.Dim)
}

// halves returns the embedding of a row of any other precision, where it lies.
func (t *Table) halves(row int) []uint16 {
	return unsafe.Slice((*uint16)(unsafe.Add(t.place(row), headerBytes)), t.config.Dim)
}

// state returns the optimizer state of a row, where it lies.
func (t *Table) state(row int) []float32 {
	return unsafe.Slice((*float32)(unsafe.Add(t.place(row), t.stateAt)), (t.rowBytes-t.stateAt)/4)
}

// open returns the embedding of a row, to be changed until close writes it back. It may be in the memory of a
// chunk.
func (t *Table) open(c *chunk, row int) []float32 {
	if t.config.Precision == FP32 {
		return t.values(row)
	}
	values := c.wideValues(t.config.Dim)[:t.config.Dim]
	t.widenAll(values, row)
	return values
}

// close writes back what open has returned, rounded.
func (t *Table) close(row int, embedding []float32) {
	if t.config.Precision != FP32 {
		t.config.Precision.narrowAll(t.set, t.halves(row), embedding,
			t.roundingKey(t.signOf(row), t.updatesOf(row)))
	}
}

// header returns the header of a row.
func (t *Table) header(row int) *[headerWords]uint32 { return (*[headerWords]uint32)(t.place(row)) }

// signOf returns the sign of a row.
func (t *Table) signOf(row int) uint64 {
	words := t.header(row)
	return uint64(words[0]) | uint64(words[1])<<32
}

// updatesOf returns how often a row has been updated.
func (t *Table) updatesOf(row int) uint32 {
	return t.header(row)[2] & maxUpdates
}

// All iterates over the rows, as sign and values, in the order of creation; a row that
// replaced an evicted row has its position. The values are the embedding (the first
// Dim) and the optimizer state. They are valid until the next row and must not be
// changed.
func (t *Table) All() iter.Seq2[uint64, []float32] {
	return func(yield func(uint64, []float32) bool) {
		var values []float32
		for row := range t.rows {
			values = append(values[:0], make([]float32, t.config.Dim)...)
			t.read(values, row)
			if !yield(t.signOf(row), append(values, t.state(row)...)) {
				return
			}
		}
	}
}

// read copies the embedding of a row.
func (t *Table) read(dst []float32, row int) {
	if t.config.Precision == FP32 {
		copy(dst, t.values(row))
	} else {
		t.widenAll(dst, row)
	}
}

// Digest returns a 64-bit hash of sign, embedding and state of every row. The order
// of rows does not matter: the digest of a table is the sum, modulo 2⁶⁴, of the digests
// of its rows, so the digest of all shards is the sum of their digests. Update counts
// are not hashed.
func (t *Table) Digest() uint64 {
	sum := uint64(0)
	for sign, values := range t.All() {
		h := rng.Mix(sign + 0x9e3779b97f4a7c15)
		for _, v := range values {
			h = rng.Mix(h^uint64(math.Float32bits(v))) + 0x9e3779b97f4a7c15
		}
		sum += h
	}
	return sum
}
