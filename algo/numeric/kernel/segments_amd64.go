package kernel

import "tandem/algo/numeric/isa"

// sumSegmentsVector is sumSegments of checked arguments, with vector instructions.
func sumSegmentsVector(set isa.Set, dst []float32, stride int, src []float32, unit int, at, ends []int32, dim int, start float32) {
	if ends[0] == ends[len(ends)-1] { // there is nothing to point to
		sumSegmentsPlain(dst, stride, src, unit, at, ends, dim, start)
		return
	}
	if set == isa.AVX512 {
		sumSegmentsAVX512(&dst[0], stride, &src[0], unit, &at[0], &ends[0], len(ends)-1, dim, start)
	} else {
		sumSegmentsAVX2(&dst[0], stride, &src[0], unit, &at[0], &ends[0], len(ends)-1, dim, start)
	}
}

// At least one segment is not empty.
//
//go:noescape
func sumSegmentsAVX512(dst *float32, stride int, src *float32, unit int, at, ends *int32, count, dim int, start float32)

//go:noescape
func sumSegmentsAVX2(dst *float32, stride int, src *float32, unit int, at, ends *int32, count, dim int, start float32)
