package gemm

import (
	"sync"
	"unsafe"
)

// An assembly holds the routines of matrix products in one set of vector instructions.
// The sets differ only in the width of a register.
type assembly struct {
	name  string
	rows  int  // largest number of rows of a tile
	lanes int  // float32 in a register; a strip of B is two registers wide
	masks bool // tiles write only the columns of their mask
	tiles
	// transpose writes the transposition of src, rows×cols at stride lds, to dst
	// at stride ldd. Rows and cols are positive multiples of lanes.
	transpose func(dst *float32, ldd int, src *float32, lds int, rows, cols int)
	// strips copies count whole strips of src, of this number of rows; strips of dst
	// begin between float32 apart. Rows and count are positive.
	strips func(dst *float32, between int, src *float32, lds int, rows, count int)
}

// A tile computes neighbouring tiles of C from k columns of A and k rows of a number of
// strips of B:
//
//	C[i,j] = fma(A[i,k−1], B[k−1,j], … fma(A[i,0], B[0,j], add ? C[i,j] : 0))
//
// Rows of A, B and C are lda, ldb and ldc float32 apart, strips of B between. Mask has a
// bit for every column that C has. K and strips are at least 1.
type tile func(k int, a *float32, lda int, b *float32, ldb, between int, keep *float32, keepBetween int,
	c *float32, ldc, strips int, mask uint32, add bool)

// tiles lists the tiles by number of rows: those as wide as half a strip, those as wide
// as a strip, and those that also copy the strip to keep, row by row.
type tiles struct{ half, whole, keep []tile }

// Packed blocks of operands. A block of A holds up to depth columns of its rows,
// packedStride apart, which is a little more than depth so that rows do not compete for
// the same lines of a cache. A block of B holds up to depth rows of its strips, strip by
// strip, row by row.
const (
	depth        = 256
	packedStride = depth + 16
)

// width returns the number of columns of a strip.
func (v *assembly) width() int { return 2 * v.lanes }

// stripSize returns the size of a packed strip of k rows.
func (v *assembly) stripSize(k int) int { return k * v.width() }

// A left holds k columns of rows of op(A), in place or packed.
type left struct {
	data []float32
	ld   int
}

// A right holds k rows of strips of op(B), in place or packed.
type right struct {
	data        []float32
	ld, between int // float32 from row to row and from strip to strip
	// keep, if not nil, receives whole strips when the first tiles read them. It already
	// holds the last, incomplete strip.
	keep []float32
}

// packed returns strips of k rows that packB has packed.
func (v *assembly) packed(strips []float32, k int) right {
	return right{data: strips, ld: v.width(), between: v.stripSize(k)}
}

// multiply writes the product of rows×k of A and k×cols of B to C, or adds it.
func (v *assembly) multiply(rows, cols, k int, a left, b right, c []float32, ldc int, add bool) {
	panels := ceil(rows, v.rows)
	for panel := range panels { // of nearly equal height
		i, end := panel*rows/panels, (panel+1)*rows/panels
		v.panel(end-i, cols, k, a.data[i*a.ld:], a.ld, b, c[i*ldc:], ldc, add)
		if b.keep != nil {
			b = v.packed(b.keep, k)
		}
	}
}

// panel is multiply for the rows of one tile.
func (v *assembly) panel(rows, cols, k int, a []float32, lda int, b right, c []float32, ldc int, add bool) {
	whole, edge := cols/v.width(), cols%v.width()
	switch {
	case whole == 0:
	case b.keep != nil:
		v.tiles.keep[rows](k, &a[0], lda, &b.data[0], b.ld, b.between, &b.keep[0], v.stripSize(k), &c[0],
			ldc, whole, ^uint32(0), add)
	default:
		v.tiles.whole[rows](k, &a[0], lda, &b.data[0], b.ld, b.between, nil, 0, &c[0], ldc, whole,
			^uint32(0), add)
	}
	if edge == 0 {
		return
	}
	if b.keep != nil {
		b = v.packed(b.keep, k)
	}
	strip := b.data[whole*b.between:]
	c = c[cols-edge:]
	run := v.tiles.whole[rows]
	if edge <= v.lanes {
		run = v.tiles.half[rows]
	}
	if v.masks || edge%v.lanes == 0 {
		run(k, &a[0], lda, &strip[0], b.ld, 0, nil, 0, &c[0], ldc, 1, uint32(1)<<edge-1, add)
	} else {
		v.aside(run, k, a, lda, strip, c, ldc, rows, edge, add)
	}
}

// aside computes a tile that is wider than C in a buffer.
func (v *assembly) aside(run tile, k int, a []float32, lda int, strip, c []float32, ldc, rows, cols int,
	add bool) {
	aside := asides.Get().(*[6 * 16]float32)
	defer asides.Put(aside)
	if add {
		for i := range rows {
			copy(aside[i*16:], c[i*ldc:][:cols])
		}
	}
	run(k, &a[0], lda, &strip[0], v.width(), 0, nil, 0, &aside[0], 16, 1, 0, add)
	for i := range rows {
		copy(c[i*ldc:][:cols], aside[i*16:])
	}
}

// asides are buffers of aside. A local array would be allocated in every call, since the
// compiler does not know which tile runs.
var asides = sync.Pool{New: func() any { return new([6 * 16]float32) }}

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

// packB packs k×cols of an operand, whose first element is x[0].
func (v *assembly) packB(dst []float32, x matrix, k, cols int) {
	v.packEdge(dst, x, k, cols)
	width, size := v.width(), v.stripSize(k)
	whole := cols / width
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

// packEdge packs the columns of an operand, k×cols, that follow its whole strips. Columns
// that the last strip has in addition become 0.
func (v *assembly) packEdge(dst []float32, x matrix, k, cols int) {
	width := v.width()
	edge := cols % width
	if edge == 0 {
		return
	}
	strip := dst[cols/width*v.stripSize(k):][:k*width]
	clear(strip)
	x = x.from(0, cols-edge)
	if x.transposed {
		v.transposeTo(strip, width, x.data, x.ld, edge, k)
		return
	}
	for l := range k {
		copy(strip[l*width:], x.data[l*x.ld:][:edge])
	}
}

// A matrix is an operand op(X) of Gemm.
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

// aligned returns n float32 that start at a cache line.
func aligned(n int) []float32 {
	const line = 16 // float32
	x := make([]float32, n+line-1)
	past := int(uintptr(unsafe.Pointer(unsafe.SliceData(x))) / 4 % line)
	return x[(line-past)%line:][:n]
}
