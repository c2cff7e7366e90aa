package route

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"

	"tandem/algo/numeric/kernel/vec"
)

// merging sums gradients row by row: within a group in the order in which they are placed, and then along
// the binary tree over groups, as collective.SparseTree. It is a counting sort of the occurrences by row.
// The sum of a row's first group is made where the result belongs, which is all for a row that occurs in
// one group. Its memory serves one batch after another.
//
//	for a range of rows after another: begin · count, any times · order · place, the same times · sum
//
// Both count and place go group by group, in ascending order.
type merging struct {
	group int32      // of what is counted or placed now
	rows  []progress // by row of the range
	lo    int        // the first row of the range
	// at is where the gradient of each occurrence begins: those in the first group of their row, in the
	// order of rows, and the others in the same order.
	at [2][]int32
	// joins has, for every one of the other occurrences that is the first of its row in its group, the
	// level at which the tree joins that group to the row's group before: 1 for neighbours, whose number
	// differs in the last bit alone. It is 0 for the rest.
	joins   []uint8
	several []int32 // the rows that occur in several groups

	ends     []int32   // of segments
	partials []float32 // their sums
	tree     joining
	scaled   []float32 // gradients
}

// progress is how far the occurrences of a row are counted or placed.
type progress struct {
	first, last int32    // groups of the row
	next        [2]int32 // in the first group, and in others
}

var mergings = sync.Pool{New: func() any { return new(merging) }}

const (
	noGroup = -1
	levels  = 32 // of a tree, at most
)

// begin clears the state for a range of at most a number of rows, from row lo on.
func (m *merging) begin(lo, rows int) {
	m.rows = slices.Grow(m.rows[:0], rows)[:rows]
	for i := range m.rows {
		m.rows[i] = progress{first: noGroup}
	}
	m.lo = lo
}

// count counts occurrences of rows in the current group. It returns the end of the rows, or end if that is
// larger.
func (m *merging) count(rows []int32, end int) int {
	last, lo, all := int32(end-1), int32(m.lo), m.rows
	for _, row := range rows {
		last = max(last, row)
		p := &all[row-lo]
		if p.first == noGroup {
			p.first, p.last = m.group, m.group
		}
		p.next[m.other(p)]++
	}
	return int(last) + 1
}

// other returns 0 if the current group is the first of a row, else 1.
func (m *merging) other(p *progress) int {
	if p.first != m.group {
		return 1
	}
	return 0
}

// order reserves a place for every occurrence that was counted since the last range of rows. The range ends
// before row hi. Values is the number of gradient values.
func (m *merging) order(hi, values int) {
	if values > math.MaxInt32 {
		panic(fmt.Sprintf("route: %d gradients in the part of one rank; at most 2³¹−1", values))
	}
	rows := m.rows[:hi-m.lo]
	m.ends, m.several = slices.Grow(m.ends[:0], len(rows)+1)[:len(rows)+1], m.several[:0]
	ends := m.ends[1:]
	var first, others int32
	for i := range rows {
		p := &rows[i]
		n := p.next
		p.next = [2]int32{first, others}
		first += n[0]
		ends[i] = first
		if n[1] > 0 {
			others += n[1]
			m.several = append(m.several, int32(m.lo+i))
		}
	}
	m.ends[0] = 0
	for k, n := range []int32{first, others} {
		m.at[k] = slices.Grow(m.at[k][:0], int(n))[:n]
	}
	m.joins = slices.Grow(m.joins[:0], int(others))[:others]
	clear(m.joins)
}

// place records one occurrence of each row in the current group, with a gradient that begins at value at.
func (m *merging) place(rows []int32, at int32) {
	m.placeEach(rows, at, 0)
}

// placeEach is place for one row after another, whose gradients begin a number of values apart.
func (m *merging) placeEach(rows []int32, at, step int32) {
	first, others, joins, all, group := m.at[0], m.at[1], m.joins, m.rows, m.group
	lo := int32(m.lo)
	for _, row := range rows {
		p := &all[row-lo]
		if p.first == group {
			first[p.next[0]] = at
			p.next[0]++
		} else {
			n := p.next[1]
			p.next[1] = n + 1
			others[n] = at
			if p.last != group {
				joins[n] = uint8(bits.Len32(uint32(p.last ^ group)))
				p.last = group
			}
		}
		at += step
	}
}

// segmentBlock is the number of segments, a row's in a further group, that are summed at a time, so that
// the tree finds them in the first caches.
const segmentBlock = 128

// sum writes the sums of the rows of the range, which ends before row hi: −0 where none was placed.
func (m *merging) sum(sums, grads []float32, dim, hi int) {
	vec.SumSegments(sums[m.lo*dim:hi*dim], dim, grads, 1, m.at[0], m.ends, dim, negativeZero)
	if len(m.several) == 0 {
		return
	}
	m.partials = slices.Grow(m.partials[:0], segmentBlock*dim)[:segmentBlock*dim]
	tree, several := &m.tree, m.several
	tree.dim, tree.above = dim, slices.Grow(tree.above[:0], levels*dim)[:levels*dim]
	tree.result = sums[int(several[0])*dim:][:dim]
	for at := 0; at < len(m.joins); {
		at = m.segments(at)
		vec.SumSegments(m.partials, dim, grads, 1, m.at[1], m.ends, dim, negativeZero)
		for i, first := range m.ends[:len(m.ends)-1] {
			if m.rows[int(several[0])-m.lo].next[1] <= first {
				tree.finish()
				several = several[1:]
				tree.result = sums[int(several[0])*dim:][:dim]
			}
			tree.join(m.partials[i*dim:][:dim], m.joins[first])
		}
	}
	tree.finish()
}

// segments finds the ends of the next segments in further groups, from an occurrence on, and returns the
// last.
func (m *merging) segments(at int) int {
	m.ends = append(m.ends[:0], int32(at))
	for at < len(m.joins) && len(m.ends) <= segmentBlock {
		at++
		for at < len(m.joins) && m.joins[at] == 0 {
			at++
		}
		m.ends = append(m.ends, int32(at))
	}
	return at
}

// joining adds the leaves of one tree, which arrive from left to right, the first one in the result. It
// keeps a stack of the sums of branches whose right neighbours have not arrived, with descending levels;
// the lowest is in the result.
type joining struct {
	dim    int
	result []float32
	above  []float32     // the others, of dim values
	levels [levels]uint8 // on which each joins the one below it
	depth  int           // of above
}

// join adds a leaf that joins the one before on a level.
func (t *joining) join(leaf []float32, level uint8) {
	for t.depth > 0 && t.levels[t.depth-1] < level {
		t.fold()
	}
	copy(t.above[t.depth*t.dim:], leaf)
	t.levels[t.depth] = level
	t.depth++
}

// finish leaves the whole sum in the result.
func (t *joining) finish() {
	for t.depth > 0 {
		t.fold()
	}
}

// fold adds the highest sum to the one below it.
func (t *joining) fold() {
	t.depth--
	below, highest := t.result, t.above[t.depth*t.dim:][:t.dim]
	if t.depth > 0 {
		below = t.above[(t.depth-1)*t.dim:][:t.dim]
	}
	vec.Add(below, highest)
}
