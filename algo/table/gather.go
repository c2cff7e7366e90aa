package table

import "tandem/algo/isa"

// gather copies the embeddings of those rows of a chunk from lo to hi, all of
// which exist, to dst, and asks for what is as far on in the chunks behind.
func (t *Table) gather(dst []float32, c *chunk, lo, hi int) {
	if lo == hi {
		return
	}
	dim, rows := t.config.Dim, c.rows[lo:hi]
	_ = dst[len(rows)*dim-1]
	nextPlaces, groupPlaces := &c.nextPlaces[lo], &c.groupPlaces[lo]
	if !c.behind(hi) { // near the end of the batch
		nextPlaces, groupPlaces = nil, nil
		for i := lo; i < hi; i++ {
			t.ahead(c, i, headerBytes+4*dim)
		}
	}
	switch v := t.view(); t.set {
	case isa.AVX512:
		gatherAVX512(&v, &rows[0], len(rows), &dst[0], dim, nextPlaces, groupPlaces)
	case isa.AVX2:
		gatherAVX2(&v, &rows[0], len(rows), &dst[0], dim, nextPlaces, groupPlaces)
	default:
		for i, row := range rows {
			_, values := t.row(int(row))
			copy(dst[i*dim:(i+1)*dim], values)
		}
	}
}
