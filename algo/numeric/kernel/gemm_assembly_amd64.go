package kernel

import "tandem/algo/numeric/isa"

//go:generate go run ./gen gemm_amd64.s gemm_tiles_amd64.go

// assemblyOf returns the routines in a set of instructions, nil if there are
// none.
func assemblyOf(set isa.Set) *assembly {
	switch set {
	case isa.AVX512:
		return &assembly{name: "AVX-512 assembly", rows: 14, lanes: 16, masks: true,
			tiles: tilesAVX512, transpose: transposeAVX512, strips: stripsAVX512, bareLoop: bareLoopAVX512}
	case isa.AVX2:
		return &assembly{name: "AVX2 assembly", rows: 6, lanes: 8,
			tiles: tilesAVX2, transpose: transposeAVX2, strips: stripsAVX2, bareLoop: bareLoopAVX2}
	}
	return nil
}

//go:noescape
func transposeAVX512(dst *float32, ldd int, src *float32, lds int, rows, cols int)

//go:noescape
func transposeAVX2(dst *float32, ldd int, src *float32, lds int, rows, cols int)

//go:noescape
func stripsAVX512(dst *float32, between int, src *float32, lds int, rows, count int)

//go:noescape
func stripsAVX2(dst *float32, between int, src *float32, lds int, rows, count int)

//go:noescape
func bareLoopAVX512(turns int)

//go:noescape
func bareLoopAVX2(turns int)
