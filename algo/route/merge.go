package route

import (
	"tandem/algo/batch"
	"tandem/algo/collective"
)

// Merge returns the gradient sum of every distinct row of the part.
//
//	g[u] = tree over groups of  Σ over occurrences of u in the group  grad
//
// Within a group, occurrences are added in the order of slots, samples and
// ids; a group in which u does not occur is no leaf of the tree.
//
// Shapes: grads is Samples × schema.EmbeddingWidth(), the gradients of what
// Pool wrote; the result is len(Signs) × dim. It panics if the length of grads
// disagrees. Cost: one row added an occurrence, and one for each (row, group).
func (r *Routed) Merge(schema *batch.Schema, grads []float32, dim int) []float32 {
	width := schema.EmbeddingWidth()
	mustMatch("grads", len(grads), r.part.Samples*width)
	m := merger{
		dim: dim, groups: r.part.Groups(), sums: make([]float32, len(r.Signs)*dim),
		first: make([]int32, len(r.Signs)), last: make([]int32, len(r.Signs)),
	}
	for g := range m.groups {
		m.begin(g)
		first := 0
		for s, slot := range schema.Slots {
			for i := r.part.Bounds[g]; i < r.part.Bounds[g+1]; i++ {
				from := grads[i*width+first:][:slot.Width()]
				for k, at := range r.occurrences(s, i) {
					switch {
					case slot.Pooling == batch.Sum:
						m.add(at, from)
					case (k+1)*(dim+1) <= len(from):
						m.add(at, from[k*(dim+1):][:dim])
					default: // dropped by Pool: no gradient, but the row was read
					}
				}
			}
			first += slot.Width()
		}
	}
	m.combine()
	return m.sums
}

// merger holds the sums of every (row, group) that occurs. Partial sums of one
// row are chained in ascending group order.
type merger struct {
	dim, groups int
	group       int32
	sums        []float32 // the result, by row
	partials    []float32 // by partial
	of          []partial
	first, last []int32 // by row: its first and latest partial, plus one; 0: none
}

type partial struct{ group, next int32 }

func (m *merger) begin(group int) { m.group = int32(group) }

// add adds a gradient to the partial sum of a row in the current group.
func (m *merger) add(row int32, grad []float32) {
	at := m.last[row] - 1
	if at < 0 || m.of[at].group != m.group {
		at = int32(len(m.of))
		m.of = append(m.of, partial{group: m.group})
		m.partials = append(m.partials, grad...)
		if m.last[row] == 0 {
			m.first[row] = at + 1
		} else {
			m.of[m.last[row]-1].next = at + 1
		}
		m.last[row] = at + 1
		return
	}
	sum := m.partials[int(at)*m.dim:][:m.dim]
	for j, v := range grad {
		sum[j] += v
	}
}

// combine sums the partials of every row along the tree.
func (m *merger) combine() {
	leaves := make([]collective.Leaf, 0, m.groups)
	for row := range m.first {
		leaves = leaves[:0]
		for at := m.first[row]; at != 0; at = m.of[at-1].next {
			values := m.partials[int(at-1)*m.dim:][:m.dim]
			leaves = append(leaves, collective.Leaf{Index: int(m.of[at-1].group), Values: values})
		}
		if len(leaves) > 0 {
			copy(m.sums[row*m.dim:][:m.dim], collective.SparseTree(leaves, m.groups))
		}
	}
}
