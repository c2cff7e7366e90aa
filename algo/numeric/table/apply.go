package table

import (
	"slices"

	"tandem/algo/numeric/opt"
)

// Outcome counts the gradient rows of an Apply by what Apply did with them. Every
// gradient row has exactly one outcome, so the sum is the number of rows.
type Outcome struct {
	Applied   int // the row was updated
	Missing   int // there is no such row, in a table that neither refuses nor loses rows
	Refused   int // there is no such row: admission has refused it so far
	Evicted   int // there is no such row: it has been evicted, or has expired
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

// Read describes for an Apply the state of the rows from which its gradients were
// computed.
type Read struct {
	// Found, as long as the signs, is what LookupStep wrote. The signs are distinct.
	Found []Found
	// Missed, if not nil, is called with the numbers of updates of rows since the read, for every gradient
	// applied: with a number, and how many gradients, one after another, have it. Calls come one at a time.
	Missed func(updates uint32, gradients int)
	// Weight, if not nil, returns the factor on the learning rate of a gradient that
	// has missed a number of updates. A table with a pool calls it from several goroutines.
	Weight func(missed int) float32
}

// Apply updates the row of each sign by its gradient, at a learning rate, and counts
// the outcomes. A row changes, and its update count grows by one, only if the row exists
// and its whole gradient is finite. A repeated sign is updated once for each occurrence,
// in order. In a table that both refuses and loses rows, Apply can tell the two apart
// only by Read; without Read it counts such rows as refused.
//
// Shapes: grads is len(signs) × Dim, row-major, and is not changed. Read may be
// nil.
//
// It panics if the lengths disagree. Cost: one application of the optimizer a
// sign and, without Read or where the row has been evicted since, one probe of the
// index.
func (t *Table) Apply(signs []uint64, grads []float32, rate float32, read *Read) Outcome {
	mustMatch("grads", len(grads), len(signs)*t.config.Dim)
	return t.apply(signs, gradients{values: grads}, rate, read)
}

// Gradients returns the gradients of the signs from lo to below hi, (hi−lo) × Dim values. It may compute them
// in scratch, which has that length. A table with a pool calls it from several goroutines.
type Gradients func(scratch []float32, lo, hi int) []float32

// ApplyFrom is Apply with gradients that are computed a few rows at a time: so they are in the first cache
// when the rows, which are being fetched meanwhile, are updated.
func (t *Table) ApplyFrom(signs []uint64, grads Gradients, rate float32, read *Read) Outcome {
	return t.apply(signs, gradients{from: grads}, rate, read)
}

// gradients are those of an Apply: values, or where they come from.
type gradients struct {
	values []float32
	from   Gradients
}

// of returns the gradients of the signs from lo to below hi.
func (g *gradients) of(scratch []float32, lo, hi, dim int) []float32 {
	if g.from == nil {
		return g.values[lo*dim : hi*dim]
	}
	values := g.from(scratch[:(hi-lo)*dim], lo, hi)
	mustMatch("gradients", len(values), (hi-lo)*dim)
	return values
}

func (t *Table) apply(signs []uint64, grads gradients, rate float32, read *Read) (all Outcome) {
	t.thaw()
	parts := 1
	if read != nil {
		mustMatch("found", len(read.Found), len(signs))
		parts = t.shares(len(signs))
	}
	if parts == 1 {
		all = t.applyShare(t.work[0], signs, 0, &grads, rate, read)
	} else {
		all = t.applyShared(parts, signs, grads, rate, *read)
	}
	t.outcomes.Add(all)
	return all
}

// applyShare is apply for a part of the signs, whose gradients begin at a position.
func (t *Table) applyShare(c *chunk, signs []uint64, first int, grads *gradients, rate float32,
	read *Read) (outcome Outcome) {
	c.found = nil
	if read != nil {
		c.found = read.Found
	}
	for i := range c.rates {
		c.rates[i] = rate
	}
	scratch := c.gradients(t.config.Dim)
	for at := 0; at < len(signs); {
		n := t.advance(c, signs, at, t.rowBytes)
		t.settle(c, signs[at:at+n])
		if read != nil && read.Weight != nil {
			for i := range n {
				c.rates[i] = rate * read.Weight(int(read.Found[at+i].Missed(c.counts[i])))
			}
		}
		t.updateFrozen(c, n, grads.of(scratch, first+at, first+at+n, t.config.Dim))
		applied := outcome.Applied
		for i, done := range c.done[:n] {
			if done {
				outcome.Applied++
				continue
			}
			refused := t.refuses() && !(t.loses() && read != nil && !read.Found[at+i].Refused())
			outcome.lose(c.rows[i], refused, t.loses())
		}
		if read != nil && read.Missed != nil && outcome.Applied > applied {
			c.missed(read.Found[at:at+n], read.Missed)
		}
		at += n
	}
	c.batch, c.found = opt.Batch{}, nil // release the gradients and the read
	return outcome
}

// loses reports whether a row may go between the read of a gradient and its Apply.
func (t *Table) loses() bool { return t.config.Evict || t.config.Expiry > 0 }

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
		c.batch.Next, c.batch.Groups = c.nextPlaces[:n], c.groupPlaces[:n]
		c.batch.From, c.batch.To = c.from, c.to
	} else {
		t.ahead(c, 0, n)
	}
	if t.many != nil && t.updateMany(c, n) {
		return
	}
	for i, row := range c.rows[:n] {
		if c.batch.Next != nil {
			t.ahead(c, i, i+1)
		}
		if c.done[i] = row >= 0; row >= 0 {
			c.done[i] = t.updateOne(c, int(row), grads[i*dim:(i+1)*dim], c.rates[i])
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
		c.batch.Values = c.wideValues(t.config.Dim)[:n*t.config.Dim]
		v := t.view()
		t.copyRows(&v, c.batch.Values, c.rows[:n])
	}
	t.many.ApplyBatch(&c.batch)
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
func (t *Table) updateOne(c *chunk, row int, grad []float32, rate float32) bool {
	embedding := t.open(c, row)
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
