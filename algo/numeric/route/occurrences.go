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

// Occurrences says where in the model input of a batch each row occurs, by Order. The gradients there, once
// they are known (Take), are summed by row: within a group in the order of occurrences, and then along the
// binary tree over groups, as collective.SparseTree. Its memory serves one batch after another. The zero
// value is ready for use.
type Occurrences struct {
	Pool gemm.Pool // if not nil, shares Order of a large batch over goroutines

	dim, values int // values of a row, and of the model input
	apart       int // values behind the gradients of the model input: those of rows that have their own
	// at is where each occurrence begins, in the order of rows, and ends where the occurrences of each row
	// end, preceded by a 0.
	at, ends []int32
	// joins has the level, as in vec.SumTrees, on which the tree joins the group of an occurrence to the
	// row's group before: 1 for neighbours, whose numbers differ in the last bit alone; 0 for the same group.
	joins []uint8

	grads  []float32
	scaled []float32 // memory for gradients that are scaled
}

var occurrencesPool = sync.Pool{New: func() any { return new(Occurrences) }}

// start prepares for a number of rows of dim values in a model input of a number of values, with some more
// gradients apart.
func (o *Occurrences) start(rows, values, apart, dim int) {
	if values+apart > math.MaxInt32 {
		panic(fmt.Sprintf("route: %d values in the model input of one rank; at most 2³¹−1", values+apart))
	}
	o.dim, o.values, o.apart, o.grads = dim, values, apart, nil
	o.ends = resized(o.ends, rows+1)
	clear(o.ends)
}

// count counts occurrences of rows.
func (o *Occurrences) count(rows []int32) {
	ends := o.ends[1:]
	for _, row := range rows {
		ends[row]++
	}
}

// Spread copies the rows from lo to below hi, (hi−lo) × dim values, to wherever they occur in the model
// input, which is dst. That is Pool of these rows if Routed.Spreads. Rows may come in any order, and by
// several goroutines. It panics if a length disagrees. Cost: one vector written for each occurrence.
func (o *Occurrences) Spread(dst, rows []float32, lo, hi int) {
	mustMatch("dst", len(dst), o.values)
	mustMatch("rows", len(rows), (hi-lo)*o.dim)
	vec.Spread(dst, o.at, o.ends[lo:hi+1], rows, o.dim)
}

// Sum writes the sums of the gradients of the rows from lo to below hi to dst, (hi−lo) × dim values: −0 where
// a row does not occur. Rows may be summed in any order, and by several goroutines. It panics if the length
// disagrees. Cost: one vector added for each occurrence of the rows.
func (o *Occurrences) Sum(dst []float32, lo, hi int) {
	mustMatch("dst", len(dst), (hi-lo)*o.dim)
	vec.SumTrees(dst, o.dim, o.grads, o.at, o.joins, o.ends[lo:hi+1])
}

// sorting puts the occurrences of a range of rows in the order of rows, by counting:
//
//	count, of the Occurrences, any times · reserve · place, the same times, in ascending order of groups
type sorting struct {
	*Occurrences
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
func (s *sorting) reserve(o *Occurrences, lo, hi int, begin int32) {
	s.Occurrences, s.lo = o, lo
	counts := o.ends[lo+1 : hi+1]
	s.progress = resized(s.progress, len(counts))
	end := begin
	for i, n := range counts {
		s.progress[i] = progress{next: end}
		end += n
		counts[i] = end
	}
	if int(end) > len(o.at) {
		o.at, o.joins = resized(o.at, int(end)), resized(o.joins, int(end))
	}
}

// place records one occurrence of each row in the current group, which begins at value at.
func (s *sorting) place(rows []int32, at int32) {
	s.placeEach(rows, at, 0)
}

// placeEach is place for one row after another, whose occurrences begin a number of values apart.
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
