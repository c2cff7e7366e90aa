package table

import (
	"fmt"

	"tandem/algo/numeric/opt"
	"tandem/algo/rng"
)

// Outcome counts what became of the gradient rows of an Apply. Every row has
// exactly one outcome, so the sum is the number of rows.
type Outcome struct {
	Applied   int // the row was updated
	Missing   int // there is no such row, though none is ever refused or evicted
	Refused   int // there is no such row, because admission has refused it so far
	Evicted   int // there is no such row any more, because it has been evicted
	NonFinite int // the row exists, and the gradient has a NaN or Inf
}

// Add adds the counts of another Apply.
func (o *Outcome) Add(p Outcome) {
	o.Applied += p.Applied
	o.Missing += p.Missing
	o.Refused += p.Refused
	o.Evicted += p.Evicted
	o.NonFinite += p.NonFinite
}

// Rows returns the number of gradient rows.
func (o Outcome) Rows() int { return o.Applied + o.Missing + o.Refused + o.Evicted + o.NonFinite }

// mustMatch panics unless a slice has the length that the signs ask for.
func mustMatch(name string, got, want int) {
	if got != want {
		panic(fmt.Sprintf("table: len(%s) = %d, want %d", name, got, want))
	}
}

// Lookup copies the embeddings of the signs into dst, creating absent rows: the
// read of training.
//
// Shapes: dst is len(signs) × Dim, row-major. Signs may repeat and come in any
// order.
//
// It panics if the lengths disagree. An error wraps ErrFull, or comes from the
// arena; the rows before the refused sign have then been created and copied,
// the rest of dst is as it was. Cost: one probe of the index and one row copy a
// sign.
func (t *Table) Lookup(signs []uint64, dst []float32) error {
	return t.lookup(signs, dst, nil, func(uint64) bool { return true })
}

// LookupStep is the read of a training step: Lookup, but an absent row is created
// with the probability Config.Admission, and else reads as zeros. So a sign seen
// in k steps has a row with the probability 1 − (1 − Admission)^k: ids that are
// seen once take little memory.
//
// The draw is a function of seed, sign and step. All reads of a step agree on it,
// on whatever shard and in whatever order.
//
// Found, as long as signs or nil, is told where each row is and what state it is
// in, which the Apply of the gradients wants to know.
//
// Source: Persia's admit_probability. Deviation: Persia draws anew, without a
// seed, at every lookup.
func (t *Table) LookupStep(step int, signs []uint64, dst []float32, found []Found) error {
	return t.lookup(signs, dst, found, func(sign uint64) bool { return t.admits(step, sign) })
}

// Found is a row as a read has found it. The row may have been evicted since, and
// its place have been given to another.
type Found struct {
	Updates uint32 // that the row had had
	row     int32  // −1: there was none, because admission refused it
}

// Refused tells that admission has refused the row.
func (f Found) Refused() bool { return f.row < 0 }

// Missed returns the updates since the read of a row that has had so many by now.
// Where there was no row then, or another that has been evicted since, it is all.
func (f Found) Missed(now uint32) uint32 {
	if !f.Refused() && f.Updates <= now {
		return now - f.Updates
	}
	return now
}

// admits draws whether a step may create the row of a sign.
func (t *Table) admits(step int, sign uint64) bool {
	if !t.refuses() {
		return true
	}
	return float64(rng.Unit(rng.Key(t.config.Seed, "admission", sign), step)) < t.config.Admission
}

// refuses tells whether a step may refuse a sign its row.
func (t *Table) refuses() bool { return t.config.Admission > 0 && t.config.Admission < 1 }

// lookup copies the rows of signs, creating those absent that are admitted. A
// creation may take the row of another sign away, so rows are copied up to each
// before it happens.
func (t *Table) lookup(signs []uint64, dst []float32, found []Found, admits func(sign uint64) bool) error {
	dim := t.config.Dim
	mustMatch("dst", len(dst), len(signs)*dim)
	if found != nil {
		mustMatch("found", len(found), len(signs))
	}
	var c chunk
	for at := 0; at < len(signs); {
		n := t.advance(&c, signs, at, t.stateAt)
		part, out := signs[at:at+n], dst[at*dim:(at+n)*dim]
		for i := 0; i < n; i++ {
			lo := i
			i = t.confirm(&c, part, lo, mark)
			t.gather(out[lo*dim:i*dim], &c, lo, i)
			if i == n {
				break
			}
			if err := t.provide(&c, part, i, admits); err != nil {
				return err
			}
			if c.rows[i] < 0 {
				clear(out[i*dim : (i+1)*dim])
			} else {
				t.gather(out[i*dim:(i+1)*dim], &c, i, i+1)
			}
		}
		if found != nil {
			for i := range n {
				found[at+i] = Found{c.counts[i], c.rows[i]}
			}
		}
		at += n
	}
	return nil
}

