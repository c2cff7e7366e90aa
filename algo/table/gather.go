package table

import (
	"unsafe"

	"tandem/algo/isa"
)

// gather copies the embeddings of rows, all of which exist, to dst.
func (t *Table) gather(dst []float32, rows []int32) {
	if len(rows) == 0 {
		return
	}
	dim := t.config.Dim
	_ = dst[len(rows)*dim-1]
	v := view{slabs: unsafe.SliceData(t.slabs), slabShift: uint64(t.slabShift), rowBytes: uint64(t.rowBytes)}
	switch t.set {
	case isa.AVX512:
		gatherAVX512(&v, &rows[0], len(rows), &dst[0], dim)
	case isa.AVX2:
		gatherAVX2(&v, &rows[0], len(rows), &dst[0], dim)
	default:
		for i, row := range rows {
			_, values := t.row(int(row))
			copy(dst[i*dim:(i+1)*dim], values)
		}
	}
}
