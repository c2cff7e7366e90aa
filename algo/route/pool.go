package route

import (
	"fmt"
	"math"

	"tandem/algo/batch"
)

// Pool writes the model input of every sample to dst, slot after slot: the sum
// of the rows of its ids, in their order, or, for a Raw slot, the sum of the rows
// of each id with its mask. A slot with SqrtScaling has its sums scaled.
//
// Shapes: dst is Samples × schema.EmbeddingWidth(); rows is len(Signs) × dim,
// where dim is the length of the rows of every slot. It panics if a length
// disagrees. Cost: one row added an occurrence of a row; no allocation.
func (r *Routed) Pool(dst []float32, schema *batch.Schema, rows []float32, dim int) {
	width := schema.EmbeddingWidth()
	mustMatch("dst", len(dst), r.part.Samples*width)
	mustMatch("rows", len(rows), len(r.Signs)*dim)
	clear(dst)
	first := 0
	for s, slot := range schema.Slots {
		each, inputs := slot.RowsPerID(), slot.Width()
		for i := range r.part.Samples {
			out := dst[i*width+first:][:inputs]
			named := r.occurrences(s, i, each)
			if slot.Pooling == batch.Sum {
				addRows(out, rows, named, slot.SqrtScaling)
				continue
			}
			for k := range min(len(named)/each, slot.FixedSize) {
				place := out[k*(dim+1):][:dim+1]
				addRows(place[:dim], rows, named[k*each:][:each], slot.SqrtScaling)
				place[dim] = 1
			}
		}
		first += inputs
	}
}

// occurrences returns the positions in Signs of the rows of the ids of a sample
// in a slot, where every id has a number of them.
func (r *Routed) occurrences(slot, sample, each int) []int32 {
	offsets := r.part.Slots[slot].Offsets
	return r.Index[slot][int(offsets[sample])*each : int(offsets[sample+1])*each]
}

// addRows adds the named rows to out, which is 0, and scales the sum if told to.
func addRows(out, rows []float32, named []int32, scaled bool) {
	for _, at := range named {
		for j, v := range rows[int(at)*len(out):][:len(out)] {
			out[j] += v
		}
	}
	if scaled && len(named) > 1 {
		scale := sqrtScale(len(named))
		for j := range out {
			out[j] *= scale
		}
	}
}

// sqrtScale returns 1/√n, what SqrtScaling multiplies a sum of n rows by and,
// on the way back, the gradient of the sum.
func sqrtScale(n int) float32 { return float32(1 / math.Sqrt(float64(n))) }

func mustMatch(name string, got, want int) {
	if got != want {
		panic(fmt.Sprintf("route: len(%s) = %d, want %d", name, got, want))
	}
}
