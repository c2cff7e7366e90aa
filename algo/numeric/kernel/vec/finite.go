package vec

import (
	"math"
	"unsafe"

	"tandem/algo/numeric/internal/stack"
)

// finiteBlock is the number of values that Finite checks at a time.
const finiteBlock = 1 << 14

// Finite reports whether x holds neither NaN nor an infinity. Cost: one test a
// value, up to the end of the first block with a value that is not finite.
func Finite(x []float32) bool {
	for ; len(x) > finiteBlock; x = x[finiteBlock:] {
		if maxExponent(x[:finiteBlock]) == exponentBits {
			return false
		}
	}
	return maxExponent(x) != exponentBits
}

// exponentBits are the bits of a float32's exponent, all of which are set in NaN
// and the infinities.
const exponentBits = 0x7f800000

// maxExponent returns the largest exponent in x, in its place.
func maxExponent(x []float32) (largest uint32) {
	const cols = 64
	// The columns are loaded and stored in turn: at the start of a cache line, wherever the stack is.
	var room [cols + 15]float32
	columns := stack.Slice(room[-int(uintptr(unsafe.Pointer(&room[0]))/4)&15:][:cols])
	mask := math.Float32frombits(exponentBits)
	rows := len(x) / cols
	active.largestExponent(rows, cols, cols, columns, x, mask)
	rest := x[rows*cols:]
	active.largestExponent(1, len(rest), 0, columns, rest, mask)
	for _, v := range columns {
		largest = max(largest, math.Float32bits(v))
	}
	return largest
}

func largestExponent(rows, cols, stride int, largest, x []float32, exponent float32) {
	largest = largest[:cols]
	for i := range rows {
		for j, v := range x[i*stride:][:cols] {
			bits := math.Float32bits(v) & math.Float32bits(exponent)
			largest[j] = math.Float32frombits(max(math.Float32bits(largest[j]), bits))
		}
	}
}

// squareSums is the number of sums that SumSquares has.
const squareSums = 64

// SumSquares returns the sum of the squares of a vector in float64, in a fixed
// order: of 64 sums, number k adds the elements i ≡ k (mod 64) in ascending i, and the
// sums are added in ascending k. Cost: 2 operations an element.
func SumSquares(x []float32) (sum float64) {
	var room [squareSums]float64
	sums := stack.Slice(room[:])
	rows := len(x) / squareSums
	active.squares(rows, squareSums, squareSums, sums, x)
	rest := x[rows*squareSums:]
	active.squares(1, len(rest), 0, sums, rest)
	for _, s := range sums {
		sum += s
	}
	return sum
}

func squares(rows, cols, stride int, sum []float64, x []float32) {
	sum = sum[:cols]
	for i := range rows {
		for j, v := range x[i*stride:][:cols] {
			sum[j] += float64(float64(v) * float64(v))
		}
	}
}
