package kernel

import (
	"math"
	"unsafe"
)

// Axpy adds a multiple of one vector to another:
//
//	dst[i] += alpha·x[i]
//
// Dst and x have equal length and may not overlap, except that they may be the
// same slice. It panics if the lengths differ. Cost: 2·len(x) operations, no
// allocation.
//
// Source: level 1 BLAS.
func Axpy(dst []float32, alpha float32, x []float32) {
	checkSame("x", len(x), len(dst))
	if vectors(len(dst)) {
		axpyVector(1, len(dst), 0, &dst[0], &x[0], alpha)
		return
	}
	for i, v := range x {
		dst[i] += float32(alpha * v)
	}
}

// Add adds a vector, dst[i] += x[i]; the rules are those of Axpy.
func Add(dst, x []float32) {
	checkSame("x", len(x), len(dst))
	if vectors(len(dst)) {
		addVector(1, len(dst), 0, &dst[0], &x[0])
		return
	}
	for i, v := range x {
		dst[i] += v
	}
}

// AddFour adds four vectors in pairs, a = (a+b) + (c+d), in one pass; AddEight
// adds eight, a = ((a+b)+(c+d)) + ((e+f)+(g+h)). All have equal length and may not
// overlap; they panic otherwise.
func AddFour(a, b, c, d []float32) {
	checkSame("b", len(b), len(a))
	checkSame("c", len(c), len(a))
	checkSame("d", len(d), len(a))
	if vectors(len(a)) {
		sumFourVector(1, len(a), 0, &a[0], &b[0], &c[0], &d[0])
		return
	}
	for i := range a {
		a[i] = (a[i] + b[i]) + (c[i] + d[i])
	}
}

// AddEight is described at AddFour.
func AddEight(a, b, c, d, e, f, g, h []float32) {
	for _, x := range [...][]float32{b, c, d, e, f, g, h} {
		checkSame("vector", len(x), len(a))
	}
	if vectors(len(a)) {
		sumEightVector(1, len(a), 0, &a[0], &b[0], &c[0], &d[0], &e[0], &f[0], &g[0], &h[0])
		return
	}
	for i := range a {
		a[i] = ((a[i] + b[i]) + (c[i] + d[i])) + ((e[i] + f[i]) + (g[i] + h[i]))
	}
}

// Scale multiplies a vector by a factor, x[i] *= factor.
func Scale(x []float32, factor float32) {
	if vectors(len(x)) {
		scaleVector(1, len(x), 0, &x[0], factor)
		return
	}
	for i := range x {
		x[i] *= factor
	}
}

// Divide divides a vector, x[i] /= divisor, which makes a mean of a sum. Its
// rounding is that of the division, not that of a product with the inverse.
func Divide(x []float32, divisor float32) {
	if vectors(len(x)) {
		divideVector(1, len(x), 0, &x[0], divisor)
		return
	}
	for i := range x {
		x[i] /= divisor
	}
}

// AddBias adds one row to every row of a matrix:
//
//	x[i,j] += bias[j]
//
// X is rows×cols, bias has length cols; they may not overlap. Rows and cols may
// be 0. It panics if a slice is too short. Cost: rows·cols additions.
func AddBias(x []float32, rows, cols int, bias []float32) {
	checkLen("x", len(x), rows*cols)
	checkLen("bias", len(bias), cols)
	if vectors(rows * cols) {
		addBiasVector(rows, cols, cols, &x[0], &bias[0])
		return
	}
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
	if vectors(rows * cols) {
		columnSumVector(rows, cols, cols, &dst[0], &x[0])
		return
	}
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
	checkColumns(dst, dstCols, dstFirst, src, srcCols, srcFirst, rows, cols)
	if vectors(rows * cols) {
		copyRowsVector(rows, cols, dstCols, srcCols, &dst[dstFirst], &src[srcFirst])
		return
	}
	for i := range rows {
		copy(dst[i*dstCols+dstFirst:][:cols], src[i*srcCols+srcFirst:])
	}
}

// AddColumns is CopyColumns that adds to what is in dst.
func AddColumns(dst []float32, dstCols, dstFirst int, src []float32, srcCols, srcFirst, rows, cols int) {
	checkColumns(dst, dstCols, dstFirst, src, srcCols, srcFirst, rows, cols)
	if vectors(rows * cols) {
		addRowsVector(rows, cols, dstCols, srcCols, &dst[dstFirst], &src[srcFirst])
		return
	}
	for i := range rows {
		to := dst[i*dstCols+dstFirst:]
		for j, v := range src[i*srcCols+srcFirst:][:cols] {
			to[j] += v
		}
	}
}

// checkColumns panics unless both matrices have their rows and the band.
func checkColumns(dst []float32, dstCols, dstFirst int, src []float32, srcCols, srcFirst, rows, cols int) {
	checkLen("dst", len(dst), rows*dstCols)
	checkLen("src", len(src), rows*srcCols)
	checkLen("row of dst", dstCols, dstFirst+cols)
	checkLen("row of src", srcCols, srcFirst+cols)
}

// blockOfChecks is the number of values that Finite looks at before it tells.
const blockOfChecks = 1 << 14

// Finite reports whether x holds neither NaN nor an infinity. Cost: one test a
// value, up to the first block that has one that is not finite.
func Finite(x []float32) bool {
	for ; len(x) > blockOfChecks; x = x[blockOfChecks:] {
		if largestExponent(x[:blockOfChecks]) == exponentBits {
			return false
		}
	}
	return largestExponent(x) != exponentBits
}

// exponentBits are the bits of a float32's exponent, all of which are set in NaN
// and the infinities.
const exponentBits = 0x7f800000

// largestExponent returns the largest exponent in x, in place.
func largestExponent(x []float32) (largest uint32) {
	if !vectors(len(x)) {
		for _, v := range x {
			largest = max(largest, math.Float32bits(v)&exponentBits)
		}
		return largest
	}
	const cols = 64
	// The columns are loaded and stored in turn: at the begin of a cache line, wherever the stack is.
	var room [cols + 15]float32
	columns := room[-int(uintptr(unsafe.Pointer(&room[0]))/4)&15:][:cols]
	inf := math.Float32frombits(exponentBits)
	if rows := len(x) / cols; rows > 0 {
		largestExponentVector(rows, cols, cols, &columns[0], &x[0], inf)
		x = x[rows*cols:]
	}
	if len(x) > 0 {
		largestExponentVector(1, len(x), 0, &columns[0], &x[0], inf)
	}
	for _, v := range columns {
		largest = max(largest, math.Float32bits(v))
	}
	return largest
}

// squareSums is the number of sums that SumSquares has.
const squareSums = 64

// SumSquares returns the sum of the squares of a vector in float64, in a fixed
// order: 64 sums of which number k takes the elements i ≡ k (mod 64) in ascending i,
// added up in ascending k. Cost: 2 operations an element.
func SumSquares(x []float32) (sum float64) {
	var sums [squareSums]float64
	if vectors(len(x)) {
		if rows := len(x) / squareSums; rows > 0 {
			squaresVector(rows, squareSums, squareSums, &sums[0], &x[0])
			x = x[rows*squareSums:]
		}
		if len(x) > 0 {
			squaresVector(1, len(x), 0, &sums[0], &x[0])
		}
	} else {
		for i, v := range x {
			sums[i%squareSums] += float64(float64(v) * float64(v))
		}
	}
	for _, s := range sums {
		sum += s
	}
	return sum
}
