package checkpoint

import (
	"fmt"
	"math"
	"sync/atomic"

	"tandem/algo/rng"
)

// signIndex finds the rows of an owner by their signs. The models of a training that follow each other have
// one together: an entry says where a row may be, and each model compares the sign that it has there. So the
// entries of a later model do not disturb the readers of an earlier one, and none is ever removed: a row that
// is no longer in its place is an entry that no sign equals. One goroutine at a time may add entries.
type signIndex struct {
	entries []uint32 // row + 1, by the hash of the sign; 0 is empty
	used    int
}

// newIndex returns an empty index with room for twice a number of rows.
func newIndex(rows int) *signIndex {
	size := 8
	for size < 2*rows {
		size *= 2
	}
	return &signIndex{entries: make([]uint32, size)}
}

// full reports whether another entry would make searches long.
func (x *signIndex) full() bool { return 4*x.used >= 3*len(x.entries) }

// search returns the row of a sign, −1 if there is none, and then the empty entry where it would be.
func (f *rowsFile) search(sign uint64) (row, empty int) {
	entries := f.index.entries
	mask := len(entries) - 1
	for at := int(rng.Mix(sign)) & mask; ; at = (at + 1) & mask {
		row = int(atomic.LoadUint32(&entries[at])) - 1
		if row < 0 {
			return -1, at
		}
		if row < f.rows && f.sign(row) == sign {
			return row, -1
		}
	}
}

// find returns the row of a sign, −1 if there is none.
func (f *rowsFile) find(sign uint64) int {
	row, _ := f.search(sign)
	return row
}

// number makes the rows of an owner known by their signs. Where the first files are those of an earlier
// model, only the rows of the others are new.
func (r *RowReader) number(owner int) error {
	f := r.files[owner]
	if f.rows >= math.MaxInt32 {
		return fmt.Errorf("%d rows in one file", f.rows)
	}
	if f.before != nil && f.before.index != nil {
		f.index = f.before.index
		for row := range f.changed(f.shared) {
			if int(row) >= f.rows {
				continue
			}
			if f.index.full() {
				return r.numberAll(owner)
			}
			if err := r.enter(owner, int(row), f.sign(int(row))); err != nil {
				return err
			}
		}
		return nil
	}
	return r.numberAll(owner)
}

// numberAll makes the rows of an owner known in a new index.
func (r *RowReader) numberAll(owner int) error {
	f, row := r.files[owner], 0
	f.index = newIndex(f.rows)
	for sign := range f.signs() {
		if err := r.enter(owner, row, sign); err != nil {
			return err
		}
		row++
	}
	return nil
}

// enter makes one row known. It returns an error if the row belongs to another owner, or comes twice.
func (r *RowReader) enter(owner, row int, sign uint64) error {
	server, hot := r.shelf(sign), r.hot()
	if owner != hot && (server != owner || r.dims.Place(sign) < 0) {
		return fmt.Errorf("the row of sign %#x belongs to another embedding PS than %d, or is of another "+
			"length", sign, owner/len(r.lengths))
	}
	f, other := r.files[owner], server
	if owner != hot {
		other = hot
	}
	known, empty := f.search(sign)
	if known >= 0 && known != row ||
		other < len(r.files) && r.files[other].index != nil && r.files[other].find(sign) >= 0 {
		return fmt.Errorf("the row of sign %#x comes twice", sign)
	}
	if known < 0 {
		f.index.used++
		atomic.StoreUint32(&f.index.entries[empty], uint32(row+1))
	}
	return nil
}
