package table

import "unsafe"

// The kernels of kernel_amd64_gen.s. Each has the bits of the portable form beside its
// caller.

// hashAMD64 writes the hashes of n ≥ 1 signs, and where the group of each is.
//
//go:noescape
func hashAMD64(v *view, signs *uint64, n int, hashes *[chunkSigns]uint64, places *[chunkSigns]unsafe.Pointer)

// fetchAMD64 prefetches the lines of the bytes from to below to of each of n ≥ 1 places. Any address is
// allowed: those that do not exist have no effect.
//
//go:noescape
func fetchAMD64(places *unsafe.Pointer, n, from, to int)

// confirmAMD64 is confirm for n ≥ 1 rows; it returns the number of those confirmed.
//
//go:noescape
func confirmAMD64(places *unsafe.Pointer, rows *int32, signs *uint64, counts *uint32, n int, marks uint32) int

// The probes write, of n ≥ 1 hashes, a row, or −1, and where it is, and prefetch its near bytes.
//
//go:noescape
func probeAVX512(v *view, hashes *[chunkSigns]uint64, n int, rows *[chunkSigns]int32,
	places *[chunkSigns]unsafe.Pointer)

//go:noescape
func probeAVX2(v *view, hashes *[chunkSigns]uint64, n int, rows *[chunkSigns]int32,
	places *[chunkSigns]unsafe.Pointer)

// The gathers copy n rows, and prefetch what the view says of n next rows and groups, unless it has none.
//
//go:noescape
func gatherFP32AVX512(v *view, rows *int32, n int, dst *float32, dim int)

//go:noescape
func gatherFP32AVX2(v *view, rows *int32, n int, dst *float32, dim int)

//go:noescape
func gatherBF16AVX512(v *view, rows *int32, n int, dst *float32, dim int)

//go:noescape
func gatherBF16AVX2(v *view, rows *int32, n int, dst *float32, dim int)

//go:noescape
func gatherFP16AVX512(v *view, rows *int32, n int, dst *float32, dim int)

//go:noescape
func gatherFP16AVX2(v *view, rows *int32, n int, dst *float32, dim int)

// The narrowings are narrowAll of n ≥ 1 values.
//
//go:noescape
func narrowBF16AVX512(dst *uint16, values *float32, n int, key uint64)

//go:noescape
func narrowFP16AVX512(dst *uint16, values *float32, n int, key uint64)

// Those for AVX2 take a multiple of eight values.
//
//go:noescape
func narrowBF16AVX2(dst *uint16, values *float32, n int, key uint64)

//go:noescape
func narrowFP16AVX2(dst *uint16, values *float32, n int, key uint64)
