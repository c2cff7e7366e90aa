package route

import (
	"math"

	"tandem/algo/batch"
	"tandem/algo/collective"
)

// Merge returns the gradient sum of every distinct row of the part.
//
//	g[u] = tree over groups of  Σ over occurrences of u in the group  grad
//
// where grad is the gradient of the sum that the row went into, scaled as Pool
// has scaled the sum. Within a group, occurrences are added in the order of
// slots, samples, ids and rounds; a group in which u does not occur is no leaf of the tree. A row all of
// whose occurrences a Raw slot has dropped gets −0, which leaves every value as
// it is, sign of zero included, when Combine adds it.
//
// Shapes: grads is Samples × schema.EmbeddingWidth(), the gradients of what
// Pool wrote; the result is len(Signs) × dim. It panics if the length of grads
// disagrees. Cost: one row added an occurrence of a row, and one for each (row,
// group).
func (r *Routed) Merge(schema *batch.Schema, grads []float32, dim int) []float32 {
	width := schema.EmbeddingWidth()
	mustMatch("grads", len(grads), r.part.Samples*width)
	occurrences := 0
	for _, index := range r.Index {
		occurrences += len(index)
	}
	m := newMerger(dim, r.part.Groups(), len(r.Signs), occurrences)
	for g := range m.groups {
		m.begin(g)
		first := 0
		for s := range schema.Slots {
			slot := &schema.Slots[s]
			each, inputs := slot.RowsPerID(), slot.Width()
			for i := r.part.Bounds[g]; i < r.part.Bounds[g+1]; i++ {
				m.addSlot(slot, each, r.occurrences(s, i, each), grads[i*width+first:][:inputs])
			}
			first += inputs
		}
	}
	return m.combine()
}

// merger holds the sums of every (row, group) that occurs. Partial sums of one
// row are chained in ascending group order.
type merger struct {
	dim, groups int
	group       int32
	partials    []float32 // values, by partial
	of          []partial
	first, last []int32   // by row: its first and latest partial, plus one; 0: none
	scaled      []float32 // scratch: one gradient
}

// partial is the sum of one row in one group. next is the row's next partial,
// plus one; 0: none.
type partial struct{ group, next int32 }

// newMerger makes room for a number of rows and of calls of add.
func newMerger(dim, groups, rows, additions int) *merger {
	return &merger{
		dim: dim, groups: groups, partials: make([]float32, 0, additions*dim), of: make([]partial, 0, additions),
		first: make([]int32, rows), last: make([]int32, rows), scaled: make([]float32, dim),
	}
}

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

// addSlot adds the gradients of one sample's inputs of a slot to the rows that
// they came from; each id has named that many.
func (m *merger) addSlot(slot *batch.Slot, each int, named []int32, grads []float32) {
	if slot.Pooling == batch.Sum {
		m.addSum(named, grads, slot.SqrtScaling)
		return
	}
	// Further ids Pool has dropped: they have no gradient, though they were read.
	for k := range min(len(named)/each, slot.FixedSize) {
		m.addSum(named[k*each:][:each], grads[k*(m.dim+1):][:m.dim], slot.SqrtScaling)
	}
}

// addSum adds the gradient of a sum to each of the named rows.
func (m *merger) addSum(named []int32, grad []float32, scaled bool) {
	if scaled && len(named) > 1 {
		scale := sqrtScale(len(named))
		for j, v := range grad {
			m.scaled[j] = float32(scale * v)
		}
		grad = m.scaled
	}
	for _, at := range named {
		m.add(at, grad)
	}
}

// combine returns the sums of every row's partials along the tree.
func (m *merger) combine() []float32 {
	none := float32(math.Copysign(0, -1)) // x + −0 is x for every x, −0 included
	sums := make([]float32, len(m.first)*m.dim)
	leaves := make([]collective.Leaf, 0, m.groups)
	for row := range m.first {
		leaves = leaves[:0]
		for at := m.first[row]; at != 0; at = m.of[at-1].next {
			values := m.partials[int(at-1)*m.dim:][:m.dim]
			leaves = append(leaves, collective.Leaf{Index: int(m.of[at-1].group), Values: values})
		}
		sum := sums[row*m.dim:][:m.dim]
		if len(leaves) > 0 {
			copy(sum, collective.SparseTree(leaves, m.groups))
			continue
		}
		for j := range sum {
			sum[j] = none
		}
	}
	return sums
}
