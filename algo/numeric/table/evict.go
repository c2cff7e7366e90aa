package table

import "tandem/algo/rng"

// evict takes out a row that has not been read for long and returns its number,
// which is free then. The table has a row at least.
//
// It is second chance: a hand goes round the rows, takes the mark off those that
// have been read since it last came by, and stops at the first that has not. A new
// row takes the place that the hand has just left, so it stays for one round at
// least. A hit costs a bit, which is nearly always set already, where exact order of
// last use takes two numbers a row and moves them at every hit. The hand may pass
// every row before it stops, but each that it passes has been read for that.
//
// What is evicted follows from the operations of the table, in their order, and
// from nothing else. Other shards, with other rows on them, evict others.
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
		if header[2]&mark == 0 {
			t.index.remove(rng.Mix(t.signOf(row)), row)
			t.evicted++
			return row
		}
		header[2] &^= mark
	}
}
