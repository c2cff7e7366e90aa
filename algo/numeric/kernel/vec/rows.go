package vec

import "tandem/algo/numeric/kernel/internal/shape"

// AddBias adds one row to every row of a matrix:
//
//	x[i,j] += bias[j]
//
// X is rows×cols, bias has length cols; they may not overlap. Rows and cols may
// be 0. It panics if a slice is too short. Cost: rows·cols additions.
func AddBias(x []float32, rows, cols int, bias []float32) {
	shape.AtLeast("x", len(x), rows*cols)
	shape.AtLeast("bias", len(bias), cols)
	active.addBias(rows, cols, cols, x, bias)
}

func addBias(rows, cols, stride int, x, bias []float32) {
	bias = bias[:cols]
	for i := range rows {
		row := x[i*stride:][:cols]
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
	shape.AtLeast("x", len(x), rows*cols)
	shape.AtLeast("dst", len(dst), cols)
	clear(dst[:cols])
	active.columnSum(rows, cols, cols, dst, x)
}

func columnSum(rows, cols, stride int, sum, x []float32) {
	sum = sum[:cols]
	for i := range rows {
		for j, v := range x[i*stride:][:cols] {
			sum[j] += v
		}
	}
}

// CopyColumns copies a band of columns between matrices of different width,
// which joins the outputs of towers and splits their gradients:
//
//	dst[i·dstCols + dstFirst + j] = src[i·srcCols + srcFirst + j],  j < cols
//
// for the rows i of both. Dst is rows×dstCols, src rows×srcCols; they may not
// overlap. It panics if a band does not fit. Cost: rows·cols copies.
func CopyColumns(dst []float32, dstCols, dstFirst int, src []float32, srcCols, srcFirst, rows, cols int) {
	checkColumns(dst, dstCols, dstFirst, src, srcCols, srcFirst, rows, cols)
	if rows > 0 {
		active.copyRows(rows, cols, dstCols, srcCols, dst[dstFirst:], src[srcFirst:])
	}
}

func copyRows(rows, cols, stride, other int, dst, src []float32) {
	for i := range rows {
		copy(dst[i*stride:][:cols], src[i*other:])
	}
}

// AddColumns adds a band of columns to another. Its arguments are those of CopyColumns.
func AddColumns(dst []float32, dstCols, dstFirst int, src []float32, srcCols, srcFirst, rows, cols int) {
	checkColumns(dst, dstCols, dstFirst, src, srcCols, srcFirst, rows, cols)
	if rows > 0 {
		active.addRows(rows, cols, dstCols, srcCols, dst[dstFirst:], src[srcFirst:])
	}
}

func addRows(rows, cols, stride, other int, dst, src []float32) {
	for i := range rows {
		to := dst[i*stride:][:cols]
		for j, v := range src[i*other:][:cols] {
			to[j] += v
		}
	}
}

// checkColumns panics unless both matrices have their rows and the band.
func checkColumns(dst []float32, dstCols, dstFirst int, src []float32, srcCols, srcFirst, rows, cols int) {
	shape.AtLeast("dst", len(dst), rows*dstCols)
	shape.AtLeast("src", len(src), rows*srcCols)
	shape.AtLeast("row of dst", dstCols, dstFirst+cols)
	shape.AtLeast("row of src", srcCols, srcFirst+cols)
}
