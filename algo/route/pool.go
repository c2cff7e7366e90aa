package route

import (
	"fmt"

	"tandem/algo/batch"
)

// Pool writes the model input of every sample to dst: slot after slot, the sum
// of the slot's rows, in the order of its ids, or, for a Raw slot, the rows
// themselves with their mask.
//
// Shapes: dst is Samples × schema.EmbeddingWidth(); rows is len(Signs) × dim,
// where dim is the length of the rows of every slot. It panics if a length
// disagrees. Cost: one row added an occurrence; no allocation.
func (r *Routed) Pool(dst []float32, schema *batch.Schema, rows []float32, dim int) {
	width := schema.EmbeddingWidth()
	mustMatch("dst", len(dst), r.part.Samples*width)
	mustMatch("rows", len(rows), len(r.Signs)*dim)
	clear(dst)
	first := 0
	for s, slot := range schema.Slots {
		for i := range r.part.Samples {
			out := dst[i*width+first:][:slot.Width()]
			ids := r.occurrences(s, i)
			if slot.Pooling == batch.Raw {
				copyRaw(out, rows, ids, dim)
				continue
			}
			for _, at := range ids {
				for j, v := range rows[int(at)*dim:][:dim] {
					out[j] += v
				}
			}
		}
		first += slot.Width()
	}
}

// occurrences returns the positions in Signs of the ids of a sample in a slot.
func (r *Routed) occurrences(slot, sample int) []int32 {
	offsets := r.part.Slots[slot].Offsets
	return r.Index[slot][offsets[sample]:offsets[sample+1]]
}

// copyRaw writes rows one after the other, each with the mask value 1.
func copyRaw(out, rows []float32, ids []int32, dim int) {
	for k, at := range ids {
		if (k+1)*(dim+1) > len(out) {
			return // more ids than the slot keeps
		}
		chunk := out[k*(dim+1):][:dim+1]
		copy(chunk, rows[int(at)*dim:][:dim])
		chunk[dim] = 1
	}
}

func mustMatch(name string, got, want int) {
	if got != want {
		panic(fmt.Sprintf("route: len(%s) = %d, want %d", name, got, want))
	}
}
