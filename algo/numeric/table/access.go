package table

import (
	"fmt"
	"slices"

	"tandem/algo/numeric/opt"
	"tandem/algo/rng"
)

// Outcome counts the gradient rows of an Apply by what Apply did with them. Every
// gradient row has exactly one outcome, so the sum is the number of rows.
type Outcome struct {
	Applied   int // the row was updated
	Missing   int // there is no such row, in a table that neither refuses nor evicts rows
	Refused   int // there is no such row: admission has refused it so far
	Evicted   int // there is no such row: it has been evicted
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
	return t.lookup(signs, dst, nil, func(uint64) bool { return true })
}

// LookupStep is Lookup for a training step: it creates an absent row with the
// probability Config.Admission, and otherwise reads zeros. A sign that appears in k
// steps therefore has a row with the probability 1 − (1 − Admission)^k, and ids that
// appear once take little memory.
//
// The draw is a function of seed, sign and step. All reads of a step agree on it, on
// any shard and in any order.
//
// Found is nil or as long as signs. LookupStep writes to it where each row is and how
// often it has been updated, which the Apply of the gradients uses.
//
// Source: Persia's admit_probability. Deviation: Persia draws again at every lookup,
// without a seed.
func (t *Table) LookupStep(step int, signs []uint64, dst []float32, found []Found) error {
	return t.lookup(signs, dst, found, func(sign uint64) bool { return t.admits(step, sign) })
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
	if !t.refuses() {
		return true
	}
	return float64(rng.Unit(rng.Key(t.config.Seed, "admission", sign), step)) < t.config.Admission
}

// refuses reports whether a step may refuse to create a row.
func (t *Table) refuses() bool { return t.config.Admission > 0 && t.config.Admission < 1 }

