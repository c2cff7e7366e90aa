// Package bare holds loops that look up and update rows as fast as the memory of a machine
// allows: the places of the rows are known, and the loops only prefetch, copy and compute.
// Benchmarks of the store, which must also find its rows and count their updates, report
// their share of this speed. Only experiments and benchmarks use the package.
package bare

import (
	"fmt"

	"tandem/algo/numeric/isa"
)

// lanes divides every dimension.
const lanes = 16

// Gather copies the first dim values of rows of 2·dim values, at places, to dst.
// It panics if the processor has no vector instructions, or a shape is wrong; a
// place that is out of range reads foreign memory.
func Gather(dst, rows []float32, places []int32, dim int) {
	check(len(dst), len(places), dim)
	if isa.Best() == isa.AVX512 {
		gatherAVX512(&dst[0], &rows[0], &places[0], len(places), dim)
	} else {
		gatherAVX2(&dst[0], &rows[0], &places[0], len(places), dim)
	}
}

// Adagrad updates rows, each dim values ‖ dim sums of squares, by their
// gradients:
//
//	w −= rate·g / √(G + epsilon);  G += g²
//
// Its rules are those of Gather.
func Adagrad(rows []float32, places []int32, grads []float32, dim int, rate, epsilon float32) {
	check(len(grads), len(places), dim)
	if isa.Best() == isa.AVX512 {
		adagradAVX512(&grads[0], &rows[0], &places[0], len(places), dim, rate, epsilon)
	} else {
		adagradAVX2(&grads[0], &rows[0], &places[0], len(places), dim, rate, epsilon)
	}
}

func check(values, places, dim int) {
	if isa.Best() == isa.Portable || places == 0 || dim < 1 || dim%lanes != 0 || values != places*dim {
		panic(fmt.Sprintf("bare: %d values at %d places, dim %d, %v: want places × dim, a multiple of "+
			"%d, and vector instructions",
			values, places, dim, isa.Best(), lanes))
	}
}
