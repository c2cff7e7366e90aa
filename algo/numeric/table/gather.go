package table

import (
	"unsafe"

	"tandem/algo/numeric/isa"
)

// gather copies the embeddings of the rows [lo, hi) of a chunk, which all exist, to dst,
// and prefetches the groups of the same positions of the last chunk in progress.
func (t *Table) gather(dst []float32, c *chunk, lo, hi int) {
	if lo == hi {
		return
	}
	dim, rows := t.config.Dim, c.rows[lo:hi]
	_ = dst[len(rows)*dim-1]
	groupPlaces := &c.groupPlaces[lo]
	if hi > c.groups { // near the end of the batch
		groupPlaces = nil
		t.askAll(c, lo)
	}
	t.copyRows(dst, rows, groupPlaces)
}

// copyRows copies the embeddings of rows, and prefetches one place of the list for
// every row, unless the list is nil.
func (t *Table) copyRows(dst []float32, rows []int32, groupPlaces *unsafe.Pointer) {
	dim := t.config.Dim
	v := t.view()
	from, n, to := &rows[0], len(rows), &dst[0]
	switch p, wide := t.config.Precision, t.set == isa.AVX512; {
	case t.set == isa.Portable:
		for i, row := range rows {
			t.read(dst[i*dim:(i+1)*dim], int(row))
		}
	case p == FP32 && wide:
		gatherFP32AVX512(&v, from, n, to, dim, groupPlaces)
	case p == FP32:
		gatherFP32AVX2(&v, from, n, to, dim, groupPlaces)
	case p == BF16 && wide:
		gatherBF16AVX512(&v, from, n, to, dim, groupPlaces)
	case p == BF16:
		gatherBF16AVX2(&v, from, n, to, dim, groupPlaces)
	case wide:
		gatherFP16AVX512(&v, from, n, to, dim, groupPlaces)
	default:
		gatherFP16AVX2(&v, from, n, to, dim, groupPlaces)
	}
}
