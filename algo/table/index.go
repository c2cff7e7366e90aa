package table

import "tandem/algo/rng"

// index maps signs to row numbers: open addressing with linear probing over a
// power of two of 8-byte slots, at most 0.7 of them full.
//
// A slot is the upper half of the sign's hash ‖ row number + 1; 0 is empty. The
// hash is a bijection of the sign, and its lower bits choose the slot, so the
// row behind a slot with the right upper half is nearly always the right one:
// a probe reads a row's memory once, at the end.
type index struct {
	slots []uint64
	mask  uint64 // len(slots) − 1
	used  int
}

// indexMin is the number of slots of an empty index.
const indexMin = 64

func newIndex() index { return index{slots: make([]uint64, indexMin), mask: indexMin - 1} }

const (
	tagMask = 0xffffffff_00000000
	rowMask = 0x00000000_ffffffff
)

// find returns the row of a sign, whose hash is given; −1 if there is none.
func (t *Table) find(sign, hash uint64) int {
	for at := hash & t.index.mask; ; at = (at + 1) & t.index.mask {
		slot := t.index.slots[at]
		if slot == 0 {
			return -1
		}
		if (slot^hash)&tagMask == 0 {
			if row := int(slot&rowMask) - 1; t.signOf(row) == sign {
				return row
			}
		}
	}
}

// chunk is how many signs a batch method finds at once. Its loops are short, so
// that the cache misses of many signs overlap; a chunk's rows fit in the first
// cache.
const chunk = 64

// findChunk writes the row of each of up to chunk signs, −1 for absent ones.
func (t *Table) findChunk(signs []uint64, rows *[chunk]int32) {
	// First the slots alone, whose upper halves all but decide; then one read of
	// each row to make sure.
	for i, sign := range signs {
		hash := rng.Mix(sign)
		at := hash & t.index.mask
		for slot := t.index.slots[at]; ; slot = t.index.slots[at] {
			if slot == 0 || (slot^hash)&tagMask == 0 {
				rows[i] = int32(slot&rowMask) - 1
				break
			}
			at = (at + 1) & t.index.mask
		}
	}
	for i, sign := range signs {
		if rows[i] >= 0 && t.signOf(int(rows[i])) != sign {
			rows[i] = int32(t.find(sign, rng.Mix(sign)))
		}
	}
}

// insert adds a row whose sign, of the given hash, is absent. The caller has
// made room.
func (x *index) insert(hash uint64, row int) {
	at := hash & x.mask
	for x.slots[at] != 0 {
		at = (at + 1) & x.mask
	}
	x.slots[at] = hash&tagMask | uint64(row+1)
	x.used++
}

// full tells whether one more row would exceed a load of 0.7.
func (x *index) full() bool { return 10*(x.used+1) > 7*len(x.slots) }

// growIndex doubles the index, reading the signs back from the rows.
func (t *Table) growIndex() {
	larger := index{slots: make([]uint64, 2*len(t.index.slots)), mask: 2*t.index.mask + 1}
	for row := range t.rows {
		larger.insert(rng.Mix(t.signOf(row)), row)
	}
	t.index = larger
}
