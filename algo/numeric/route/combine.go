package route

import (
	"fmt"

	"tandem/algo/numeric/kernel/vec"
)

// Put has the gradient sums of a rank's batch for one PS: those of the rows that the PS owns.
type Put struct {
	Rank    int
	Samples int // of the rank's part
	Signs   []uint64
	Sums    []float32 // len(Signs) × dim, unless Pending has them
	// Pending, if it is not nil, computes the sums when they are needed: in the first cache, where no copy of
	// all of them is ever written.
	Pending *Occurrences
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

// Combine merges the puts of all ranks of a step, in rank order, to one
// gradient per distinct row: sums along the tree over ranks, then the one
// division by the step's samples; if byRank, each rank's sums are divided by
// its own samples first.
//
// The signs come in order of first occurrence. It panics unless there are puts
// and their ranks count up from 0. Puts do not change.
// Cost: one hash table operation and one row added a (row, rank).
func Combine(puts []Put, stepSamples, dim int, byRank bool) (signs []uint64, grads []float32) {
	for rank, p := range puts {
		if p.Rank != rank {
			panic(fmt.Sprintf("route: put %d is of rank %d, want rank order", rank, p.Rank))
		}
	}
	switch len(puts) {
	case 0:
		panic("route: no puts")
	case 1:
		p := &puts[0]
		grads = make([]float32, len(p.Signs)*dim)
		p.Quotients(grads, 0, len(p.Signs), dim, p.Divisor(stepSamples, byRank))
		return p.Signs, grads
	}
	signs, grads = combine(puts, dim, byRank)
	if !byRank {
		vec.Divide(grads, float32(stepSamples))
	}
	return signs, grads
}

// combine returns the sums along the tree of several puts.
func combine(puts []Put, dim int, byRank bool) (signs []uint64, sums []float32) {
	o := occurrencesPool.Get().(*Occurrences)
	defer occurrencesPool.Put(o)
	rows := 0
	for _, p := range puts {
		rows += len(p.Signs)
	}
	scratch := routings.Get().(*routing)
	defer routings.Put(scratch)
	scratch.shared.Reset(rows)
	signs = make([]uint64, 0, rows)
	index := make([]int32, rows)
	o.scaled = resized(o.scaled, rows*dim)
	rows = 0
	for i := range puts {
		p := &puts[i]
		n := len(p.Signs)
		signs = scratch.shared.Number(index[rows:][:n], p.Signs, signs)
		p.Quotients(o.scaled[rows*dim:][:n*dim], 0, n, dim, p.Divisor(1, byRank))
		rows += n
	}
	o.start(len(signs), len(o.scaled), dim)
	o.grads = o.scaled
	o.count(index)
	sort := sortings.Get().(*sorting)
	defer sortings.Put(sort)
	sort.reserve(o, 0, len(signs), 0)
	rows = 0
	for rank, p := range puts {
		sort.group = int32(rank)
		sort.placeEach(index[rows:][:len(p.Signs)], int32(rows*dim), int32(dim))
		rows += len(p.Signs)
	}
	sums = make([]float32, len(signs)*dim)
	o.Sum(sums, 0, len(signs))
	return signs, sums
}
