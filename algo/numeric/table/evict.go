package table

import "tandem/algo/rng"

// evict removes a row that has not been read for long and returns its number, which is
// free afterwards. The table has at least one row. The caller holds lockChanges.
//
// The policy is second chance: a hand moves round the rows, clears the mark of rows that
// have been read since its last visit, and stops at the first row without a mark. A new
// row gets the place that the hand has just left, so it stays for at least one round. A
// hit sets a bit, which is nearly always set already; exact order of last use would take
// two numbers a row and change them at every hit. The hand may pass every row before it
// stops, but each row that it passes has been read since its last visit.
//
// Evictions follow from the sequence of operations of the table alone. Another
// distribution of rows over shards gives other evictions.
//
// Source: Corbató, "A paging experiment with the Multics system", 1968.
// Deviation from Persia, whose rows are in exact order of last use.
func (t *Table) evict() int {
	for {
		row := t.hand
		if t.hand++; t.hand == t.rows {
			t.hand = 0
		}
		header := t.header(row)
		t.keep(row)
		if header[2]&mark == 0 {
			t.index.remove(rng.Mix(t.signOf(row)), row)
			t.evicted++
			return row
		}
		header[2] &^= mark
	}
}
