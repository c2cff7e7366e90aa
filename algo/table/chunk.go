package table

import (
	"unsafe"

	"tandem/algo/isa"
	"tandem/algo/rng"
)

// A batch of signs is found chunk by chunk, each in passes that leave memory
// time: the groups of a chunk are fetched into the cache while the chunk before
// it is worked on, its rows while the groups of the next are asked for. So the
// misses of many signs overlap, and by the time that a row is read it is there.
const chunkSigns = 64

// chunk is the scratch of a batch method. Its rows fit in the first cache.
type chunk struct {
	hashes [2][chunkSigns]uint64 // of this chunk and of the next, in turns
	turn   int
	rows   [chunkSigns]int32  // of this chunk: a row that has the tag of the sign, or −1
	counts [chunkSigns]uint32 // updates of the rows that are confirmed
}

// view is what the kernels see of a table: where its groups and rows are.
type view struct {
	segments  **group
	groups    uint64
	slabs     *unsafe.Pointer
	slabShift uint64
	rowBytes  uint64
	fetch     uint64 // bytes of a row that are wanted in the cache
	mark      uint64 // mark or 0: what to add to the slots of rows found
}

// probe finds the rows, as far as tags tell, of the chunk of signs that starts
// at a place, asks for the first fetch bytes of each, and for the groups of the
// chunk behind. It returns the length of the chunk. With marks, rows are noted
// as read.
func (t *Table) probe(c *chunk, signs []uint64, at, fetch int, marks bool) int {
	n := min(chunkSigns, len(signs)-at)
	v := view{
		segments: &t.index.segments[0], groups: t.index.groups,
		slabs: unsafe.SliceData(t.slabs), slabShift: uint64(t.slabShift), rowBytes: uint64(t.rowBytes), fetch: uint64(fetch),
	}
	if marks {
		v.mark = mark
	}
	if at == 0 {
		t.ask(&v, signs[:n], &c.hashes[c.turn])
	}
	hashes := c.hashes[c.turn][:n]
	switch t.set {
	case isa.AVX512:
		probeAVX512(&v, &hashes[0], n, &c.rows)
	case isa.AVX2:
		probeAVX2(&v, &hashes[0], n, &c.rows)
	default:
		t.probePortable(hashes, marks, &c.rows)
	}
	c.turn ^= 1
	if next := signs[at+n:]; len(next) > 0 {
		t.ask(&v, next[:min(chunkSigns, len(next))], &c.hashes[c.turn])
	}
	return n
}

// ask writes the hashes of signs and asks for their groups.
func (t *Table) ask(v *view, signs []uint64, hashes *[chunkSigns]uint64) {
	if t.set == isa.Portable {
		for i, sign := range signs {
			hashes[i] = rng.Mix(sign)
		}
		return
	}
	askAMD64(v, &signs[0], len(signs), hashes)
}

// probePortable is the plain form of the probe kernels.
func (t *Table) probePortable(hashes []uint64, marks bool, rows *[chunkSigns]int32) {
	for i, hash := range hashes {
		rows[i] = t.index.candidate(hash, marks)
	}
}

// candidate returns the first row that has the tag of a hash, −1 if there is
// none. With marks, it is noted as read.
func (x *index) candidate(hash uint64, marks bool) int32 {
	for g := x.home(hash); ; g = x.after(g) {
		group := x.at(g)
		for at, slot := range group {
			if slot != 0 && (slot^hash)&tagMask == 0 {
				if marks && slot&mark == 0 {
					group[at] |= mark
				}
				return int32(slot&rowMask) - 1
			}
		}
		if group.free() >= 0 {
			return -1
		}
	}
}

// confirm reads the rows of a probed chunk from one on and notes their update
// counts, until it comes to a sign that has no row or, for all that its tag
// tells, the row of another. It returns the place of that, or the end.
func (t *Table) confirm(c *chunk, signs []uint64, from int) int {
	for i := from; i < len(signs); i++ {
		row := int(c.rows[i])
		if row < 0 {
			return i
		}
		words := (*[headerWords]uint32)(t.place(row))
		if uint64(words[0])|uint64(words[1])<<32 != signs[i] {
			return i
		}
		c.counts[i] = words[2] & maxUpdates
	}
	return len(signs)
}

// settle leaves in a probed chunk the row of every sign, −1 for those without.
func (t *Table) settle(c *chunk, signs []uint64) {
	for i := 0; ; i++ {
		if i = t.confirm(c, signs, i); i == len(signs) {
			return
		}
		c.rows[i], c.counts[i] = int32(t.find(signs[i], rng.Mix(signs[i]))), 0
		if row := int(c.rows[i]); row >= 0 {
			c.counts[i] = t.updatesOf(row)
		}
	}
}
