package gemm

import "tandem/algo/numeric/isa"

// bySet has the routines of every set of instructions, nil for portable Go.
var bySet = [...]*assembly{
	isa.Portable: nil,
	isa.AVX2: {name: "AVX2 assembly", rows: 6, lanes: 8,
		tiles: tilesAVX2, transpose: transposeAVX2, strips: stripsAVX2},
	isa.AVX512: {name: "AVX-512 assembly", rows: 14, lanes: 16, masks: true,
		tiles: tilesAVX512, transpose: transposeAVX512, strips: stripsAVX512},
}

//go:noescape
func transposeAVX512(dst *float32, ldd int, src *float32, lds int, rows, cols int)

//go:noescape
func transposeAVX2(dst *float32, ldd int, src *float32, lds int, rows, cols int)

//go:noescape
func stripsAVX512(dst *float32, between int, src *float32, lds int, rows, count int)

//go:noescape
func stripsAVX2(dst *float32, between int, src *float32, lds int, rows, count int)
