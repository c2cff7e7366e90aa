package table

// ExpireAt removes the rows that have to go before the reads of a training step, and returns their number.
// At every multiple of Config.Expiry it removes the rows that no LookupStep has read or created since the
// multiple before. So a row goes after one to two times Expiry steps without a read. Steps that pass without
// a call are made up for: a row that was not read goes with the second removal at the latest. The first call
// of a table makes up for none, as where a model goes on with another number of PSs. A call for an
// earlier step than the latest does nothing, nor does any without Expiry.
//
// An Apply of gradients that were read before counts those of removed rows as evicted. The last rows move to
// the places that become free, as in RemoveRows. Memory stays with the table, for later rows. While rows are
// frozen, those that go or move are copied to the buffer of the freeze, so that ExpireAt waits for the reader
// only where these are more than it has room for; a mark that is cleared takes a bit beside the buffer.
//
// Cost: where rows go, a read of the headers of all rows, and two probes of the index and a copy for each
// that is removed. A mark is cleared in each that stays: the next FreezeNoted finds these changed.
//
// Source: Monolith's expire_time (Liu et al. 2022), DeepRec's steps_to_live. Deviation from both, which keep
// the time of the last use of every row: a row takes no memory for it, and may stay for twice the time.
func (t *Table) ExpireAt(step int) (removed int) {
	every := t.config.Expiry
	if every == 0 || step <= t.swept {
		return 0
	}
	if t.swept == 0 { // no step has been read, or not by a table that forgets
		t.swept = max(step-1, 0)
	}
	for range min(step/every-t.swept/every, 2) {
		removed += t.sweep()
	}
	t.swept = step
	return removed
}

// sweep removes the rows without a mark, and the marks of the others.
func (t *Table) sweep() (removed int) {
	t.thaw()
	t.candidates.age()
	defer t.lockChanges()()
	for row := 0; row < t.rows; { // upward, as a reader of frozen rows, who then has passed most that go
		if header := t.header(row); header[2]&mark != 0 {
			t.keepMark(row)
			header[2] &^= mark
			row++
			continue
		}
		if last := t.rows - 1; t.header(last)[2]&mark == 0 { // it goes, too, and then none has to move
			t.remove(last)
		} else {
			t.remove(row)
		}
		removed++
	}
	t.evicted += removed
	return removed
}
