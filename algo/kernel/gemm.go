package kernel

import (
	"fmt"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// Block sizes of Gemm. A block of B (blockDepth × blockCols, 32 KiB) stays in
// the first-level cache while blockRows rows of A pass over it. Gonum's Sgemm
// starts goroutines from four 64 × 64 blocks of C on; ours hold two.
const (
	blockRows  = 64
	blockCols  = 128
	blockDepth = 64
)

// Gemm computes the matrix product
//
//	C = op(A)·op(B) + beta·C,   op(X) = X or Xᵀ
//
// Shapes: op(A) is m×k, op(B) is k×n, C is m×n, all row-major. A is stored as
// m×k, or as k×m if transA; B as k×n, or as n×k if transB. Lda, ldb and ldc are
// the distances between the starts of neighbouring stored rows, at least the
// stored row's length. M, n and k may be 0: with k = 0, C becomes beta·C. With
// beta = 0, C is overwritten whatever it held, NaN included. C must not overlap
// A or B.
//
// Element (i, j) of C is the sum, in ascending l and rounded to float32 after
// every operation, of beta·C[i,j] and the A[i,l]·B[l,j]; that is, the
// bits of GemmScalar, up to the sign of a zero. A term whose A[i,l] is 0
// may be skipped, so a NaN or Inf in B that meets only zeros of A may not show.
//
// It panics if a size is negative, a stride or a slice too short.
//
// Cost: 2·m·n·k floating-point operations; no allocation, no goroutine.
//
// Source: level 3 BLAS (Dongarra, Du Croz, Hammarling, Duff, TOMS 16, 1990).
// The product is gonum's Sgemm on blocks, except A·Bᵀ: gonum computes that with
// a dot product whose order of summation depends on the alignment of B in
// memory, so that equal runs could differ in bits.
func Gemm(transA, transB bool, m, n, k int, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	checkGemm(transA, transB, m, n, k, a, lda, b, ldb, c, ldc)
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
	for j := 0; j < n; j += blockCols {
		cols := min(blockCols, n-j)
		for l := 0; l < k; l += blockDepth {
			depth := min(blockDepth, k-l)
			for i := 0; i < m; i += blockRows {
				rows := min(blockRows, m-i)
				gonum.Implementation{}.Sgemm(opA, opB, rows, cols, depth,
					1, a[at(transA, i, l, lda):], lda,
					b[at(transB, l, j, ldb):], ldb,
					1, c[i*ldc+j:], ldc)
			}
		}
	}
}

// at returns the offset of element (i, j) of op(X) in X.
func at(transposed bool, i, j, ld int) int {
	if transposed {
		return j*ld + i
	}
	return i*ld + j
}

// GemmScalar is Gemm written as its definition: the readable reference that
// the tests hold Gemm to. Arguments, result and panics are those of Gemm.
func GemmScalar(transA, transB bool, m, n, k int, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	checkGemm(transA, transB, m, n, k, a, lda, b, ldb, c, ldc)
	scaleRows(m, n, beta, c, ldc)
	for i := range m {
		for j := range n {
			sum := c[i*ldc+j]
			for l := range k {
				x := a[at(transA, i, l, lda)]
				if x != 0 {
					sum += float32(x * b[at(transB, l, j, ldb)])
				}
			}
			c[i*ldc+j] = sum
		}
	}
}

// scaleRows multiplies the m×n matrix C by beta.
func scaleRows(m, n int, beta float32, c []float32, ldc int) {
	if beta == 1 {
		return
	}
	for i := range m {
		row := c[i*ldc : i*ldc+n]
		if beta == 0 {
			clear(row)
			continue
		}
		for j := range row {
			row[j] *= beta
		}
	}
}

// checkGemm panics unless the arguments of Gemm fit together.
func checkGemm(transA, transB bool, m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int) {
	if m < 0 || n < 0 || k < 0 {
		panic(fmt.Sprintf("kernel: gemm of size m=%d, n=%d, k=%d, want none negative", m, n, k))
	}
	if transA {
		checkMatrix("a", k, m, a, lda)
	} else {
		checkMatrix("a", m, k, a, lda)
	}
	if transB {
		checkMatrix("b", n, k, b, ldb)
	} else {
		checkMatrix("b", k, n, b, ldb)
	}
	checkMatrix("c", m, n, c, ldc)
}

// checkMatrix panics unless x can hold rows×cols elements at stride ld.
func checkMatrix(name string, rows, cols int, x []float32, ld int) {
	if rows == 0 || cols == 0 {
		return
	}
	if ld < cols {
		panic(fmt.Sprintf("kernel: ld%s = %d, want at least %d", name, ld, cols))
	}
	checkLen(name, len(x), (rows-1)*ld+cols)
}
