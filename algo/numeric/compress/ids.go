package compress

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/distinct"
)

// How the ids of a column are written: the byte behind the column's counts.
const (
	direct     = 0 // the ids, as numbers
	dictionary = 1 // the distinct ids, and the position of every occurrence
)

// AppendIDs appends the encoding of the id features of some samples, one column after the other:
//
//	the ids of each sample, counted, as numbers · how · then
//	direct:     the ids, as numbers
//	dictionary: how many are distinct, as a varint · the least, as a varint ·
//	            the differences in ascending order, as numbers ·
//	            the position of every occurrence, in just enough bits
//
// whichever is smaller. "As numbers" is with the bits that their range takes.
// Cost: a hash table operation an occurrence, and a sort of the distinct ids.
func AppendIDs(dst []byte, columns []batch.Jagged) []byte {
	var d dictionaries
	var counts []uint64
	for _, c := range columns {
		counts = counts[:0]
		for i := range len(c.Offsets) - 1 {
			counts = append(counts, uint64(c.Offsets[i+1]-c.Offsets[i]))
		}
		dst = measure(counts, len(counts)).appendList(dst, counts)
		dst = d.appendColumn(dst, c.IDs, len(counts))
	}
	return dst
}

// dictionaries finds the distinct ids of columns. Its memory serves all of them.
type dictionaries struct {
	table     distinct.Table
	numbers   []int32
	ids       []uint64 // in order of first occurrence, then sorted
	positions []uint64 // in ids, by occurrence
	sorted    []uint64
	moved     []uint64
}

// appendColumn writes the ids of a column.
func (d *dictionaries) appendColumn(dst []byte, ids []uint64, samples int) []byte {
	plain := measure(ids, samples)
	d.find(ids)
	positionBits := max(1, bits.Len(uint(max(len(d.ids), 1)-1)))
	// No dictionary is smaller than its positions.
	if bodySize(len(ids), positionBits) < plain.size(len(ids)) {
		d.sort()
		differences := d.moved[:0] // free again
		for i := 1; i < len(d.ids); i++ {
			differences = append(differences, d.ids[i]-d.ids[i-1])
		}
		steps := measure(differences, samples)
		if 10+steps.size(len(differences))+bodySize(len(ids), positionBits) < plain.size(len(ids)) {
			dst = append(dst, dictionary)
			dst = binary.AppendUvarint(dst, uint64(len(d.ids)))
			dst = binary.AppendUvarint(dst, d.ids[0])
			dst = steps.appendList(dst, differences)
			return appendBits(dst, d.positions, 0, positionBits)
		}
	}
	return plain.appendList(append(dst, direct), ids)
}

// find fills ids and positions.
func (d *dictionaries) find(ids []uint64) {
	d.table.Reset(2 * len(ids)) // sort asks once more for every distinct one
	d.numbers = slices.Grow(d.numbers[:0], len(ids))[:len(ids)]
	d.ids = d.table.Number(d.numbers, ids, d.ids[:0])
	d.positions = d.positions[:0]
	for _, n := range d.numbers {
		d.positions = append(d.positions, uint64(n))
	}
}

// sort puts the distinct ids in ascending order.
func (d *dictionaries) sort() {
	d.sorted = append(d.sorted[:0], d.ids...)
	slices.Sort(d.sorted)
	from := d.numbers[:len(d.sorted)] // free again
	d.table.Number(from, d.sorted, d.ids)
	d.moved = slices.Grow(d.moved[:0], len(d.ids))[:len(d.ids)]
	for to, number := range from {
		d.moved[number] = uint64(to)
	}
	for i, p := range d.positions {
		d.positions[i] = d.moved[p]
	}
	d.ids, d.sorted = d.sorted, d.ids
}

// ReadIDs decodes a number of columns, each of a number of samples, that AppendIDs has written. The memory of
// the result is bounded by 64 times the length of src and 12 bytes for each column and sample; while it
// works, ReadIDs allocates two more lists of either size.
func ReadIDs(src []byte, columns, samples int) ([]batch.Jagged, error) {
	out := make([]batch.Jagged, columns)
	var counts []uint64
	for c := range out {
		var err error
		if counts, src, err = readList(counts[:0], src, samples, samples); err != nil {
			return nil, err
		}
		if out[c].Offsets, err = offsets(counts); err != nil {
			return nil, err
		}
		if out[c].IDs, src, err = readColumn(src, int(out[c].Offsets[samples]), samples); err != nil {
			return nil, err
		}
	}
	if len(src) > 0 {
		return nil, fmt.Errorf("compress: %d bytes behind the last of %d columns", len(src), columns)
	}
	return out, nil
}

var errMany = errors.New("compress: a column of more than 2³¹ − 1 ids")

// offsets sums counts up.
func offsets(counts []uint64) ([]int32, error) {
	sums := make([]int32, len(counts)+1)
	for i, n := range counts {
		if n > uint64(math.MaxInt32-sums[i]) {
			return nil, errMany
		}
		sums[i+1] = sums[i] + int32(n)
	}
	return sums, nil
}

// readColumn reads n ids.
func readColumn(src []byte, n, samples int) (ids []uint64, rest []byte, err error) {
	if len(src) == 0 {
		return nil, nil, errShort
	}
	switch how := src[0]; how {
	case direct:
		return readList(nil, src[1:], n, samples)
	case dictionary:
		return readDictionary(src[1:], n, samples)
	default:
		return nil, nil, fmt.Errorf("compress: ids written in unknown way %d", how)
	}
}

func readDictionary(src []byte, n, samples int) (ids []uint64, rest []byte, err error) {
	size, src, err := readUvarint(src)
	if err != nil {
		return nil, nil, err
	}
	if size < 1 || size > uint64(n) {
		return nil, nil, fmt.Errorf("compress: %d distinct ids among %d", size, n)
	}
	least, src, err := readUvarint(src)
	if err != nil {
		return nil, nil, err
	}
	known, src, err := readList([]uint64{least}, src, int(size)-1, samples)
	if err != nil {
		return nil, nil, err
	}
	for i := 1; i < len(known); i++ {
		known[i] += known[i-1]
	}
	ids, rest, err = readBits(nil, src, n, max(1, bits.Len64(size-1)))
	if err != nil {
		return nil, nil, err
	}
	for i, p := range ids {
		if p >= size {
			return nil, nil, fmt.Errorf("compress: id %d of %d distinct ones", p, size)
		}
		ids[i] = known[p]
	}
	return ids, rest, nil
}
