package route

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"

	"tandem/algo/numeric/kernel/vec"
)

// Merging is the gradients of a batch in the order of their rows, to be summed by row: within a group in the
// order in which they are placed, and then along the binary tree over groups, as collective.SparseTree. It is
// a counting sort of the occurrences by row. Its memory serves one batch after another.
//
//	start · for a range of rows after another: count, any times · order · place, the same times · then Sum
//
// Place goes group by group, in ascending order. The zero value is ready for use.
type Merging struct {
	dim    int
	grads  []float32
	scaled []float32 // memory for gradients that are scaled
	// at is where the gradient of each occurrence begins, in the order of rows, and ends where the
	// occurrences of each row end, behind a 0.
	at, ends []int32
	// joins has the level on which the tree joins the group of an occurrence to the row's group before: 1 for
	// neighbours, whose numbers differ in the last bit alone; 0 for the same group.
	joins []uint8

	group    int32      // of what is placed now
	progress []progress // by row of the range
	lo       int        // the first row of the range
}

// progress is how far the occurrences of a row are placed.
type progress struct {
	next int32 // the place of the next
	last int32 // the group of the last; of the first of a row, whose level does not matter, 0
}

var mergings = sync.Pool{New: func() any { return new(Merging) }}

// start prepares for the gradients of a number of rows.
func (m *Merging) start(rows int, grads []float32, dim int) {
	if len(grads) > math.MaxInt32 {
		panic(fmt.Sprintf("route: %d gradients in the part of one rank; at most 2³¹−1", len(grads)))
	}
	m.dim, m.grads = dim, grads
	m.ends = slices.Grow(m.ends[:0], rows+1)[:rows+1]
	clear(m.ends)
}

// count counts occurrences of rows. It returns the end of the rows, or end if that is larger.
func (m *Merging) count(rows []int32, end int) int {
	last, ends := int32(end-1), m.ends[1:]
	for _, row := range rows {
		last = max(last, row)
		ends[row]++
	}
	return int(last) + 1
}

// order reserves a place for every occurrence of the rows from lo to below hi, which were counted. The range
// before ends at lo.
func (m *Merging) order(lo, hi int) {
	ends, rows := m.ends[lo:hi+1], hi-lo
	m.lo = lo
	m.progress = slices.Grow(m.progress[:0], rows)[:rows]
	end := ends[0]
	for i := range m.progress {
		m.progress[i] = progress{next: end}
		end += ends[i+1]
		ends[i+1] = end
	}
	m.at = slices.Grow(m.at[:ends[0]], int(end-ends[0]))[:end]
	m.joins = slices.Grow(m.joins[:ends[0]], int(end-ends[0]))[:end]
}

// place records one occurrence of each row in the current group, with a gradient that begins at value at.
func (m *Merging) place(rows []int32, at int32) {
	m.placeEach(rows, at, 0)
}

// placeEach is place for one row after another, whose gradients begin a number of values apart.
func (m *Merging) placeEach(rows []int32, at, step int32) {
	all, places, joins, group := m.progress, m.at, m.joins, m.group
	lo := int32(m.lo)
	for _, row := range rows {
		p := &all[row-lo]
		n := p.next
		places[n], joins[n] = at, uint8(bits.Len32(uint32(p.last^group)))
		p.next, p.last = n+1, group
		at += step
	}
}

// Rows returns the number of rows.
func (m *Merging) Rows() int { return len(m.ends) - 1 }

// Sum writes the sums of the rows from lo to below hi to dst, (hi−lo) × dim values: −0 where no gradient was
// placed. Rows may be summed in any order, and by several goroutines. It panics if the length disagrees.
// Cost: one vector added for each occurrence of the rows.
func (m *Merging) Sum(dst []float32, lo, hi int) {
	mustMatch("dst", len(dst), (hi-lo)*m.dim)
	vec.SumTrees(dst, m.dim, m.grads, m.at, m.joins, m.ends[lo:hi+1])
}
