package table

import (
	"fmt"
	"sync"
	"unsafe"

	"tandem/algo/unit"
)

// Frozen is the rows of a table at one moment. It is read once, from the first row to the last, while the
// table changes: a row that is about to change and has not been read is first copied to a buffer. While the
// buffer is full, changes wait for the reader.
//
// CopyRows and Release may be called beside the methods of the table, by one goroutine.
type Frozen struct {
	table    *Table
	rows     int
	counters Counters
	waiting  []Candidate

	mu     sync.Mutex        // held while rows that are frozen change, and while they are read
	room   sync.Cond         // a slot may be free, or a row may not need one
	next   int               // rows before it have been read
	buffer []byte            // slots of one row
	slots  []uint32          // by row: the slot with its copy + 1, or 0
	marked []uint64          // a bit by row: it was marked, and a sweep has cleared that; nil before a sweep
	unused []uint32          // slots that have been used and are free
	used   int               // slots that have been used
	copied int               // rows, so far
	wait   func(room func()) // calls room, which returns when there is room

	number int      // of the freeze among those that note rows; 0: it does not
	noted  []uint32 // what the freeze before has noted: see changes.go
}

// lockedRows is the number of rows that are read under one lock: a change waits no longer than a lookup does.
const lockedRows = 256

// Freeze returns the rows as they are. No method may run beside it, and what was frozen before must have been
// read or released. Rows that change before they are read are copied to the buffer, whose length is rounded
// down to whole rows; an empty one holds as many as are needed to change rows at all. Wait, if not nil, is
// called in place of a function that returns when there is room in the buffer, which it must call.
//
// Memory: 4 bytes a row besides the buffer, a bit more once rows expire, and 16 bytes a candidate.
func (t *Table) Freeze(buffer []byte, wait func(room func())) *Frozen {
	if t.frozen != nil && !t.frozen.isRead() {
		panic("table: it is frozen already")
	}
	if least := chunkSigns * t.rowBytes; len(buffer) < least {
		buffer = make([]byte, least)
	}
	if wait == nil {
		wait = func(room func()) { room() }
	}
	f := &Frozen{table: t, rows: t.rows, counters: t.Counters(), buffer: buffer, wait: wait,
		waiting: t.candidates.list(),
		slots:   make([]uint32, t.rows)}
	f.room.L = &f.mu
	t.frozen = f
	return f
}

// thaw forgets what was frozen once it has been read.
func (t *Table) thaw() {
	if t.frozen != nil && t.frozen.isRead() {
		t.frozen = nil
	}
}

func (f *Frozen) isRead() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.next == f.rows
}

// Len returns the number of rows.
func (f *Frozen) Len() int { return f.rows }

// Counters returns what the table remembered besides its rows.
func (f *Frozen) Counters() Counters { return f.counters }

// Candidates returns the signs without rows whose steps the table counted.
func (f *Frozen) Candidates() []Candidate { return f.waiting }

// Dim returns the length of an embedding.
func (f *Frozen) Dim() int { return f.table.Dim() }

// Precision returns the format of the embedding values.
func (f *Frozen) Precision() Precision { return f.table.Precision() }

// EmbeddingBytes returns the length of one embedding in Columns.
func (f *Frozen) EmbeddingBytes() int { return f.table.EmbeddingBytes() }

// StateBytes returns the length of the optimizer state of one row in Columns.
func (f *Frozen) StateBytes() int { return f.table.StateBytes() }

// CopyRows is CopyRows of the table at the moment of the freeze. The rows must be those behind the rows of
// the call before; otherwise it panics.
func (f *Frozen) CopyRows(first int, c *Columns) {
	f.table.mustFit(c)
	if n := len(c.Signs); first != f.next || n > f.rows-first {
		panic(fmt.Sprintf("table: frozen rows %d to %d, but %d of %d have been read", first, first+n, f.next,
			f.rows))
	}
	for at := 0; at < len(c.Signs); at += lockedRows {
		f.copyLocked(at, min(at+lockedRows, len(c.Signs)), c)
	}
}

