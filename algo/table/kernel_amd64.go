package table

// The kernels of kernel_amd64.s, which algo/isa/generate makes of a template. Each does as the
// portable form beside its caller, and fetches ahead.

// askAMD64 writes the hashes of n ≥ 1 signs and asks for the group of each.
//
//go:noescape
func askAMD64(v *view, signs *uint64, n int, hashes *[chunkSigns]uint64)

//go:noescape
func probeAVX512(v *view, hashes *uint64, n int, rows *[chunkSigns]int32)

//go:noescape
func probeAVX2(v *view, hashes *uint64, n int, rows *[chunkSigns]int32)

//go:noescape
func gatherAVX512(v *view, rows *int32, n int, dst *float32, dim int)

//go:noescape
func gatherAVX2(v *view, rows *int32, n int, dst *float32, dim int)
