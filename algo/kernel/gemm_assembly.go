package kernel

import (
	"unsafe"

	"tandem/algo/isa"
)

// An assembly holds the routines of matrix products in one set of vector
// instructions, which differ in the width of a register only.
type assembly struct {
	name  string
	rows  int  // most rows of a tile
	lanes int  // float32 in a register; a strip of B is two registers wide
	masks bool // tiles write only the columns of their mask
	// tiles are the products by number of registers less one (half a strip, a
	// strip) and by number of rows.
	tiles [2][]tile
	// transpose writes the transposition of src, rows×cols at stride lds, to dst
	// at stride ldd. Rows and cols are positive multiples of lanes.
	transpose func(dst *float32, ldd int, src *float32, lds int, rows, cols int)
	// strips copies count whole strips of so many rows of src; strips of dst begin
	// so many float32 after another. Rows and count are positive.
	strips func(dst *float32, between int, src *float32, lds int, rows, count int)
	// bareLoop does bareSums multiply-adds of a register in each turn.
	bareLoop func(turns int)
}

const bareSums = 12

// BareLoop multiplies and adds in registers alone, as fast as one core can, for
// so many turns of a few nanoseconds, and returns the number of operations: what
// the speed of products is a share of. It returns 0 for a set without assembly.
func BareLoop(set isa.Set, turns int) (flops float64) {
	v := assemblyOf(set)
	if v == nil || turns < 1 {
		return 0
	}
	v.bareLoop(turns)
	return 2 * bareSums * float64(v.lanes) * float64(turns)
}

// A tile adds to a tile of C the product of k columns of packed A (rows at
// packedStride) and k rows of a strip of B, or overwrites it unless add:
//
//	C[i,j] = fma(A[i,k−1], B[k−1,j], … fma(A[i,0], B[0,j], add ? C[i,j] : 0))
//
// Mask has a bit for every column of C that there is. K is at least 1.
type tile func(k int, a, b, c *float32, ldc int, mask uint32, add bool)

// Packed blocks of operands. A block of A is up to depth columns of its rows,
// at packedStride, which is a little more than depth, lest rows compete for the
// same lines of a cache. A block of B is up to depth rows of its strips, one
// strip, row after row, behind the other.
const (
	depth        = 256
	packedStride = depth + 16
)

// width returns the number of columns of a strip.
func (v *assembly) width() int { return 2 * v.lanes }

// stripSize returns the distance between packed strips.
func (v *assembly) stripSize() int { return depth * v.width() }

// multiply adds to C, or overwrites it with, the product of packed A, rows×k,
// and packed strips of B, of which there are cols columns.
func (v *assembly) multiply(rows, cols, k int, a, b, c []float32, ldc int, add bool) {
	panels := (rows + v.rows - 1) / v.rows
	for j := 0; j < cols; j += v.width() {
		strip := b[j/v.width()*v.stripSize():]
		wide := min(v.width(), cols-j)
		tiles := v.tiles[(wide-1)/v.lanes]
		mask := uint32(1)<<wide - 1
		for panel := range panels { // of nearly equal height
			i, end := panel*rows/panels, (panel+1)*rows/panels
			run := tiles[end-i]
			if v.masks || wide%v.lanes == 0 {
				run(k, &a[i*packedStride], &strip[0], &c[i*ldc+j], ldc, mask, add)
			} else {
				v.multiplyEdge(run, k, a[i*packedStride:], strip, c[i*ldc+j:], ldc, end-i, wide, add)
			}
		}
	}
}

// multiplyEdge is a tile for which C has too few columns: it is computed aside.
func (v *assembly) multiplyEdge(run tile, k int, a, b, c []float32, ldc, rows, cols int, add bool) {
	var aside [6 * 16]float32
	if add {
		for i := range rows {
			copy(aside[i*16:], c[i*ldc:][:cols])
		}
	}
	run(k, &a[0], &b[0], &aside[0], 16, 0, add)
	for i := range rows {
		copy(c[i*ldc:][:cols], aside[i*16:])
	}
}

// transposeTo writes the transposition of src, rows×cols, to dst.
func (v *assembly) transposeTo(dst []float32, ldd int, src []float32, lds, rows, cols int) {
	wholeRows, wholeCols := rows-rows%v.lanes, cols-cols%v.lanes
	if wholeRows > 0 && wholeCols > 0 {
		v.transpose(&dst[0], ldd, &src[0], lds, wholeRows, wholeCols)
	}
	for i := range rows {
		from := wholeCols
		if i >= wholeRows {
			from = 0
		}
		for j := from; j < cols; j++ {
			dst[j*ldd+i] = src[i*lds+j]
		}
	}
}

// packA packs rows×k of an operand, whose first element is x[0].
func (v *assembly) packA(dst []float32, x matrix, rows, k int) {
	if x.transposed {
		v.transposeTo(dst, packedStride, x.data, x.ld, k, rows)
		return
	}
	for i := range rows {
		copy(dst[i*packedStride:][:k], x.data[i*x.ld:])
	}
}

// packB packs k×cols of an operand, whose first element is x[0]. The columns
// that the last strip has too many become 0.
func (v *assembly) packB(dst []float32, x matrix, k, cols int) {
	width, size := v.width(), v.stripSize()
	whole := cols / width
	if edge := cols % width; edge > 0 {
		strip := dst[whole*size:][:k*width]
		clear(strip)
		if x := x.from(0, whole*width); x.transposed {
			v.transposeTo(strip, width, x.data, x.ld, edge, k)
		} else {
			for l := range k {
				copy(strip[l*width:], x.data[l*x.ld:][:edge])
			}
		}
	}
	if whole == 0 {
		return
	}
	if !x.transposed {
		v.strips(&dst[0], size, &x.data[0], x.ld, k, whole)
		return
	}
	for strip := range whole {
		v.transposeTo(dst[strip*size:], width, x.data[strip*width*x.ld:], x.ld, width, k)
	}
}

// A matrix is an operand op(X) as Gemm is given it.
type matrix struct {
	data       []float32
	ld         int
	transposed bool
}

// from returns the matrix without its first i rows and j columns.
func (x matrix) from(i, j int) matrix {
	x.data = x.data[at(x.transposed, i, j, x.ld):]
	return x
}

// aligned returns n float32 that begin with a line of the cache.
func aligned(n int) []float32 {
	const line = 16 // float32
	x := make([]float32, n+line-1)
	past := int(uintptr(unsafe.Pointer(unsafe.SliceData(x))) / 4 % line)
	return x[(line-past)%line:][:n]
}
