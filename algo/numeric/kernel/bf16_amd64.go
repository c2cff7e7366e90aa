package kernel

import "tandem/algo/numeric/isa"

// bf16AVX512 writes the bf16 nearest to n values, n ≥ 1.
//
//go:noescape
func bf16AVX512(dst *uint16, src *float32, n int)

func toBF16(dst []uint16, src []float32) { toBF16With(isa.Best(), dst, src) }

// toBF16With is toBF16 in some instructions. Processors that multiply bf16 have
// AVX-512, so there is no form for fewer.
func toBF16With(set isa.Set, dst []uint16, src []float32) {
	if set < isa.AVX512 {
		toBF16Scalar(dst, src)
		return
	}
	bf16AVX512(&dst[0], &src[0], len(src))
}
