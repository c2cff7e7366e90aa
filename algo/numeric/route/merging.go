package route

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"

	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/kernel/vec"
)

// Merging is the gradients of a batch in the order of their rows, to be summed by row: within a group in the
// order in which they are placed, and then along the binary tree over groups, as collective.SparseTree. Its
// memory serves one batch after another. The zero value is ready for use.
type Merging struct {
	Pool gemm.Pool // if not nil, shares Order of a large batch over goroutines

	dim    int
	grads  []float32
	scaled []float32 // memory for gradients that are scaled
	// at is where the gradient of each occurrence begins, in the order of rows, and ends where the
	// occurrences of each row end, behind a 0.
	at, ends []int32
	// joins has the level on which the tree joins the group of an occurrence to the row's group before: 1 for
	// neighbours, whose numbers differ in the last bit alone; 0 for the same group.
	joins []uint8
}

var mergings = sync.Pool{New: func() any { return new(Merging) }}

// start prepares for the gradients of a number of rows.
func (m *Merging) start(rows int, grads []float32, dim int) {
	if len(grads) > math.MaxInt32 {
		panic(fmt.Sprintf("route: %d gradients in the part of one rank; at most 2³¹−1", len(grads)))
	}
	m.dim, m.grads = dim, grads
	m.ends = resized(m.ends, rows+1)
	clear(m.ends)
}

// count counts occurrences of rows.
func (m *Merging) count(rows []int32) {
	ends := m.ends[1:]
	for _, row := range rows {
		ends[row]++
	}
}

// Sum writes the sums of the rows from lo to below hi to dst, (hi−lo) × dim values: −0 where no gradient was
// placed. Rows may be summed in any order, and by several goroutines. It panics if the length disagrees.
// Cost: one vector added for each occurrence of the rows.
func (m *Merging) Sum(dst []float32, lo, hi int) {
	mustMatch("dst", len(dst), (hi-lo)*m.dim)
	vec.SumTrees(dst, m.dim, m.grads, m.at, m.joins, m.ends[lo:hi+1])
}

// sorting puts the occurrences of a range of rows in the order of rows, by counting:
//
//	count, of the Merging, any times · reserve · place, the same times, in ascending order of groups
type sorting struct {
	*Merging
	lo       int        // the first row
	group    int32      // of what is placed now
	progress []progress // by row
}

// progress is how far the occurrences of a row are placed.
type progress struct {
	next int32 // the place of the next
	last int32 // the group of the last; of the first of a row, whose level does not matter, 0
}

var sortings = sync.Pool{New: func() any { return new(sorting) }}

// reserve reserves places, from begin on, for the occurrences of the rows from lo to below hi.
func (s *sorting) reserve(m *Merging, lo, hi int, begin int32) {
	s.Merging, s.lo = m, lo
	counts := m.ends[lo+1 : hi+1]
	s.progress = resized(s.progress, len(counts))
	end := begin
	for i, n := range counts {
		s.progress[i] = progress{next: end}
		end += n
		counts[i] = end
	}
	if int(end) > len(m.at) {
		m.at, m.joins = resized(m.at, int(end)), resized(m.joins, int(end))
	}
}

// place records one occurrence of each row in the current group, with a gradient that begins at value at.
func (s *sorting) place(rows []int32, at int32) {
	s.placeEach(rows, at, 0)
}

// placeEach is place for one row after another, whose gradients begin a number of values apart.
func (s *sorting) placeEach(rows []int32, at, step int32) {
	all, places, joins, group := s.progress, s.at, s.joins, s.group
	lo := int32(s.lo)
	for _, row := range rows {
		p := &all[row-lo]
		n := p.next
		places[n], joins[n] = at, uint8(bits.Len32(uint32(p.last^group)))
		p.next, p.last = n+1, group
		at += step
	}
}

// resized returns a slice of n values with arbitrary contents, in old memory if it has room.
func resized[T any](old []T, n int) []T { return slices.Grow(old[:0], n)[:n] }
