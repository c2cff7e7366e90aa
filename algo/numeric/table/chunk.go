package table

import (
	"unsafe"

	"tandem/algo/numeric/isa"
	"tandem/algo/numeric/opt"
	"tandem/algo/rng"
)

// A batch of signs is processed chunk by chunk, with three chunks in progress. The probe of the next chunk
// prefetches the first half of each of its rows. While the rows of one chunk are copied or updated, one by
// one, the other half of the next chunk's rows and the groups of the chunk after it are prefetched. So memory
// is always busy, the cache misses of many signs overlap, and a row has arrived by the time it is read. If
// one step asked for whole rows, memory would be idle in the other, and updates would take a fifth longer.
//
// Rows that a read has found need no probe. They are prefetched whole while the rows before them are updated.
// Asking for the first halves earlier, before gradients are summed, made steps of 32 values a sixth slower.
const chunkSigns = 32

// chunk is the scratch of a batch method. Kernels write its pointers without the
// garbage collector's knowledge, which is safe because they point to memory that the
// table keeps for life.
type chunk struct {
	rows   [chunkSigns]int32          // of the current chunk: a row that has the tag of the sign, or −1
	places [chunkSigns]unsafe.Pointer // where these are
	counts [chunkSigns]uint32         // updates of the rows that are confirmed

	nextRows   [chunkSigns]int32 // of the next chunk
	nextPlaces [chunkSigns]unsafe.Pointer
	next       int // signs of the next chunk

	hashes      [chunkSigns]uint64         // of the chunk that is probed next
	groupPlaces [chunkSigns]unsafe.Pointer // where its groups are or, of rows found before, these
	groups      int                        // its signs
	from, to    int                        // bytes of each next row that the probe has not prefetched

	found     []Found           // of the signs not yet hashed, if a read has found them before; else nil
	foundRows [chunkSigns]int32 // of the chunk that would be probed next

	rates [chunkSigns]float32 // of an Apply: the learning rates
	done  [chunkSigns]bool    // of an Apply: which rows are updated
	batch opt.Batch           // of an Apply
	grads []float32           // memory for gradients, or for embeddings that are passed on
	wide  []float32           // memory for the values of narrow rows that change
}

// gradients returns memory for the gradients of a chunk.
func (c *chunk) gradients(dim int) []float32 {
	if c.grads == nil {
		c.grads = make([]float32, chunkSigns*dim)
	}
	return c.grads
}

// wideValues returns memory for the values of narrow rows, of a whole chunk.
func (c *chunk) wideValues(dim int) []float32 {
	if c.wide == nil {
		c.wide = make([]float32, chunkSigns*dim)
	}
	return c.wide
}

// view holds the addresses of groups and rows for the kernels.
type view struct {
	segments  **group
	groups    uint64
	slabs     *unsafe.Pointer
	slabShift uint64
	rowBytes  uint64
	near      uint64 // bytes of each row that the probe prefetches

	// While a gather copies a row, it prefetches the lines of the bytes from to below to of the next of
	// nextRows, and the next of nextGroups; nothing if both are nil.
	nextRows, nextGroups *unsafe.Pointer
	from, to             uint64
}

// view returns the table as it is now.
func (t *Table) view() view {
	return view{
		segments: &t.index.segments[0], groups: t.index.groups,
		slabs: unsafe.SliceData(t.slabs), slabShift: uint64(t.slabShift), rowBytes: uint64(t.rowBytes),
	}
}

// advance makes the chunk of signs that starts at a position the current one: c.rows then
// holds the rows whose tags match. It returns the length of the chunk. Of each row, a number of bytes will be
// read, at least 1. For each position of the current chunk, the caller prefetches what has it in the chunks
// behind, by ahead or in a kernel.
func (t *Table) advance(c *chunk, signs []uint64, at, bytes int) int {
	v := t.view()
	c.from, c.to = 0, bytes
	if c.found == nil {
		near := (bytes + 1) / 2
		v.near, c.from = uint64(near), near+lineBytes-1 // from the line behind that of the last near byte
	}
	n := min(chunkSigns, len(signs)-at)
	if at == 0 {
		c.next = 0
		t.hash(&v, c, signs)
		t.ahead(c, 0, n)
		t.probe(&v, c)
		t.hash(&v, c, signs[n:])
		t.ahead(c, 0, n)
	}
	c.rows, c.places = c.nextRows, c.nextPlaces
	t.probe(&v, c)
	t.hash(&v, c, signs[min(at+2*chunkSigns, len(signs)):])
	return n
}

