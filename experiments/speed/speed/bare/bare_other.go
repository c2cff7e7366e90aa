//go:build !amd64

package bare

// Other processors have no kernels, and check says so first.

func gatherAVX512(dst, rows *float32, places *int32, n, dim int) { panic("bare: no kernel") }
func gatherAVX2(dst, rows *float32, places *int32, n, dim int)   { panic("bare: no kernel") }

func adagradAVX512(grads, rows *float32, places *int32, n, dim int, rate, epsilon float32) {
	panic("bare: no kernel")
}

func adagradAVX2(grads, rows *float32, places *int32, n, dim int, rate, epsilon float32) {
	panic("bare: no kernel")
}
