package route

import (
	"fmt"
	"slices"

	"tandem/algo/numeric/kernel/vec"
)

// Put has the gradient sums of a rank's batch for one PS: those of the rows that the PS owns.
type Put struct {
	Rank    int
	Samples int // of the rank's part
	Signs   []uint64
	Sums    []float32 // len(Signs) × dim
}

// Scale appends the sums of a put to dst, divided by the samples of the rank's part if byRank, else by the
// samples of the whole step.
func (p Put) Scale(dst []float32, stepSamples int, byRank bool) []float32 {
	n := stepSamples
	if byRank {
		n = p.Samples
	}
	at := len(dst)
	dst = slices.Grow(dst, len(p.Sums))[:at+len(p.Sums)]
	vec.Quotient(dst[at:], p.Sums, float32(n))
	return dst
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
		return puts[0].Signs, puts[0].Scale(nil, stepSamples, byRank)
	}
	signs, grads = combine(puts, dim, byRank)
	if !byRank {
		vec.Divide(grads, float32(stepSamples))
	}
	return signs, grads
}

// combine returns the sums along the tree of several puts.
func combine(puts []Put, dim int, byRank bool) (signs []uint64, sums []float32) {
	m := mergings.Get().(*Merging)
	defer mergings.Put(m)
	rows := 0
	for _, p := range puts {
		rows += len(p.Signs)
	}
	scratch := routings.Get().(*routing)
	defer routings.Put(scratch)
	scratch.shared.Reset(rows)
	signs = make([]uint64, 0, rows)
	index := make([]int32, rows)
	m.scaled = m.scaled[:0]
	rows = 0
	for _, p := range puts {
		signs = scratch.shared.Number(index[rows:][:len(p.Signs)], p.Signs, signs)
		if byRank {
			m.scaled = p.Scale(m.scaled, 0, true)
		} else {
			m.scaled = append(m.scaled, p.Sums...)
		}
		rows += len(p.Signs)
	}
	m.start(len(signs), m.scaled, dim)
	m.count(index, 0)
	m.order(0, len(signs))
	rows = 0
	for rank, p := range puts {
		m.group = int32(rank)
		m.placeEach(index[rows:][:len(p.Signs)], int32(rows*dim), int32(dim))
		rows += len(p.Signs)
	}
	sums = make([]float32, len(signs)*dim)
	m.Sum(sums, 0, len(signs))
	return signs, sums
}
