package bare

// The kernels of bare_amd64_gen.s.

//go:noescape
func gatherAVX512(dst, rows *float32, places *int32, n, dim int)

//go:noescape
func gatherAVX2(dst, rows *float32, places *int32, n, dim int)

//go:noescape
func adagradAVX512(grads, rows *float32, places *int32, n, dim int, rate, epsilon float32)

//go:noescape
func adagradAVX2(grads, rows *float32, places *int32, n, dim int, rate, epsilon float32)
