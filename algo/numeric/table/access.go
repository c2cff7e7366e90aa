package table

import (
	"fmt"

	"tandem/algo/rng"
)

// mustMatch panics unless a slice has the length that the signs require.
func mustMatch(name string, got, want int) {
	if got != want {
		panic(fmt.Sprintf("table: len(%s) = %d, want %d", name, got, want))
	}
}

// Lookup copies the embeddings of the signs into dst and creates absent rows.
//
// Shapes: dst is len(signs) × Dim, row-major. Signs may repeat and come in any
// order.
//
// It panics if the lengths disagree. An error wraps ErrFull, or comes from the
// arena; in that case the rows before the refused sign have been created and copied,
// and the rest of dst is unchanged. Cost: one probe of the index and one row copy a
// sign.
func (t *Table) Lookup(signs []uint64, dst []float32) error {
	mustMatch("dst", len(dst), len(signs)*t.config.Dim)
	var c chunk
	return t.lookup(&c, signs, &output{values: dst}, nil, func(uint64) bool { return true })
}

// LookupStep is Lookup for a training step: it creates an absent row with the
// probability Config.Admission, and otherwise reads zeros. A sign that appears in k
// steps therefore has a row with the probability 1 − (1 − Admission)^k, and ids that
// appear once take little memory.
//
// The draw is a function of seed, sign and step. All reads of a step agree on it, on
// any shard and in any order.
//
// Found is nil or as long as signs, which are then distinct. LookupStep writes to it where
// each row is and how often it has been updated, which the Apply of the gradients uses.
//
// With a pool, rows behind a sign that is refused with an error may have been copied, too.
//
// With Config.AdmissionCount, it creates an absent row if it is the last of as many steps that have read the
// sign, and otherwise reads zeros. Several reads in a step count once, and a sign that is read seldom may be
// forgotten meanwhile.
//
// Source: Persia's admit_probability. Deviation: Persia draws again at every lookup,
// without a seed.
func (t *Table) LookupStep(step int, signs []uint64, dst []float32, found []Found) error {
	mustMatch("dst", len(dst), len(signs)*t.config.Dim)
	return t.lookupStep(step, signs, output{values: dst}, found)
}

// LookupEach is LookupStep that passes the embeddings on while they are in the first cache: it calls take
// with those of the signs from lo to below hi, (hi−lo) × Dim values, which are valid until take returns, for
// all signs in pieces. A table with a pool calls take from several goroutines.
func (t *Table) LookupEach(step int, signs []uint64, take func(rows []float32, lo, hi int),
	found []Found) error {
	return t.lookupStep(step, signs, output{take: take}, found)
}

// output is where a lookup writes embeddings: to values, of all signs, or a piece at a time to take.
type output struct {
	values []float32
	take   func(rows []float32, lo, hi int)
}

// room returns where the embeddings of the signs from lo to below hi are written.
func (o *output) room(c *chunk, lo, hi, dim int) []float32 {
	if o.take == nil {
		return o.values[lo*dim : hi*dim]
	}
	return c.gradients(dim)[:(hi-lo)*dim]
}

// written passes on the embeddings of the signs from lo to below hi.
func (o *output) written(rows []float32, lo, hi int) {
	if o.take != nil && lo < hi {
		o.take(rows, lo, hi)
	}
}

// lookupStep is LookupStep and LookupEach.
func (t *Table) lookupStep(step int, signs []uint64, out output, found []Found) error {
	if found != nil {
		mustMatch("found", len(found), len(signs))
	}
	admits := func(sign uint64) bool { return t.admits(step, sign) }
	if t.Counts() {
		admits = func(sign uint64) bool { return t.candidates.admit(step, sign) }
	}
	if parts := t.shares(len(signs)); found != nil && parts > 1 {
		return t.lookupShared(parts, signs, out, found, admits)
	}
	return t.lookup(t.work[0], signs, &out, found, admits)
}

// Found is the state of a row at the time of a read. The row may have been evicted
// since, and another row may have its place.
type Found struct {
	Updates uint32 // updates of the row before the read
	row     int32  // −1: there was no row, because admission refused it
}

// Refused reports whether admission has refused the row.
func (f Found) Refused() bool { return f.row < 0 }

// Missed returns the number of updates since the read, given the number of updates
// now. If there was no row at the read, or the row then was another, since evicted,
// all updates count.
func (f Found) Missed(now uint32) uint32 {
	if !f.Refused() && f.Updates <= now {
		return now - f.Updates
	}
	return now
}

