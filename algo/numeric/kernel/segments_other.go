//go:build !amd64

package kernel

import "tandem/algo/numeric/isa"

// sumSegmentsVector is never called: there is one set of instructions.
func sumSegmentsVector(_ isa.Set, dst []float32, stride int, src []float32, unit int, at, ends []int32, dim int, start float32) {
	sumSegmentsPlain(dst, stride, src, unit, at, ends, dim, start)
}