// copyLocked reads the next rows into the places lo to hi−1 of c.
func (f *Frozen) copyLocked(lo, hi int, c *Columns) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := lo; i < hi; i++ {
		place, word := f.pass()
		f.note(f.next-1, word)
		f.table.copyRow(place, word, i, c)
	}
	f.room.Broadcast()
}

// pass returns where the next row is as it was frozen, and passes it. The third word of the header is
// returned apart, because a mark may have been cleared since. The place may be reused as soon as the caller,
// which holds mu, releases it.
func (f *Frozen) pass() (place unsafe.Pointer, word uint32) {
	place = f.table.place(f.next)
	if slot := f.slots[f.next]; slot > 0 {
		place = f.slot(slot - 1)
		f.unused = append(f.unused, slot-1)
	}
	word = (*[headerWords]uint32)(place)[2]
	if f.marked != nil && f.marked[f.next/64]>>(f.next%64)&1 != 0 {
		word |= mark
	}
	f.next++
	return place, word
}

// slot returns where a slot of the buffer begins.
func (f *Frozen) slot(i uint32) unsafe.Pointer {
	return unsafe.Pointer(&f.buffer[int(i)*f.table.rowBytes])
}

// Release gives up the rows that have not been read, and the memory of the others. It may be called after any
// CopyRows or CopyChanged.
func (f *Frozen) Release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next < f.rows {
		f.next, f.number = f.rows, 0
	}
	f.buffer, f.slots, f.marked, f.unused, f.noted, f.waiting = nil, nil, nil, nil, nil, nil
	f.room.Broadcast()
}

// Copied returns the size of the rows that have been copied so far.
func (f *Frozen) Copied() unit.Bytes {
	f.mu.Lock()
	defer f.mu.Unlock()
	return unit.Bytes(f.copied * f.table.rowBytes)
}

// keep copies a row that is about to change, if the reader still needs it, and may wait for room. The caller
// holds mu, and changes the row before it releases mu.
func (f *Frozen) keep(row int) {
	if !f.needs(row) {
		return
	}
	if len(f.unused) == 0 && (f.used+1)*f.table.rowBytes > len(f.buffer) {
		f.wait(func() {
			for f.needs(row) && len(f.unused) == 0 {
				f.room.Wait()
			}
		})
		if !f.needs(row) {
			return
		}
	}
	slot := uint32(f.used)
	if n := len(f.unused); n > 0 {
		slot, f.unused = f.unused[n-1], f.unused[:n-1]
	} else {
		f.used++
	}
	f.slots[row] = slot + 1
	f.copied++
	size := f.table.rowBytes
	copy(f.buffer[int(slot)*size:][:size], unsafe.Slice((*byte)(f.table.place(row)), size))
}

// needs reports whether a row must be copied before it changes.
func (f *Frozen) needs(row int) bool { return row >= f.next && row < f.rows && f.slots[row] == 0 }

// lockChanges locks the frozen rows, if there are any, while rows change: keep comes before each change. The
// caller calls the function that it returns.
func (t *Table) lockChanges() (unlock func()) {
	if t.frozen == nil {
		return func() {}
	}
	t.frozen.mu.Lock()
	return t.frozen.mu.Unlock
}

// keep copies a row that is about to change, if it is frozen. The caller holds lockChanges.
func (t *Table) keep(row int) {
	if t.frozen != nil {
		t.frozen.keep(row)
	}
}

// keepMark notes that the mark of a row is about to be cleared, if the row is frozen and has not been copied:
// then it was marked when it was frozen. The caller holds lockChanges.
func (t *Table) keepMark(row int) {
	f := t.frozen
	if f == nil || !f.needs(row) {
		return
	}
	if f.marked == nil {
		f.marked = make([]uint64, (f.rows+63)/64)
	}
	f.marked[row/64] |= 1 << (row % 64)
}

// markRead marks rows of the current chunk as read, while the table is frozen.
func (t *Table) markRead(rows []int32) {
	t.frozen.mu.Lock()
	defer t.frozen.mu.Unlock()
	for _, row := range rows {
		if header := t.header(int(row)); header[2]&mark == 0 {
			t.frozen.keep(int(row))
			header[2] |= mark
		}
	}
}
