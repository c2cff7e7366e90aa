package batch

import "fmt"

// Slice returns the samples [lo, hi) of b. Ids, their weights, dense features, labels and weights
// alias b; offsets are new, but shared where b's are. It panics unless 0 ≤ lo ≤ hi ≤ b.Samples.
//
// Cost: one pass over the offsets of the range.
func Slice(b *Batch, lo, hi int) *Batch {
	if lo < 0 || lo > hi || hi > b.Samples {
		panic(fmt.Sprintf("batch: Slice: range [%d, %d) of %d samples", lo, hi, b.Samples))
	}
	out := &Batch{
		Samples: hi - lo,
		Slots:   make([]Jagged, len(b.Slots)),
		Dense:   b.Dense[lo*width(b.Dense, b) : hi*width(b.Dense, b)],
		Labels:  b.Labels[lo*width(b.Labels, b) : hi*width(b.Labels, b)],
		Weights: b.Weights[lo*width(b.Weights, b) : hi*width(b.Weights, b)],
	}
	for s, slot := range b.Slots {
		first, last := slot.Offsets[lo], slot.Offsets[hi]
		if s > 0 && sameArray(slot.Offsets, b.Slots[s-1].Offsets) {
			out.Slots[s] = slot.between(first, last, out.Slots[s-1].Offsets)
			continue
		}
		offsets := make([]int32, hi-lo+1)
		for i := range offsets {
			offsets[i] = slot.Offsets[lo+i] - first
		}
		out.Slots[s] = slot.between(first, last, offsets)
	}
	return out
}

// between returns the ids from first to below last, with offsets. It aliases j.
func (j Jagged) between(first, last int32, offsets []int32) Jagged {
	own := Jagged{Offsets: offsets, IDs: j.IDs[first:last]}
	if j.Weights != nil {
		own.Weights = j.Weights[first:last]
	}
	return own
}

// Gather returns the samples of b at the given positions, in that order, in
// memory of its own. It panics if a position is outside b.
//
// Cost: one copy of the rows; allocates the result exactly once per column.
func Gather(b *Batch, rows []int32) *Batch {
	out := &Batch{
		Samples: len(rows),
		Slots:   make([]Jagged, len(b.Slots)),
		Dense:   gatherValues(b.Dense, width(b.Dense, b), rows),
		Labels:  gatherValues(b.Labels, width(b.Labels, b), rows),
		Weights: gatherValues(b.Weights, width(b.Weights, b), rows),
	}
	for s, slot := range b.Slots {
		out.Slots[s] = gatherIDs(slot, rows)
	}
	return out
}

// gatherIDs gathers one slot.
func gatherIDs(slot Jagged, rows []int32) Jagged {
	offsets := make([]int32, len(rows)+1)
	for i, row := range rows {
		offsets[i+1] = offsets[i] + slot.Offsets[row+1] - slot.Offsets[row]
	}
	ids := make([]uint64, offsets[len(rows)])
	for i, row := range rows {
		copy(ids[offsets[i]:], slot.SampleIDs(int(row)))
	}
	return Jagged{Offsets: offsets, IDs: ids, Weights: gatherWeights(slot, offsets, rows)}
}

// gatherWeights returns the weights of the ids of samples, whose ids have the offsets, or nil.
func gatherWeights(slot Jagged, offsets, rows []int32) []float32 {
	if slot.Weights == nil {
		return nil
	}
	weights := make([]float32, offsets[len(rows)])
	for i, row := range rows {
		copy(weights[offsets[i]:], slot.SampleWeights(int(row)))
	}
	return weights
}

// gatherValues returns nil if there are no values.
func gatherValues(values []float32, width int, rows []int32) []float32 {
	if values == nil {
		return nil
	}
	out := make([]float32, 0, len(rows)*width)
	for _, row := range rows {
		lo := int(row) * width
		out = append(out, values[lo:lo+width]...)
	}
	return out
}

// Column returns column c of a row-major matrix, such as labels and predictions: the values themselves if the
// matrix has one column, else a copy.
func Column(values []float32, columns, c int) []float32 {
	if columns == 1 {
		return values
	}
	out := make([]float32, 0, len(values)/columns)
	for at := c; at < len(values); at += columns {
		out = append(out, values[at])
	}
	return out
}

// width returns the number of values that one sample of b has in values.
func width(values []float32, b *Batch) int {
	if b.Samples == 0 {
		return 0
	}
	return len(values) / b.Samples
}