// lookup copies the rows of signs and creates absent rows that are admitted. A
// creation may evict the row of another sign, so lookup first copies the rows of the
// signs before it.
func (t *Table) lookup(signs []uint64, dst []float32, found []Found, admits func(sign uint64) bool) error {
	dim := t.config.Dim
	mustMatch("dst", len(dst), len(signs)*dim)
	if found != nil {
		mustMatch("found", len(found), len(signs))
	}
	var c chunk
	t.thaw()
	marks := uint32(mark)
	if t.frozen != nil {
		marks = 0 // markRead sets them
	}
	for at := 0; at < len(signs); {
		n := t.advance(&c, signs, at, t.stateAt)
		part, out := signs[at:at+n], dst[at*dim:(at+n)*dim]
		for i := 0; i < n; i++ {
			lo := i
			i = t.confirm(&c, part, lo, marks)
			if marks == 0 {
				t.markRead(c.rows[lo:i])
			}
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

// Read describes for an Apply the state of the rows from which its gradients were
// computed.
type Read struct {
	// Found, as long as the signs, is what LookupStep wrote. The signs are distinct.
	Found []Found
	// Missed, if not nil, is called with the numbers of updates of rows since the read, for every gradient
	// applied, in order: with a number, and how many gradients, one after another, have it.
	Missed func(updates uint32, gradients int)
	// Weight, if not nil, returns the factor on the learning rate of a gradient that
	// has missed a number of updates.
	Weight func(missed int) float32
}

// Apply updates the row of each sign by its gradient, at a learning rate, and counts
// the outcomes. A row changes, and its update count grows by one, only if the row exists
// and its whole gradient is finite. A repeated sign is updated once for each occurrence,
// in order. In a table that both refuses and evicts rows, Apply can tell the two apart
// only by Read; without Read it counts such rows as refused.
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
	return t.ApplyFrom(signs, func(_ []float32, lo, hi int) []float32 { return grads[lo*dim : hi*dim] }, rate,
		read)
}

// Gradients returns the gradients of the signs from lo to below hi, (hi−lo) × Dim values. It may compute them
// in scratch, which has that length.
type Gradients func(scratch []float32, lo, hi int) []float32

// ApplyFrom is Apply with gradients that are computed a few rows at a time, in order: so they are in the
// first cache when the rows, which are being fetched meanwhile, are updated.
func (t *Table) ApplyFrom(signs []uint64, grads Gradients, rate float32, read *Read) Outcome {
	if read != nil {
		mustMatch("found", len(read.Found), len(signs))
	}
	var outcome Outcome
	c := t.work
	c.found = nil
	for i := range c.rates {
		c.rates[i] = rate
	}
	t.thaw()
	if read != nil {
		c.found = read.Found
	}
	for at := 0; at < len(signs); {
		n := t.advance(c, signs, at, 0) // update prefetches, since rows that were found are not probed
		t.settle(c, signs[at:at+n])
		if read != nil && read.Weight != nil {
			for i := range n {
				c.rates[i] = rate * read.Weight(int(read.Found[at+i].Missed(c.counts[i])))
			}
		}
		own := grads(t.scratch()[:n*t.config.Dim], at, at+n)
		mustMatch("gradients", len(own), n*t.config.Dim)
		t.updateFrozen(c, n, own)
		applied := outcome.Applied
		for i, done := range c.done[:n] {
			if done {
				outcome.Applied++
				continue
			}
			refused := t.refuses() && !(t.config.Evict && read != nil && !read.Found[at+i].Refused())
			outcome.lose(c.rows[i], refused, t.config.Evict)
		}
		if read != nil && read.Missed != nil && outcome.Applied > applied {
			c.missed(read.Found[at:at+n], read.Missed)
		}
		at += n
	}
	c.batch, c.found = opt.Batch{}, nil // release the gradients and the read
	t.outcomes.Add(outcome)
	return outcome
}

// scratch returns memory for the gradients of a chunk.
func (t *Table) scratch() []float32 {
	if t.grads == nil {
		t.grads = make([]float32, chunkSigns*t.config.Dim)
	}
	return t.grads
}

// missed calls Read.Missed for the rows of a chunk that have been updated.
func (c *chunk) missed(found []Found, missed func(updates uint32, gradients int)) {
	var updates uint32
	run := 0
	for i, f := range found {
		if !c.done[i] {
			continue
		}
		if m := f.Missed(c.counts[i]); m != updates {
			if run > 0 {
				missed(updates, run)
			}
			updates, run = m, 0
		}
		run++
	}
	missed(updates, run)
}

// updateFrozen is update of n rows, of which some may be frozen.
func (t *Table) updateFrozen(c *chunk, n int, grads []float32) {
	if t.frozen == nil {
		t.update(c, grads)
		return
	}
	t.frozen.mu.Lock()
	defer t.frozen.mu.Unlock()
	for _, row := range c.rows[:n] {
		if row >= 0 {
			t.frozen.keep(int(row))
		}
	}
	t.update(c, grads)
}

// update applies the gradients of the current chunk to its rows, and records which rows
// it updated.
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
			t.ahead(c, i)
		}
	}
	if t.many != nil && t.updateMany(c, n) {
		return
	}
	for i, row := range c.rows[:n] {
		if c.batch.Next != nil {
			t.ahead(c, i)
		}
		if c.done[i] = row >= 0; row >= 0 {
			c.done[i] = t.updateOne(int(row), grads[i*dim:(i+1)*dim], c.rates[i])
		}
	}
}

// updateMany updates the rows of the batch of a chunk by a kernel, or does nothing and returns false. Narrow
// values are widened first, and rounded afterwards.
func (t *Table) updateMany(c *chunk, n int) bool {
	narrow := t.config.Precision != FP32
	if narrow {
		if slices.Contains(c.rows[:n], -1) {
			return false // an absent row has no values to widen
		}
		c.batch.Values = t.wideValues()[:n*t.config.Dim]
		t.copyRows(c.batch.Values, c.rows[:n], nil)
	}
	if !t.many.ApplyBatch(&c.batch) {
		t.many = nil // it has no kernel: do not ask again
		return false
	}
	for i, done := range c.done[:n] {
		if !done {
			continue
		}
		countUpdate((*[headerWords]uint32)(c.places[i]))
		if narrow {
			t.close(int(c.rows[i]), c.batch.Values[i*t.config.Dim:][:t.config.Dim])
		}
	}
	return true
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

// lose counts a gradient that was not applied. Row is −1 if there is no row.
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
		t.askAll(&c, 0)
		t.settle(&c, signs[at:at+n])
		copy(dst[at:], c.counts[:n])
		at += n
	}
}
