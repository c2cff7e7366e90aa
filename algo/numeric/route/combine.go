package route

import (
	"fmt"
	"slices"
	"sync"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/distinct"
	"tandem/algo/numeric/kernel/vec"
)

// Put has the gradient sums of a rank's batch for one PS: those of the rows, of one dimension, that the PS
// owns.
type Put struct {
	Rank    int
	Samples int // of the rank's part
	Signs   []uint64
	Sums    []float32 // len(Signs) × dim, unless Pending has them
	// Pending, if it is not nil, computes the sums when they are needed: in the first cache, where no copy of
	// all of them is ever written.
	Pending *Occurrences
}

// ByDim cuts a put whose sums are not pending into one for each dimension. It returns an error if the signs
// are not in the order of dims, and panics if sums and signs disagree. The result aliases p.
func (p *Put) ByDim(dims batch.Dims) ([]Put, error) {
	cut, err := dims.Cut(p.Signs)
	if err != nil {
		return nil, err
	}
	puts, sums := make([]Put, len(cut)), p.Sums
	for place, signs := range cut {
		n := 0
		if len(signs) > 0 {
			n = len(signs) * dims.Lengths()[place]
		}
		puts[place] = Put{Rank: p.Rank, Samples: p.Samples, Signs: signs, Sums: sums[:n]}
		sums = sums[n:]
	}
	mustMatch("sums", len(sums), 0)
	return puts, nil
}

// Divisor returns what the sums of a put are divided by: the samples of the rank's part if byRank, else the
// samples of the whole step.
func (p *Put) Divisor(stepSamples int, byRank bool) float32 {
	if byRank {
		return float32(p.Samples)
	}
	return float32(stepSamples)
}

// Quotients writes the sums of the rows from lo to below hi, divided by a divisor, to dst, (hi−lo) × dim
// values.
func (p *Put) Quotients(dst []float32, lo, hi, dim int, divisor float32) {
	if p.Pending == nil {
		vec.Quotient(dst, p.Sums[lo*dim:hi*dim], divisor)
		return
	}
	p.Pending.Sum(dst, lo, hi)
	vec.Divide(dst, divisor)
}

// Combined are the puts of all ranks of a step, merged to one gradient per distinct row.
type Combined struct {
	Signs []uint64 // of the rows, in the order of their first occurrence

	dim     int
	divisor float32 // of all rows; 1: none
	only    *Put    // the put, if there is one
	// Several puts are summed as occurrences in one vector, which has a piece for each.
	occurrences Occurrences
	table       distinct.Table
	signs       []uint64
	index       []int32
}

var combinations = sync.Pool{New: func() any { return new(Combined) }}

// Combine merges the puts of all ranks of a step, in rank order, to one
// gradient per distinct row: sums along the tree over ranks, then the one
// division by the step's samples; if byRank, each rank's sums are divided by
// its own samples first.
//
// It panics unless there are puts and their ranks count up from 0. Puts do not
// change, and must not until Release.
// Cost: one hash table operation a (row, rank); see Gradients.
func Combine(puts []Put, stepSamples, dim int, byRank bool) *Combined {
	for rank, p := range puts {
		if p.Rank != rank {
			panic(fmt.Sprintf("route: put %d is of rank %d, want rank order", rank, p.Rank))
		}
	}
	c := combinations.Get().(*Combined)
	c.dim, c.divisor, c.only = dim, float32(stepSamples), nil
	if byRank {
		c.divisor = 1
	}
	switch len(puts) {
	case 0:
		panic("route: no puts")
	case 1:
		c.only = &puts[0]
		c.Signs, c.divisor = c.only.Signs, c.only.Divisor(stepSamples, byRank)
	default:
		c.sort(puts, byRank)
	}
	return c
}

// sort finds the distinct rows of several puts, and where each occurs.
func (c *Combined) sort(puts []Put, byRank bool) {
	o, rows := &c.occurrences, 0
	for _, p := range puts {
		rows += len(p.Signs)
	}
	c.table.Reset(rows)
	c.Signs, c.index = slices.Grow(c.signs[:0], rows), resized(c.index, rows)
	o.scaled = resized(o.scaled, rows*c.dim)
	rows = 0
	for i := range puts {
		p := &puts[i]
		n := len(p.Signs)
		c.Signs = c.table.Number(c.index[rows:][:n], p.Signs, c.Signs)
		p.Quotients(o.scaled[rows*c.dim:][:n*c.dim], 0, n, c.dim, p.Divisor(1, byRank))
		rows += n
	}
	c.signs = c.Signs
	o.start(len(c.Signs), len(o.scaled), 0, c.dim)
	o.grads = o.scaled
	o.count(c.index)
	sort := sortings.Get().(*sorting)
	defer sortings.Put(sort)
	sort.reserve(o, 0, len(c.Signs), 0)
	rows = 0
	for rank, p := range puts {
		sort.group = int32(rank)
		sort.placeEach(c.index[rows:][:len(p.Signs)], int32(rows*c.dim), int32(c.dim))
		rows += len(p.Signs)
	}
}

// Gradients writes the gradients of the rows from lo to below hi to dst, (hi−lo) × dim values, and returns
// dst. Rows may come in any order, and by several goroutines. Cost: one row added a (row, rank).
func (c *Combined) Gradients(dst []float32, lo, hi int) []float32 {
	if c.only != nil {
		c.only.Quotients(dst, lo, hi, c.dim, c.divisor)
		return dst
	}
	c.occurrences.Sum(dst, lo, hi)
	if c.divisor != 1 {
		vec.Divide(dst, c.divisor)
	}
	return dst
}

// Release gives the memory back. Nothing of c may be used any more.
func (c *Combined) Release() {
	c.Signs, c.only = nil, nil
	combinations.Put(c)
}
