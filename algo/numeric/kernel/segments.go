package kernel

import (
	"fmt"

	"tandem/algo/numeric/isa"
)

// SumSegments picks vectors of dim values out of src and sums them, segment by
// segment:
//
//	dst[k·stride + c] = start + Σ src[at[j]·unit + c],  ends[k] ≤ j < ends[k+1],  c < dim
//
// for every k below len(ends)−1, in ascending j, one addition after the other.
// Pooling embeddings and summing the gradients of a row both are that. With a start
// of −0, which leaves every value as it is, a segment of one vector is that vector.
//
// Other values of dst stay. Dst and src may not overlap. It panics if ends descend,
// or if a vector that they name lies outside its slice. Cost: one read of each
// vector that is summed, fetched ahead of its turn, and one write of each sum; no
// allocation.
func SumSegments(dst []float32, stride int, src []float32, unit int, at, ends []int32, dim int, start float32) {
	sumSegments(isa.Best(), dst, stride, src, unit, at, ends, dim, start)
}

// sumSegments is SumSegments with one set of instructions.
func sumSegments(set isa.Set, dst []float32, stride int, src []float32, unit int, at, ends []int32, dim int, start float32) {
	count := len(ends) - 1
	if count < 1 || dim < 1 {
		return
	}
	checkSegments(dst, stride, src, unit, at, ends, dim)
	if set == isa.Portable {
		sumSegmentsPlain(dst, stride, src, unit, at, ends, dim, start)
		return
	}
	sumSegmentsVector(set, dst, stride, src, unit, at, ends, dim, start)
}

// checkSegments panics unless every vector that is named lies in its slice.
func checkSegments(dst []float32, stride int, src []float32, unit int, at, ends []int32, dim int) {
	before := max(ends[0], 0)
	for _, end := range ends {
		if end < before || int(end) > len(at) {
			panic(fmt.Sprintf("kernel: a segment ends at %d, want %d to %d", end, before, len(at)))
		}
		before = end
	}
	if stride < 0 || (len(ends)-2)*stride+dim > len(dst) {
		panic(fmt.Sprintf("kernel: %d sums of %d values, %d apart, in %d", len(ends)-1, dim, stride, len(dst)))
	}
	most := uint32(0) // of at, where what is below 0 is very large
	for _, a := range at[ends[0]:before] {
		most = max(most, uint32(a))
	}
	if ends[0] < before && (unit < 0 || int(most)*unit+dim > len(src)) {
		panic(fmt.Sprintf("kernel: vector %d of %d values, %d apart, in %d", int32(most), dim, unit, len(src)))
	}
}

// sumSegmentsPlain is the plain form.
func sumSegmentsPlain(dst []float32, stride int, src []float32, unit int, at, ends []int32, dim int, start float32) {
	for k := range len(ends) - 1 {
		sum := dst[k*stride:][:dim]
		for c := range sum {
			sum[c] = start
		}
		for _, a := range at[ends[k]:ends[k+1]] {
			for c, v := range src[int(a)*unit:][:dim] {
				sum[c] += v
			}
		}
	}
}
