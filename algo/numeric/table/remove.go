package table

import "tandem/algo/rng"

// RemoveRows removes the rows of distinct signs, and returns them in the order of the signs. A sign without a
// row is left out. A table that adds these rows (AddRows) has all their bits.
//
// The last rows move to the places that become free, so that the order of creation changes. Eviction goes on
// at the row that it would have examined next or, if that number is too large now, at the first row. No read
// may be under way whose Found an Apply will use. Memory stays with the table, for later rows.
//
// Cost: two probes of the index and two row copies a sign.
func (t *Table) RemoveRows(signs []uint64) *Columns {
	defer t.lockChanges()()
	var found []uint64
	for _, sign := range signs {
		if t.find(sign, rng.Mix(sign)) >= 0 {
			found = append(found, sign)
		}
	}
	c := NewColumns(len(found), t.EmbeddingBytes(), t.StateBytes())
	for i, sign := range found {
		row := t.find(sign, rng.Mix(sign))
		t.copyRow(t.place(row), t.header(row)[2], i, c)
		t.remove(row)
	}
	if t.hand >= t.rows {
		t.hand = 0
	}
	return c
}

// remove removes a row, whose number the last row gets. The caller holds lockChanges.
func (t *Table) remove(row int) {
	last := t.rows - 1
	t.keep(row)
	t.index.remove(rng.Mix(t.signOf(row)), row)
	if row != last {
		t.keep(last) // a row that is created later will get its place
		hash := rng.Mix(t.signOf(last))
		g, at := t.index.locate(hash, last)
		t.index.at(g)[at] = hash&tagMask | uint64(row+1)
		copy(t.bytesOf(row, 0, t.rowBytes), t.bytesOf(last, 0, t.rowBytes))
		t.replace(row)
	}
	*t.header(last) = [headerWords]uint32{}
	t.rows--
}
