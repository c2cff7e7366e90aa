package vec

import "fmt"

// Spread copies vectors of dim values of src to their places in dst:
//
//	dst[at[j] + c] = 0 + src[k·dim + c],  ends[k] ≤ j < ends[k+1],  c < dim
//
// for every k below len(ends)−1. So the row of an id gets to all samples that have the id: as the sum of one
// vector, in which −0 becomes 0.
//
// Dst and src may not overlap, nor may the vectors in dst. Other values of dst stay. Spread panics if ends
// descend, or if a vector lies outside its slice. Cost: one read of each vector and one write of each place;
// no allocation.
func Spread(dst []float32, at, ends []int32, src []float32, dim int) {
	count := len(ends) - 1
	if count < 1 || dim < 1 {
		return
	}
	if len(src) != count*dim {
		panic(fmt.Sprintf("kernel: %d values, want %d vectors of %d", len(src), count, dim))
	}
	checkSegments(src, dim, dst, 1, at, ends, dim)
	active.spread(dst, at, ends, src, dim)
}

func spread(dst []float32, at, ends []int32, src []float32, dim int) {
	for k := range len(ends) - 1 {
		for _, a := range at[ends[k]:ends[k+1]] {
			for c, v := range src[k*dim : (k+1)*dim] {
				dst[int(a)+c] = 0 + v
			}
		}
	}
}
