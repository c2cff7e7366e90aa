package table

import "fmt"

// Which rows have changed since an earlier freeze follows from the third word of their headers. An update
// changes the count of updates, a read of a row that was not marked and a visit of eviction or expiry change
// the mark, and nothing else changes a row that stays where it is. So a freeze that notes this word of every
// row, as the row is read, costs the kernels of rows nothing. A place that gets another row is noted as
// replaced.
//
// replaced is not the word of any header, because it lacks the valid flag. Nor is 0, which stands for a row
// that has not been read.
const replaced = 1

// FreezeNoted is Freeze, and notes the rows while they are read, so that the next FreezeNoted knows which of
// them have changed: see CopyChanged.
//
// Memory, besides that of Freeze: 4 bytes a row until the next one, and 4 more until the rows are read.
func (t *Table) FreezeNoted(buffer []byte, wait func(room func())) *Frozen {
	f := t.Freeze(buffer, wait)
	t.notes++
	f.number, f.noted = t.notes, t.noted
	t.noted = make([]uint32, t.rows)
	return f
}

// Note notes the rows as they are, as FreezeNoted does whose rows have been read at once.
func (t *Table) Note() *Frozen {
	f := t.FreezeNoted(nil, nil)
	f.mu.Lock()
	for f.next < f.rows {
		_, word := f.pass()
		f.note(f.next-1, word)
	}
	f.mu.Unlock()
	f.Release()
	return f
}

// Follows reports whether CopyChanged copies the rows that have changed since an earlier freeze: that is the
// FreezeNoted of the table before, or Note, and its rows were read to the last.
func (f *Frozen) Follows(earlier *Frozen) bool {
	return f.table == earlier.table && earlier.number > 0 && earlier.number == f.number-1 &&
		earlier.isRead()
}

// note notes the word of a row that is read. The caller holds mu.
func (f *Frozen) note(row int, word uint32) {
	if f.number == 0 {
		return
	}
	if t := f.table; t.noted[row] != replaced {
		t.noted[row] = word
	}
}

// replace notes that a place has another row from now on. The caller holds lockChanges.
func (t *Table) replace(row int) {
	if row < len(t.noted) {
		t.noted[row] = replaced
	}
}

// changed reports whether a row with a word may differ from what the freeze before has noted. A count of
// updates at its limit says nothing.
func (f *Frozen) changed(row int, word uint32) bool {
	return row >= len(f.noted) || f.noted[row] != word || word&maxUpdates == maxUpdates
}

// CopyChanged copies the next rows that have changed since the freeze before (Follows), as they were frozen:
// to c, and to rows their numbers, which ascend. It returns how many there are, which is less than len(rows)
// if these are the last. Of one Frozen, either CopyRows or CopyChanged is called. It panics if the lengths
// disagree.
//
// Cost: a read of the headers of all rows.
func (f *Frozen) CopyChanged(rows []uint32, c *Columns) (n int) {
	f.table.mustFit(c)
	mustMatch("rows", len(rows), len(c.Signs))
	if f.number < 2 {
		panic(fmt.Sprintf("table: no freeze before the %d. has noted rows", f.number))
	}
	for n < len(rows) && f.copySome(rows, &n, c) {
	}
	return n
}

// copySome is CopyChanged for the next lockedRows rows, whether they have changed or not. It reports whether
// there are more.
func (f *Frozen) copySome(rows []uint32, n *int, c *Columns) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for end := min(f.next+lockedRows, f.rows); f.next < end && *n < len(rows); {
		row := f.next
		place, word := f.pass()
		f.note(row, word)
		if f.changed(row, word) {
			f.table.copyRow(place, word, *n, c)
			rows[*n] = uint32(row)
			*n++
		}
	}
	f.room.Broadcast()
	return f.next < f.rows
}
