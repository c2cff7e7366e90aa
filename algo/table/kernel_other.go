//go:build !amd64

package table

// Other processors have only the portable forms: nothing calls these.

func askAMD64(v *view, signs *uint64, n int, hashes *[chunkSigns]uint64)  { panic(noKernel) }
func probeAVX512(v *view, hashes *uint64, n int, rows *[chunkSigns]int32) { panic(noKernel) }
func probeAVX2(v *view, hashes *uint64, n int, rows *[chunkSigns]int32)   { panic(noKernel) }
func gatherAVX512(v *view, rows *int32, n int, dst *float32, dim int)     { panic(noKernel) }
func gatherAVX2(v *view, rows *int32, n int, dst *float32, dim int)       { panic(noKernel) }

const noKernel = "table: this processor has no vector kernels"
