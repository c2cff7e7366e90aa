package route

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"

	"tandem/algo/numeric/kernel/vec"
)

// merging sums gradients row by row: within a group in the order in which they are
// placed, and then along the binary tree over groups, as collective.SparseTree. It
// is a counting sort of the occurrences by row. Its memory serves one batch after
// another.
//
//	begin · count, any times · order · place, the same times, group by group · sum
type merging struct {
	group int32   // of what is placed now
	rows  []place // by row
	at    []int32 // by occurrence, in the order of rows: where its gradient begins
	// joins has, for every occurrence in that order that is the first of its row in
	// its group, the level at which the tree joins that group to the row's group
	// before: 1 for neighbours, whose number differs in the last bit alone. It is
	// firstOfRow if there is none before, and 0 for all other occurrences.
	joins []uint8

	ends     []int32   // of a block of segments
	partials []float32 // their sums
	tree     joining
	scaled   []float32 // gradients
}

// place is how far the occurrences of a row are placed.
type place struct{ next, group int32 }

var mergings = sync.Pool{New: func() any { return new(merging) }}

// noGroup differs from every group in the highest bit, on the level firstOfRow.
const (
	noGroup    = -1
	firstOfRow = 32
)

// begin clears the state, for a number of rows.
func (m *merging) begin(rows int) {
	m.rows = slices.Grow(m.rows[:0], rows)[:rows]
	for i := range m.rows {
		m.rows[i] = place{0, noGroup}
	}
}

// count counts occurrences of rows.
func (m *merging) count(rows []int32) {
	for _, row := range rows {
		m.rows[row].next++
	}
}

// order reserves a place for every occurrence that was counted. Values is the number of gradient values.
func (m *merging) order(values int) {
	if values > math.MaxInt32 {
		panic(fmt.Sprintf("route: %d gradients in the part of one rank; at most 2³¹−1", values))
	}
	occurrences := int32(0)
	for i := range m.rows {
		occurrences, m.rows[i].next = occurrences+m.rows[i].next, occurrences
	}
	m.at = slices.Grow(m.at[:0], int(occurrences))[:occurrences]
	m.joins = slices.Grow(m.joins[:0], int(occurrences))[:occurrences]
	clear(m.joins)
}

// place records one occurrence of each row in the current group, with a gradient that begins at value at.
// Group numbers must not decrease.
func (m *merging) place(rows []int32, at int32) {
	for _, row := range rows {
		p := &m.rows[row]
		m.at[p.next] = at
		if p.group != m.group {
			m.joins[p.next] = uint8(bits.Len32(uint32(p.group ^ m.group)))
			p.group = m.group
		}
		p.next++
	}
}

// segmentBlock is the number of segments, a row's in a group, that are summed at a
// time, so that the tree finds them in the first caches.
const segmentBlock = 128

// sum writes the sum of every row, of rows × dim values: −0 where none was placed.
func (m *merging) sum(sums, grads []float32, dim int) {
	partials := slices.Grow(m.partials[:0], segmentBlock*dim)[:segmentBlock*dim]
	tree := &m.tree
	tree.dim, tree.above = dim, slices.Grow(tree.above[:0], firstOfRow*dim)[:firstOfRow*dim]
	row := -1
	for at := 0; at < len(m.at); {
		at = m.segments(at)
		vec.SumSegments(partials, dim, grads, 1, m.at, m.ends, dim, negativeZero)
		for i, first := range m.ends[:len(m.ends)-1] {
			partial, join := partials[i*dim:][:dim], m.joins[first]
			if join == firstOfRow {
				tree.finish()
				row = m.nextRow(sums, dim, row, first)
				tree.start(sums[row*dim:][:dim], partial)
			} else {
				tree.join(partial, join)
			}
		}
	}
	tree.finish()
	m.nextRow(sums, dim, row, math.MaxInt32)
	m.partials = partials
}

// segments finds the ends of the next segments, from an occurrence on, and returns
// the last.
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

// nextRow returns the row after row that has the occurrence at, and writes the sums
// of those between, which have none.
func (m *merging) nextRow(sums []float32, dim, row int, at int32) int {
	for row++; row < len(m.rows) && m.rows[row].next <= at; row++ {
		for j := range sums[row*dim:][:dim] {
			sums[row*dim+j] = negativeZero
		}
	}
	return row
}

// joining adds the leaves of one tree, which arrive from left to right. It keeps a stack of the sums of
// branches whose right neighbours have not arrived, with descending levels; the lowest is in the result.
type joining struct {
	dim    int
	result []float32
	above  []float32         // the others, of dim values
	levels [firstOfRow]uint8 // on which each joins the one below it
	depth  int               // of above
}

// start begins a tree with its first leaf.
func (t *joining) start(result, leaf []float32) {
	t.result, t.depth = result, 0
	copy(result, leaf)
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
