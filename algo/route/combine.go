package route

import "fmt"

// Put is what a rank's batch gives one PS: the gradient sums of the rows that
// the PS owns.
type Put struct {
	Rank    int
	Samples int // of the rank's part
	Signs   []uint64
	Sums    []float32 // len(Signs) × dim
}

// Scale divides the sums of a put in a fresh copy: by the samples of the
// rank's part if byRank, else by those of the whole step.
func (p Put) Scale(stepSamples int, byRank bool) []float32 {
	n := float32(stepSamples)
	if byRank {
		n = float32(p.Samples)
	}
	out := make([]float32, len(p.Sums))
	for i, v := range p.Sums {
		out[i] = v / n
	}
	return out
}

// Combine merges the puts of all ranks of a step, in rank order, to one
// gradient per distinct row: sums along the tree over ranks, then the one
// division by the step's samples; if byRank, each rank's sums are divided by
// its own samples first.
//
// The signs come in order of first occurrence. It panics unless the number of
// puts is a power of two and their ranks count up from 0. Puts do not change.
// Cost: one hash table operation and one row added a (row, rank).
func Combine(puts []Put, stepSamples, dim int, byRank bool) (signs []uint64, grads []float32) {
	rows := 0
	for _, p := range puts {
		rows += len(p.Signs)
	}
	m := newMerger(dim, len(puts), 0, rows)
	position := make(map[uint64]int32, rows)
	for rank, p := range puts {
		if p.Rank != rank {
			panic(fmt.Sprintf("route: put %d is of rank %d, want rank order", rank, p.Rank))
		}
		m.begin(rank)
		sums := p.Sums
		if byRank {
			sums = p.Scale(stepSamples, true)
		}
		for i, sign := range p.Signs {
			at, known := position[sign]
			if !known {
				at = int32(len(signs))
				position[sign] = at
				signs = append(signs, sign)
				m.first, m.last = append(m.first, 0), append(m.last, 0)
			}
			m.add(at, sums[i*dim:][:dim])
		}
	}
	grads = m.combine()
	if !byRank {
		n := float32(stepSamples)
		for i := range grads {
			grads[i] /= n
		}
	}
	return signs, grads
}
