package route

import (
	"fmt"
	"slices"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/kernel/vec"
)

// Pool writes the model input of every sample to dst, slot after slot: the sum
// of the rows of its ids, in their order, or, for a Raw slot, the sum of the rows
// of each id with its mask. Sums are scaled as Scale of the slot says. For a Max slot it is the largest value
// of the rows, place by place.
//
// Shapes: dst is Samples × schema.EmbeddingWidth(); rows is len(Signs) × dim,
// where dim is the length of the rows of every slot. Where the ids of slots of one
// dimension are resolved, Pool writes the input of these slots alone. It panics if a
// length disagrees. Cost: one row added an occurrence of a row.
func (r *Routed) Pool(dst []float32, schema *batch.Schema, rows []float32, dim int) {
	r.PoolSamples(dst, nil, schema, rows, dim, 0, r.part.Samples)
}

// PoolOn is Pool. A pool of goroutines that is not nil shares the samples of a large batch.
//
// It also writes which id of its bag, counted from 0, each maximum is of, Samples × schema.Winners(), the Max
// slots one after the other: what Merge needs. Of equal values the first id has the maximum, without an id it
// is 0. Nil winners are not written.
//
// Where the ids of a slot have weights, each row is multiplied by that of its id before it is added.
func (r *Routed) PoolOn(pool gemm.Pool, dst []float32, winners []int32, schema *batch.Schema, rows []float32,
	dim int) {
	width, samples, ranges := schema.EmbeddingWidth(), r.part.Samples, 1
	if pool != nil && samples*len(schema.Slots) >= sharedOccurrences {
		ranges = pool.Size()
	}
	mustMatch("dst", len(dst), samples*width)
	each(pool, ranges, func(i int) {
		lo, hi := i*samples/ranges, (i+1)*samples/ranges
		own := winners
		if won := schema.Winners(); winners != nil {
			own = winners[lo*won : hi*won]
		}
		r.PoolSamples(dst[lo*width:hi*width], own, schema, rows, dim, lo, hi)
	})
}

// PoolSamples is PoolOn for the samples from lo to below hi alone.
func (r *Routed) PoolSamples(dst []float32, winners []int32, schema *batch.Schema, rows []float32,
	dim, lo, hi int) {
	width, won := schema.EmbeddingWidth(), schema.Winners()
	mustMatch("dst", len(dst), (hi-lo)*width)
	if winners != nil {
		mustMatch("winners", len(winners), (hi-lo)*won)
	}
	mustMatch("rows", len(rows), len(r.Signs)*dim)
	var scratch []int32
	first, firstWon := 0, 0
	for s := range schema.Slots {
		slot := &schema.Slots[s]
		if r.skips(slot) {
			first += slot.Width()
			firstWon += slot.Winners()
			continue
		}
		switch {
		case slot.Pooling == batch.Max:
			for i := range hi - lo {
				var own []int32
				if winners != nil {
					own = winners[i*won+firstWon:][:dim]
				}
				maxima(dst[i*width+first:][:dim], own, rows, r.occurrences(s, lo+i, 1))
			}
		case r.part.Slots[s].Weights != nil:
			for i := range hi - lo {
				r.poolWeighted(dst[i*width+first:][:dim], rows, s, lo+i, slot)
			}
		case slot.Pooling == batch.Sum && hi > lo:
			if scratch = scratch[:0]; slot.RowsPerID() > 1 {
				scratch = slices.Grow(scratch, hi-lo+1)
			}
			ends := r.ends(scratch, s, lo, hi, slot.RowsPerID())
			sums := dst[first:]
			vec.SumSegments(sums, width, rows, dim, r.Index[s], ends, dim, 0)
			if slot.Scale != batch.Unscaled {
				scaleSums(slot.Scale, sums, width, ends, dim)
			}
		default:
			for i := range hi - lo {
				scratch = r.poolRaw(dst[i*width+first:][:slot.Width()], rows, dim, s, lo+i, slot, scratch)
			}
		}
		first += slot.Width()
		firstWon += slot.Winners()
	}
}

// maxima writes the largest values of rows to dst, zeros if there are none, and the place of the first that
// has each to winners, unless they are nil. NaN is larger than all numbers, so that none is hidden.
func maxima(dst []float32, winners []int32, rows []float32, at []int32) {
	clear(dst)
	clear(winners)
	for k, row := range at {
		own := rows[int(row)*len(dst):][:len(dst)]
		if k == 0 {
			copy(dst, own)
			continue
		}
		for j, value := range own {
			if value > dst[j] || value != value && dst[j] == dst[j] {
				dst[j] = value
				if winners != nil {
					winners[j] = int32(k)
				}
			}
		}
	}
}

// poolWeighted writes the sum of the rows of a sample, each times the weight of its id.
func (r *Routed) poolWeighted(out, rows []float32, s, sample int, slot *batch.Slot) {
	each, weights := slot.RowsPerID(), r.part.Slots[s].SampleWeights(sample)
	clear(out)
	for k, row := range r.occurrences(s, sample, each) {
		vec.Axpy(out, weights[k/each], rows[int(row)*len(out):][:len(out)])
	}
	if factor := slot.Scale.WeightedFactor(weights, each); factor != 1 {
		vec.Scale(out, factor)
	}
}

// ends returns where the occurrences of each sample from lo to below hi end in the
// index of a slot, behind where the first begin.
func (r *Routed) ends(scratch []int32, slot, lo, hi, each int) []int32 {
	offsets := r.part.Slots[slot].Offsets[lo : hi+1]
	if each == 1 {
		return offsets
	}
	for _, end := range offsets {
		scratch = append(scratch, end*int32(each))
	}
	return scratch
}

// scaleSums scales sums of several rows each.
func scaleSums(by batch.Scale, sums []float32, stride int, ends []int32, dim int) {
	for i := range len(ends) - 1 {
		if n := int(ends[i+1] - ends[i]); n > 1 {
			vec.Scale(sums[i*stride:][:dim], by.Factor(n))
		}
	}
}

// poolRaw writes the inputs of one sample of a raw slot: the sum of each id that is
// kept, and its mask. It returns ends, which is scratch.
func (r *Routed) poolRaw(out, rows []float32, dim, s, sample int, slot *batch.Slot, ends []int32) []int32 {
	each := slot.RowsPerID()
	named := r.occurrences(s, sample, each)
	kept := min(len(named)/each, slot.FixedSize)
	ends = append(ends[:0], 0)
	for k := range kept {
		ends = append(ends, int32((k+1)*each))
	}
	vec.SumSegments(out, dim+1, rows, dim, named, ends, dim, 0)
	if slot.Scale != batch.Unscaled {
		scaleSums(slot.Scale, out, dim+1, ends, dim)
	}
	for k := range kept {
		out[k*(dim+1)+dim] = 1
	}
	clear(out[kept*(dim+1):])
	return ends
}

// occurrences returns the positions in Signs of the rows of the ids of a sample
// in a slot, where every id has a number of them.
func (r *Routed) occurrences(slot, sample, each int) []int32 {
	offsets := r.part.Slots[slot].Offsets
	return r.Index[slot][int(offsets[sample])*each : int(offsets[sample+1])*each]
}

func mustMatch(name string, got, want int) {
	if got != want {
		panic(fmt.Sprintf("route: len(%s) = %d, want %d", name, got, want))
	}
}
