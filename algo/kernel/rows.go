package kernel

import (
	"math"

	"gonum.org/v1/gonum/blas/gonum"
)

// Axpy adds a multiple of one vector to another:
//
//	dst[i] += alpha·x[i]
//
// Dst and x have equal length and may not overlap, except that they may be the
// same slice. With alpha = 0, dst stays as it is, even where x is NaN.
// It panics if the lengths differ. Cost: 2·len(x) operations, no allocation.
//
// Source: level 1 BLAS.
func Axpy(dst []float32, alpha float32, x []float32) {
	checkSame("x", len(x), len(dst))
	gonum.Implementation{}.Saxpy(len(x), alpha, x, 1, dst, 1)
}

// Add adds a vector, dst[i] += x[i]. It is Axpy with alpha = 1; merging the
// gradients of one row is its main use.
func Add(dst, x []float32) { Axpy(dst, 1, x) }

// AddBias adds one row to every row of a matrix:
//
//	x[i,j] += bias[j]
//
// X is rows×cols, bias has length cols; they may not overlap. Rows and cols may
// be 0. It panics if a slice is too short. Cost: rows·cols additions.
func AddBias(x []float32, rows, cols int, bias []float32) {
	checkLen("x", len(x), rows*cols)
	checkLen("bias", len(bias), cols)
	bias = bias[:cols]
	for i := range rows {
		row := x[i*cols:][:cols]
		for j, b := range bias {
			row[j] += b
		}
	}
}

// ColumnSums sums the rows of a matrix, which is the backward pass of AddBias:
//
//	dst[j] = Σ_i x[i,j]
//
// X is rows×cols, dst has length cols and is overwritten; they may not overlap.
// Sums run in ascending i in float32; with rows = 0 they are 0. It panics if a
// slice is too short. Cost: rows·cols additions.
func ColumnSums(dst, x []float32, rows, cols int) {
	checkLen("x", len(x), rows*cols)
	checkLen("dst", len(dst), cols)
	dst = dst[:cols]
	clear(dst)
	for i := range rows {
		for j, v := range x[i*cols:][:cols] {
			dst[j] += v
		}
	}
}

// CopyColumns copies a band of columns between matrices of different width,
// which joins tower outputs and splits their gradients:
//
//	dst[i·dstCols + dstFirst + j] = src[i·srcCols + srcFirst + j],  j < cols
//
// for the rows i of both. Dst is rows×dstCols, src rows×srcCols; they may not
// overlap. It panics if a band does not fit. Cost: rows·cols copies.
func CopyColumns(dst []float32, dstCols, dstFirst int, src []float32, srcCols, srcFirst, rows, cols int) {
	checkLen("dst", len(dst), rows*dstCols)
	checkLen("src", len(src), rows*srcCols)
	for i := range rows {
		to := dst[i*dstCols : (i+1)*dstCols]
		from := src[i*srcCols : (i+1)*srcCols]
		copy(to[dstFirst:dstFirst+cols], from[srcFirst:srcFirst+cols])
	}
}

// Finite reports whether x holds neither NaN nor an infinity. Cost: one test a
// value, up to the first that is not finite.
func Finite(x []float32) bool {
	const exponent = 0x7f800000 // all ones: NaN or infinity
	for _, v := range x {
		if math.Float32bits(v)&exponent == exponent {
			return false
		}
	}
	return true
}
