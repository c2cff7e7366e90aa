package table

import "unsafe"

// The kernels of kernel_amd64_gen.s. Each has the bits of the portable form beside its
// caller.

// hashAMD64 writes the hashes of n ≥ 1 signs, and where the group of each is.
//
//go:noescape
func hashAMD64(v *view, signs *uint64, n int, hashes *[chunkSigns]uint64, places *[chunkSigns]unsafe.Pointer)

// fetchAMD64 prefetches a number of bytes, at least one, from a line on. Any address is
// allowed: those that do not exist have no effect.
//
//go:noescape
func fetchAMD64(line unsafe.Pointer, bytes int)

// confirmAMD64 is confirm for n ≥ 1 rows; it returns the number of those confirmed.
//
//go:noescape
func confirmAMD64(places *unsafe.Pointer, rows *int32, signs *uint64, counts *uint32, n int, marks uint32) int

// The probes write, of n ≥ 1 hashes, a row, or −1, and where it is, and prefetch the bytes of the view.
//
//go:noescape
func probeAVX512(v *view, hashes *[chunkSigns]uint64, n int, rows *[chunkSigns]int32,
	places *[chunkSigns]unsafe.Pointer)

//go:noescape
func probeAVX2(v *view, hashes *[chunkSigns]uint64, n int, rows *[chunkSigns]int32,
	places *[chunkSigns]unsafe.Pointer)

// The gathers prefetch n groups, unless the list of places is nil.
//
//go:noescape
func gatherFP32AVX512(v *view, rows *int32, n int, dst *float32, dim int,
	groupPlaces *unsafe.Pointer)

//go:noescape
func gatherFP32AVX2(v *view, rows *int32, n int, dst *float32, dim int,
	groupPlaces *unsafe.Pointer)

//go:noescape
func gatherBF16AVX512(v *view, rows *int32, n int, dst *float32, dim int,
	groupPlaces *unsafe.Pointer)

//go:noescape
func gatherBF16AVX2(v *view, rows *int32, n int, dst *float32, dim int,
	groupPlaces *unsafe.Pointer)

//go:noescape
func gatherFP16AVX512(v *view, rows *int32, n int, dst *float32, dim int,
	groupPlaces *unsafe.Pointer)

//go:noescape
func gatherFP16AVX2(v *view, rows *int32, n int, dst *float32, dim int,
	groupPlaces *unsafe.Pointer)

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
