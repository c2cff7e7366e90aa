package gemm

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// Block sizes of portable products. A block of B (gonumDepth × gonumCols, 32 KiB) stays in
// the first-level cache while gonumRows rows of A pass over it. Gonum's Sgemm
// starts goroutines from four 64 × 64 blocks of C on; these hold two.
const (
	gonumRows  = 64
	gonumCols  = 128
	gonumDepth = 64
)

// portable computes the built-in products without assembly: by gonum's Sgemm on blocks,
// except A·Bᵀ. The order of summation of gonum's A·Bᵀ depends on the alignment of B in
// memory, so that equal runs could differ in bits.
//
// Every operation rounds. Where the Go compiler fuses a product with its addition, as on
// arm64, gonum's loops round the two together. A term whose A[i,l]
// is 0 may be skipped, so a NaN or Inf in B that meets only zeros of A may not show.
//
// Cost: no allocation. It does not use the pool: it is a reference, not meant for
// training.
type portable struct{}

// Name implements Products.
func (portable) Name() string { return "built-in kernels, portable Go (gonum blas32)" }

// Gemm implements Products.
func (portable) Gemm(transA, transB bool, m, n, k int, a []float32, lda int, b []float32, ldb int,
	beta float32, c []float32, ldc int) {
	Check(transA, transB, m, n, k, a, lda, b, ldb, c, ldc)
	scaleRows(m, n, beta, c, ldc)
	if m == 0 || n == 0 || k == 0 {
		return
	}
	if !transA && transB {
		gemmDot(m, n, k, a, lda, b, ldb, c, ldc)
		return
	}
	opA, opB := blas.NoTrans, blas.NoTrans
	if transA {
		opA = blas.Trans
	}
	if transB {
		opB = blas.Trans
	}
	for j := 0; j < n; j += gonumCols {
		cols := min(gonumCols, n-j)
		for l := 0; l < k; l += gonumDepth {
			depth := min(gonumDepth, k-l)
			for i := 0; i < m; i += gonumRows {
				rows := min(gonumRows, m-i)
				gonum.Implementation{}.Sgemm(opA, opB, rows, cols, depth,
					1, a[at(transA, i, l, lda):], lda,
					b[at(transB, l, j, ldb):], ldb,
					1, c[i*ldc+j:], ldc)
			}
		}
	}
}