// admits draws whether a step creates the row of a sign.
func (t *Table) admits(step int, sign uint64) bool {
	if a := t.config.Admission; a == 0 || a == 1 {
		return true
	}
	return float64(rng.Unit(rng.Key(t.config.Seed, "admission", sign), step)) < t.config.Admission
}

// refuses reports whether a step may refuse to create a row.
func (t *Table) refuses() bool {
	return t.config.Admission > 0 && t.config.Admission < 1 || t.Counts()
}

// lookup copies the rows of signs and creates absent rows that are admitted. A
// creation may evict the row of another sign, so lookup first copies the rows of the
// signs before it.
func (t *Table) lookup(c *chunk, signs []uint64, out *output, found []Found,
	admits func(sign uint64) bool) error {
	dim := t.config.Dim
	c.found = nil
	t.thaw()
	marks := uint32(mark)
	if t.frozen != nil {
		marks = 0 // markRead sets them
	}
	for at := 0; at < len(signs); {
		n := t.advance(c, signs, at, t.stateAt)
		part, rows := signs[at:at+n], out.room(c, at, at+n, dim)
		for i := 0; i < n; i++ {
			lo := i
			i = t.confirm(c, part, lo, marks)
			if marks == 0 {
				t.markRead(c.rows[lo:i])
			}
			t.gather(rows[lo*dim:i*dim], c, lo, i)
			if i == n {
				break
			}
			if err := t.provide(c, part, i, admits); err != nil {
				return err
			}
			if c.rows[i] < 0 {
				clear(rows[i*dim : (i+1)*dim])
			} else {
				t.gather(rows[i*dim:(i+1)*dim], c, i, i+1)
			}
		}
		out.written(rows, at, at+n)
		if found != nil {
			for i := range n {
				found[at+i] = Found{c.counts[i], c.rows[i]}
			}
		}
		at += n
	}
	return nil
}

// provide finds the row of one sign of a chunk, and creates the row if it is absent
// and admitted.
func (t *Table) provide(c *chunk, signs []uint64, i int, admits func(sign uint64) bool) error {
	hash := rng.Mix(signs[i])
	row := t.find(signs[i], hash)
	switch {
	case row >= 0 && t.frozen != nil:
		t.markRead([]int32{int32(row)})
	case row >= 0:
		t.header(row)[2] |= mark
	case admits(signs[i]):
		var err error
		if row, err = t.create(signs[i], hash); err != nil {
			return err
		}
	}
	t.put(c, i, row)
	return nil
}

// Snapshot copies the embeddings of the signs into dst and changes nothing: evaluation
// reads so. Absent rows read as zeros, as in Persia. It returns the number of signs
// without a row.
//
// Shapes and cost are those of Lookup. It panics if the lengths disagree.
func (t *Table) Snapshot(signs []uint64, dst []float32) (missing int) {
	return t.snapshot(signs, dst, func(row int, _ uint32) bool { return row >= 0 })
}

// SnapshotTrained is Snapshot, but treats rows without an update as absent: the result depends on updates
// alone, not on earlier reads.
func (t *Table) SnapshotTrained(signs []uint64, dst []float32) (missing int) {
	return t.snapshot(signs, dst, func(_ int, updates uint32) bool { return updates > 0 })
}

// snapshot copies the rows for which wanted is true and writes zeros for the others.
func (t *Table) snapshot(
	signs []uint64, dst []float32, wanted func(row int, updates uint32) bool,
) (missing int) {
	dim := t.config.Dim
	mustMatch("dst", len(dst), len(signs)*dim)
	var c chunk
	for at := 0; at < len(signs); {
		n := t.advance(&c, signs, at, t.stateAt)
		t.settle(&c, signs[at:at+n])
		out := dst[at*dim : (at+n)*dim]
		lo := 0 // rows from here on are wanted and not yet copied
		for i := range n {
			if wanted(int(c.rows[i]), c.counts[i]) {
				continue
			}
			t.gather(out[lo*dim:i*dim], &c, lo, i)
			clear(out[i*dim : (i+1)*dim])
			missing++
			lo = i + 1
		}
		t.gather(out[lo*dim:], &c, lo, n)
		at += n
	}
	return missing
}

// UpdateCounts writes how often each sign's row has been updated, 0 for absent
// rows. Counts stay at 2³⁰−1. It panics unless dst is as long as signs.
func (t *Table) UpdateCounts(signs []uint64, dst []uint32) {
	mustMatch("dst", len(dst), len(signs))
	var c chunk
	for at := 0; at < len(signs); {
		n := t.advance(&c, signs, at, headerBytes)
		t.ahead(&c, 0, n)
		t.settle(&c, signs[at:at+n])
		copy(dst[at:], c.counts[:n])
		at += n
	}
}
