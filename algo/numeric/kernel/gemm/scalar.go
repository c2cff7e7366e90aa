package gemm

import (
	"fmt"
	"math"

	"tandem/algo/numeric/kernel/internal/shape"
)

// at returns the offset of element (i, j) of op(X) in X.
func at(transposed bool, i, j, ld int) int {
	if transposed {
		return j*ld + i
	}
	return i*ld + j
}

// Scalar computes a product by its definition. It is the readable reference with which
// tests compare the assembly: same bits, and the arguments and panics of Products.Gemm.
func Scalar(transA, transB bool, m, n, k int, a []float32, lda int, b []float32, ldb int, beta float32,
	c []float32, ldc int) {
	Check(transA, transB, m, n, k, a, lda, b, ldb, c, ldc)
	scaleRows(m, n, beta, c, ldc)
	for i := range m {
		for j := range n {
			sum := c[i*ldc+j]
			for l := range k {
				sum = fusedMultiplyAdd(a[at(transA, i, l, lda)], b[at(transB, l, j, ldb)], sum)
			}
			c[i*ldc+j] = sum
		}
	}
}

// fusedMultiplyAdd returns x·y + z, rounded once.
//
// The product is exact in float64, whose sum with z may need more bits than it
// has. That sum is rounded to odd: if inexact, to the neighbour whose last bit is
// 1. Rounding it to float32, which has less than half the bits, then gives what
// rounding the exact sum would.
//
// Source: Boldo, Melquiond, Emulation of a FMA and correctly rounded sums: proved
// algorithms using rounding to odd, IEEE Transactions on Computers 57 (2008).
func fusedMultiplyAdd(x, y, z float32) float32 {
	product, addend := float64(float64(x)*float64(y)), float64(z)
	sum := product + addend
	// The rounding error, after Knuth; NaN if the sum is not finite.
	back := sum - product
	lost := (product - (sum - back)) + (addend - back)
	if bits := math.Float64bits(sum); lost != 0 && lost == lost && bits&1 == 0 {
		if lost > 0 == (sum > 0) {
			bits++ // away from 0
		} else {
			bits--
		}
		sum = math.Float64frombits(bits)
	}
	return float32(sum)
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

// Check panics with both sizes unless the arguments of Products.Gemm fit together: for
// Products that pass the slices to code that knows no lengths.
func Check(transA, transB bool, m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32,
	ldc int) {
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
	shape.AtLeast(name, len(x), (rows-1)*ld+cols)
}
