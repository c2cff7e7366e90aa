package kernel

// CheckGemm panics with both sizes unless the arguments of a product fit
// together, as Gemm itself does: for Products that hand the slices to code that
// knows no lengths.
func CheckGemm(transA, transB bool, m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int) {
	checkGemm(transA, transB, m, n, k, a, lda, b, ldb, c, ldc)
}
