package vec

import "tandem/algo/numeric/isa"

// bySet has the loops of every set of instructions. Processors that multiply bf16 have
// AVX-512, so toBF16 has no form for AVX2. What waits for memory, sumTrees and spread, has one form.
var bySet = [...]*kernels{
	isa.Portable: &portable,
	isa.AVX2: {loops: loopsAVX2, sumSegments: sumSegmentsAVX2, sumTrees: sumTreesAVX2, spread: spreadAVX2,
		toBF16: toBF16},
	isa.AVX512: {loops: loopsAVX512, sumSegments: sumSegmentsAVX512, sumTrees: sumTreesAVX2,
		spread: spreadAVX2, toBF16: toBF16AVX512},
}

//go:noescape
func sumSegmentsAVX512(dst []float32, stride int, src []float32, unit int, at, ends []int32, dim int,
	start float32)

//go:noescape
func sumSegmentsAVX2(dst []float32, stride int, src []float32, unit int, at, ends []int32, dim int,
	start float32)

//go:noescape
func sumTreesAVX2(dst []float32, dim int, src []float32, at []int32, joins []uint8, ends []int32)

//go:noescape
func spreadAVX2(dst []float32, at, ends []int32, src []float32, dim int)

//go:noescape
func toBF16AVX512(dst []uint16, src []float32)
