package table

import "tandem/algo/numeric/isa"

// gather copies the embeddings of the rows [lo, hi) of a chunk, which all exist, to dst,
// and prefetches the same positions of the chunks behind.
func (t *Table) gather(dst []float32, c *chunk, lo, hi int) {
	if lo == hi {
		return
	}
	v := t.view()
	if c.behind(hi) {
		v.nextRows, v.nextGroups = &c.nextPlaces[lo], &c.groupPlaces[lo]
		v.from, v.to = uint64(c.from), uint64(c.to)
	} else {
		t.ahead(c, lo, hi)
	}
	t.copyRows(&v, dst, c.rows[lo:hi])
}

// copyRows copies the embeddings of rows, and prefetches what the view says.
func (t *Table) copyRows(v *view, dst []float32, rows []int32) {
	dim := t.config.Dim
	_ = dst[len(rows)*dim-1]
	from, n, to := &rows[0], len(rows), &dst[0]
	switch p, wide := t.config.Precision, t.set == isa.AVX512; {
	case t.set == isa.Portable:
		for i, row := range rows {
			t.read(dst[i*dim:(i+1)*dim], int(row))
		}
	case p == FP32 && wide:
		gatherFP32AVX512(v, from, n, to, dim)
	case p == FP32:
		gatherFP32AVX2(v, from, n, to, dim)
	case p == BF16 && wide:
		gatherBF16AVX512(v, from, n, to, dim)
	case p == BF16:
		gatherBF16AVX2(v, from, n, to, dim)
	case wide:
		gatherFP16AVX512(v, from, n, to, dim)
	default:
		gatherFP16AVX2(v, from, n, to, dim)
	}
}