// hash writes the hashes of the next chunk to be probed. Rows that a read has found need
// no probe: instead of their groups, their first lines are prefetched.
func (t *Table) hash(v *view, c *chunk, signs []uint64) {
	c.groups = min(chunkSigns, len(signs))
	switch {
	case c.groups == 0:
	case c.found != nil:
		for i, f := range c.found[:c.groups] {
			if int(f.row) >= t.rows {
				f.row = -1 // its place may have no row since
			}
			c.foundRows[i], c.groupPlaces[i] = f.row, t.placeOrNil(f.row)
		}
		c.found = c.found[c.groups:]
	case t.set == isa.Portable:
		for i, sign := range signs[:c.groups] {
			c.hashes[i] = rng.Mix(sign)
		}
	default:
		hashAMD64(v, &signs[0], c.groups, &c.hashes, &c.groupPlaces)
	}
}

// probe finds the rows whose tags match the hashes.
func (t *Table) probe(v *view, c *chunk) {
	c.next = c.groups
	switch {
	case c.next == 0:
	case c.found != nil:
		c.nextRows, c.nextPlaces = c.foundRows, c.groupPlaces
	case t.set == isa.AVX512:
		probeAVX512(v, &c.hashes, c.next, &c.nextRows, &c.nextPlaces)
	case t.set == isa.AVX2:
		probeAVX2(v, &c.hashes, c.next, &c.nextRows, &c.nextPlaces)
	default:
		t.probePortable(c)
	}
}

// ahead prefetches the positions from lo to below hi of the chunks behind.
func (t *Table) ahead(c *chunk, lo, hi int) {
	if t.set == isa.Portable {
		return
	}
	if n := min(hi, c.next) - lo; n > 0 {
		fetchAMD64(&c.nextPlaces[lo], n, c.from, c.to)
	}
	if n := min(hi, c.groups) - lo; n > 0 {
		fetchAMD64(&c.groupPlaces[lo], n, 0, 1)
	}
}

// probePortable is the probe in Go.
func (t *Table) probePortable(c *chunk) {
	for i, hash := range c.hashes[:c.next] {
		c.nextRows[i] = t.index.candidate(hash)
		if row := int(c.nextRows[i]); row >= 0 {
			c.nextPlaces[i] = t.place(row)
		}
	}
}

// candidate returns the first row that has the tag of a hash, −1 if there is
// none.
func (x *index) candidate(hash uint64) int32 {
	for g := x.home(hash); ; g = x.after(g) {
		group := x.at(g)
		for _, slot := range group {
			if slot != 0 && (slot^hash)&tagMask == 0 {
				return int32(slot&rowMask) - 1
			}
		}
		if group.free() >= 0 {
			return -1
		}
	}
}

// behind reports whether the chunks behind have as much to ask for as that at work,
// up to a place.
func (c *chunk) behind(end int) bool { return end <= c.next && end <= c.groups }

// confirm reads the rows of a probed chunk from one on and records their update counts. It
// stops at a sign without a row, or whose tag has led to the row of another sign, and
// returns the position, or the end. It adds marks, which are mark or 0, to the rows.
func (t *Table) confirm(c *chunk, signs []uint64, from int, marks uint32) int {
	if t.set != isa.Portable && from < len(signs) {
		return from + confirmAMD64(&c.places[from], &c.rows[from], &signs[from], &c.counts[from],
			len(signs)-from, marks)
	}
	for i := from; i < len(signs); i++ {
		row := int(c.rows[i])
		if row < 0 {
			return i
		}
		words := (*[headerWords]uint32)(c.places[i])
		if uint64(words[0])|uint64(words[1])<<32 != signs[i] {
			return i
		}
		c.counts[i] = words[2] & maxUpdates
		if words[2]&marks != marks {
			words[2] |= marks // only if needed: a changed line must be written back
		}
	}
	return len(signs)
}

// settle sets the row of every sign of a probed chunk, −1 for signs without a row.
func (t *Table) settle(c *chunk, signs []uint64) {
	for i := 0; ; i++ {
		if i = t.confirm(c, signs, i, 0); i == len(signs) {
			return
		}
		t.put(c, i, t.find(signs[i], rng.Mix(signs[i])))
	}
}

// put sets a row, or −1, at a position of a chunk.
func (t *Table) put(c *chunk, i, row int) {
	c.rows[i], c.places[i], c.counts[i] = int32(row), nil, 0
	if row >= 0 {
		c.places[i], c.counts[i] = t.place(row), t.updatesOf(row)
	}
}
