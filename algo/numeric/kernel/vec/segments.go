package vec

import "fmt"

// SumSegments sums vectors of dim values of src, segment by segment:
//
//	dst[k·stride + c] = start + Σ src[at[j]·unit + c],  ends[k] ≤ j < ends[k+1],  c < dim
//
// for every k below len(ends)−1, in ascending j, one addition after the other. It pools
// embeddings, and sums the gradients of a row. Start is −0 where a segment of one vector
// must become that vector, since −0 + x is x for every x.
//
// Other values of dst stay. Dst and src may not overlap. SumSegments panics if ends
// descend, or if a vector lies outside its slice. Cost: one read of each vector that is
// summed, fetched before its turn, and one write of each sum; no allocation.
func SumSegments(dst []float32, stride int, src []float32, unit int, at, ends []int32, dim int,
	start float32) {
	count := len(ends) - 1
	if count < 1 || dim < 1 {
		return
	}
	checkSegments(dst, stride, src, unit, at, ends, dim)
	if ends[0] == ends[count] { // every sum is start
		sumSegments(dst, stride, src, unit, at, ends, dim, start)
		return
	}
	active.sumSegments(dst, stride, src, unit, at, ends, dim, start)
}

// checkSegments panics unless every vector of every segment lies in its slice.
func checkSegments(dst []float32, stride int, src []float32, unit int, at, ends []int32, dim int) {
	before := max(ends[0], 0)
	for _, end := range ends {
		if end < before || int(end) > len(at) {
			panic(fmt.Sprintf("kernel: a segment ends at %d, want %d to %d", end, before, len(at)))
		}
		before = end
	}
	if stride < 0 || (len(ends)-2)*stride+dim > len(dst) {
		panic(fmt.Sprintf("kernel: %d sums of %d values, %d apart, in %d", len(ends)-1, dim, stride,
			len(dst)))
	}
	named := at[ends[0]:before]
	var a, b, c, d uint32 // largest of every fourth, which do not wait for each other
	for ; len(named) >= 4; named = named[4:] {
		a, b = max(a, uint32(named[0])), max(b, uint32(named[1]))
		c, d = max(c, uint32(named[2])), max(d, uint32(named[3]))
	}
	for _, n := range named {
		a = max(a, uint32(n))
	}
	most := max(a, b, c, d) // of at; a negative one counts as very large
	if ends[0] < before && (unit < 0 || int(most)*unit+dim > len(src)) {
		panic(fmt.Sprintf("kernel: vector %d of %d values, %d apart, in %d", int32(most), dim, unit,
			len(src)))
	}
}

func sumSegments(dst []float32, stride int, src []float32, unit int, at, ends []int32, dim int,
	start float32) {
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
