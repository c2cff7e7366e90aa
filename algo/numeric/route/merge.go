package route

import (
	"math"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/kernel/vec"
)

// Merge writes the gradient sum of every distinct row of the part to sums.
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
// Pool wrote, fewer than 2³¹; sums is len(Signs) × dim. It panics if a length
// disagrees. Cost: one row added an occurrence of a row, and one
// for each (row, group).
func (r *Routed) Merge(sums []float32, schema *batch.Schema, grads []float32, dim int) {
	width := schema.EmbeddingWidth()
	mustMatch("grads", len(grads), r.part.Samples*width)
	mustMatch("sums", len(sums), len(r.Signs)*dim)
	m := mergings.Get().(*merging)
	defer mergings.Put(m)
	m.begin(len(r.Signs))
	for s := range schema.Slots {
		r.countSlot(m, s, &schema.Slots[s])
	}
	m.order(len(grads))
	for g := range r.part.Groups() {
		m.group = int32(g)
		first := 0
		for s := range schema.Slots {
			r.placeSlot(m, s, &schema.Slots[s], r.part.Bounds[g], r.part.Bounds[g+1], first, width)
			first += schema.Slots[s].Width()
		}
	}
	m.sum(sums, r.scaleGrads(m, schema, grads, dim), dim)
}

// countSlot counts the occurrences of a slot that have a gradient. Further ids of a
// raw slot Pool has dropped: they have none, though they were read.
func (r *Routed) countSlot(m *merging, s int, slot *batch.Slot) {
	if slot.Pooling == batch.Sum {
		m.count(r.Index[s])
		return
	}
	each := slot.RowsPerID()
	for i := range r.part.Samples {
		named := r.occurrences(s, i, each)
		m.count(named[:min(len(named), slot.FixedSize*each)])
	}
}

// placeSlot places the same occurrences of the samples from lo to below hi. The
// inputs of the slot begin at first, of a sample's width.
func (r *Routed) placeSlot(m *merging, s int, slot *batch.Slot, lo, hi, first, width int) {
	each := slot.RowsPerID()
	for i := lo; i < hi; i++ {
		named, at := r.occurrences(s, i, each), int32(i*width+first)
		if slot.Pooling == batch.Sum {
			m.place(named, at)
			continue
		}
		for k := range min(len(named)/each, slot.FixedSize) {
			m.place(named[k*each:][:each], at+int32(k*(slot.Dim+1)))
		}
	}
}

// scaleGrads returns the gradients of the sums before SqrtScaling: grads as they
// are, or with those of scaled sums replaced in a copy.
func (r *Routed) scaleGrads(m *merging, schema *batch.Schema, grads []float32, dim int) []float32 {
	width, first, copied := schema.EmbeddingWidth(), 0, false
	for s := range schema.Slots {
		slot := &schema.Slots[s]
		each, inputs := slot.RowsPerID(), slot.Width()
		if slot.SqrtScaling {
			if !copied {
				m.scaled = append(m.scaled[:0], grads...)
				grads, copied = m.scaled, true
			}
			for i := range r.part.Samples {
				named, own := len(r.occurrences(s, i, each)), grads[i*width+first:][:inputs]
				if slot.Pooling == batch.Sum {
					scaleGrad(own, named)
					continue
				}
				for k := range min(named/each, slot.FixedSize) {
					scaleGrad(own[k*(dim+1):][:dim], each)
				}
			}
		}
		first += inputs
	}
	return grads
}

// scaleGrad scales the gradient of a sum of n rows.
func scaleGrad(grad []float32, n int) {
	if n < 2 {
		return
	}
	vec.Scale(grad, sqrtScale(n))
}

// negativeZero added to x is x for every x, −0 included.
var negativeZero = float32(math.Copysign(0, -1))