// provide settles one sign of a chunk, and creates its row if that is absent and
// admitted.
func (t *Table) provide(c *chunk, signs []uint64, i int, admits func(sign uint64) bool) error {
	hash := rng.Mix(signs[i])
	row := t.find(signs[i], hash)
	switch {
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

// Peek copies the embeddings of the signs into dst and changes nothing: the
// read of evaluation. Absent rows read as zeros, as in Persia. It returns the
// number of signs without a row.
//
// Shapes and cost as Lookup. It panics if the lengths disagree.
func (t *Table) Peek(signs []uint64, dst []float32) (missing int) {
	return t.peek(signs, dst, func(row int, _ uint32) bool { return row >= 0 })
}

// PeekTrained is Peek, but rows that have never been updated are absent to it:
// what it reads depends only on what was trained, not on who has looked.
func (t *Table) PeekTrained(signs []uint64, dst []float32) (missing int) {
	return t.peek(signs, dst, func(_ int, updates uint32) bool { return updates > 0 })
}

// peek copies the rows that are wanted and clears the place of the others.
func (t *Table) peek(signs []uint64, dst []float32, wanted func(row int, updates uint32) bool) (missing int) {
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

// Read tells an Apply in what state rows were when its gradients were computed
// from them.
type Read struct {
	// Found, as long as the signs, is what LookupStep wrote. The signs are distinct.
	Found []Found
	// Missed, if not nil, is told for every gradient applied the updates of its row
	// since the read.
	Missed func(updates uint32)
	// Weight, if not nil, returns a factor on the learning rate of a gradient that
	// has missed so many updates.
	Weight func(missed int) float32
}

// Apply gives each sign's row its gradient, at a learning rate, and counts the
// outcomes. Of a table that both admits and evicts, only Read tells rows evicted
// from rows refused; without it they are counted as refused. A row changes, and its
// update count grows by one, only if it exists and all of its gradient is finite. A
// sign that repeats is updated once for each place, in order.
//
// Shapes: grads is len(signs) × Dim, row-major, and is not changed. Read may be
// nil.
//
// It panics if the lengths disagree. Cost: one application of the optimizer a
// sign and, without Read or where the row has been evicted since, one probe of the
// index.
func (t *Table) Apply(signs []uint64, grads []float32, rate float32, read *Read) Outcome {
	dim := t.config.Dim
	mustMatch("grads", len(grads), len(signs)*dim)
	if read != nil {
		mustMatch("found", len(read.Found), len(signs))
	}
	var outcome Outcome
	c := t.work
	c.found = nil
	if read != nil {
		c.found = read.Found
	}
	for at := 0; at < len(signs); {
		n := t.advance(c, signs, at, t.rowBytes)
		t.settle(c, signs[at:at+n])
		for i := range n {
			if c.rates[i] = rate; read != nil && read.Weight != nil {
				c.rates[i] *= read.Weight(int(read.Found[at+i].Missed(c.counts[i])))
			}
		}
		t.update(c, grads[at*dim:(at+n)*dim])
		for i, done := range c.done[:n] {
			if !done {
				refused := t.refuses() && !(t.config.Evict && read != nil && !read.Found[at+i].Refused())
				outcome.lose(c.rows[i], refused, t.config.Evict)
				continue
			}
			outcome.Applied++
			if read != nil && read.Missed != nil {
				read.Missed(read.Found[at+i].Missed(c.counts[i]))
			}
		}
		at += n
	}
	c.batch, c.found = opt.Batch{}, nil // lets go of the gradients and the read
	t.outcomes.Add(outcome)
	return outcome
}

// update applies the gradients of the chunk at work to its rows, and notes which
// are updated.
func (t *Table) update(c *chunk, grads []float32) {
	dim := t.config.Dim
	n := len(grads) / dim
	c.batch = opt.Batch{
		Places: c.places[:n], ValuesAt: headerBytes, StateAt: t.stateAt, Dim: dim,
		Grads: grads, Rates: c.rates[:n], Done: c.done[:n],
	}
	if c.behind(n) {
		c.batch.Next, c.batch.Groups, c.batch.Fetch = c.nextPlaces[:n], c.groupPlaces[:n], t.rowBytes
	} else {
		for i := range n {
			t.ahead(c, i, t.rowBytes)
		}
	}
	if t.many != nil && t.config.Precision == FP32 && t.many.ApplyBatch(&c.batch) {
		for i, done := range c.done[:n] {
			if done {
				countUpdate((*[headerWords]uint32)(c.places[i]))
			}
		}
		return
	}
	for i, row := range c.rows[:n] {
		if c.batch.Next != nil {
			t.ahead(c, i, t.rowBytes)
		}
		if c.done[i] = row >= 0; row >= 0 {
			c.done[i] = t.updateOne(int(row), grads[i*dim:(i+1)*dim], c.rates[i])
		}
	}
}

// updateOne is the update of one row.
func (t *Table) updateOne(row int, grad []float32, rate float32) bool {
	embedding := t.open(row)
	if !t.config.Optimizer.Apply(embedding, t.state(row), grad, rate) {
		return false
	}
	countUpdate(t.header(row))
	t.close(row, embedding)
	return true
}

// lose counts what became of a gradient that was not applied to its row, −1 for
// none.
func (o *Outcome) lose(row int32, refused, evicting bool) {
	switch {
	case row >= 0:
		o.NonFinite++
	case refused:
		o.Refused++
	case evicting:
		o.Evicted++
	default:
		o.Missing++
	}
}

// UpdateCounts writes how often each sign's row has been updated, 0 for absent
// rows. Counts stay at 2³⁰−1. It panics unless dst is as long as signs.
func (t *Table) UpdateCounts(signs []uint64, dst []uint32) {
	mustMatch("dst", len(dst), len(signs))
	var c chunk
	for at := 0; at < len(signs); {
		n := t.advance(&c, signs, at, headerBytes)
		for i := range n {
			t.ahead(&c, i, headerBytes)
		}
		t.settle(&c, signs[at:at+n])
		copy(dst[at:], c.counts[:n])
		at += n
	}
}
