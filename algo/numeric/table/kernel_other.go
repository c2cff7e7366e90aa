//go:build !amd64

package table

import "unsafe"

// Other processors have only the portable forms: nothing calls these.

const noKernel = "table: this processor has no vector kernels"

func hashAMD64(v *view, signs *uint64, n int, hashes *[chunkSigns]uint64,
	places *[chunkSigns]unsafe.Pointer) {
	panic(noKernel)
}

func fetchAMD64(places *unsafe.Pointer, n, from, to int) { panic(noKernel) }

func probeAVX512(v *view, hashes *[chunkSigns]uint64, n int, rows *[chunkSigns]int32,
	places *[chunkSigns]unsafe.Pointer) {
	panic(noKernel)
}

func probeAVX2(v *view, hashes *[chunkSigns]uint64, n int, rows *[chunkSigns]int32,
	places *[chunkSigns]unsafe.Pointer) {
	panic(noKernel)
}

func confirmAMD64(places *unsafe.Pointer, rows *int32, signs *uint64, counts *uint32, n int,
	marks uint32) int {
	panic(noKernel)
}

func gatherFP32AVX512(v *view, rows *int32, n int, dst *float32, dim int) {
	panic(noKernel)
}

func gatherFP32AVX2(v *view, rows *int32, n int, dst *float32, dim int) {
	panic(noKernel)
}

func gatherBF16AVX512(v *view, rows *int32, n int, dst *float32, dim int) {
	panic(noKernel)
}

func gatherBF16AVX2(v *view, rows *int32, n int, dst *float32, dim int) {
	panic(noKernel)
}

func gatherFP16AVX512(v *view, rows *int32, n int, dst *float32, dim int) {
	panic(noKernel)
}

func gatherFP16AVX2(v *view, rows *int32, n int, dst *float32, dim int) {
	panic(noKernel)
}

func narrowBF16AVX512(dst *uint16, values *float32, n int, key uint64) { panic(noKernel) }
func narrowFP16AVX512(dst *uint16, values *float32, n int, key uint64) { panic(noKernel) }
func narrowBF16AVX2(dst *uint16, values *float32, n int, key uint64)   { panic(noKernel) }
func narrowFP16AVX2(dst *uint16, values *float32, n int, key uint64)   { panic(noKernel) }
