package gorgonia

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
	G "gorgonia.org/gorgonia"

	"tandem/algo/numeric/kernel/gemm"
)

// Multiply makes all graphs of this process multiply matrices by p instead of gonum's
// portable Go. Gorgonia keeps the choice in package variables: call Multiply once, before
// the first graph.
func Multiply(p gemm.Products) { G.Use(products{Products: p}) }

// products is gonum's linear algebra with another matrix product in fp32.
type products struct {
	gonum.Implementation
	gemm.Products
}

// Sgemm is blas.Float32's. Graphs multiply by no factor.
func (p products) Sgemm(transA, transB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int,
	b []float32, ldb int, beta float32, c []float32, ldc int) {
	if alpha != 1 {
		p.Implementation.Sgemm(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	p.Gemm(transA != blas.NoTrans, transB != blas.NoTrans, m, n, k, a, lda, b, ldb, beta, c, ldc)
}
