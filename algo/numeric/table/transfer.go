package table

import (
	"fmt"
	"unsafe"

	"tandem/algo/rng"
)

// Columns are consecutive rows of a table, column by column: the bits of the rows, so that a table that gets
// them continues as the table that they came from would have.
type Columns struct {
	Signs   []uint64
	Updates []uint32 // how often each row has been updated
	// Read is 1 for a row that has been read since eviction or expiry last examined it, and 0 for all others.
	Read []uint8
	// Embeddings and States are rows × EmbeddingBytes and rows × StateBytes, in the byte order of the
	// processor. States may be nil for AddRows, which then begins with the state of a new row.
	Embeddings, States []byte
}

// NewColumns returns Columns to be written, of rows of a number of bytes of embedding and of state.
func NewColumns(rows, embedding, state int) *Columns {
	return &Columns{Signs: make([]uint64, rows), Updates: make([]uint32, rows), Read: make([]uint8, rows),
		Embeddings: make([]byte, rows*embedding), States: make([]byte, rows*state)}
}

// AppendSelected appends the rows of others whose signs it keeps, in their order.
func (c *Columns) AppendSelected(others *Columns, keep func(sign uint64) bool) {
	n := max(len(others.Signs), 1)
	embedding, state := len(others.Embeddings)/n, len(others.States)/n
	for i, sign := range others.Signs {
		if keep(sign) {
			c.Signs, c.Updates = append(c.Signs, sign), append(c.Updates, others.Updates[i])
			c.Read = append(c.Read, others.Read[i])
			c.Embeddings = append(c.Embeddings, others.Embeddings[i*embedding:(i+1)*embedding]...)
			c.States = append(c.States, others.States[i*state:(i+1)*state]...)
		}
	}
}

// EmbeddingBytes returns the length of one embedding in Columns: Dim values of the table's precision.
func (t *Table) EmbeddingBytes() int {
	if t.config.Precision == FP32 {
		return 4 * t.config.Dim
	}
	return 2 * t.config.Dim
}

// StateBytes returns the length of the optimizer state of one row in Columns, whose values are float32.
func (t *Table) StateBytes() int { return t.rowBytes - t.stateAt }

// Precision returns the format of the embedding values.
func (t *Table) Precision() Precision { return t.config.Precision }

// mustFit panics unless all columns have as many rows as there are signs.
func (t *Table) mustFit(c *Columns) {
	n := len(c.Signs)
	mustMatch("updates", len(c.Updates), n)
	mustMatch("read", len(c.Read), n)
	mustMatch("embeddings", len(c.Embeddings), n*t.EmbeddingBytes())
	if c.States != nil {
		mustMatch("states", len(c.States), n*t.StateBytes())
	}
}

// bytesOf returns a part of a row, where it lies.
func (t *Table) bytesOf(row, at, length int) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(t.place(row), at)), length)
}

// CopyRows copies len(c.Signs) rows, from row first on in the order of creation, to c. It panics if the table
// does not have these rows, or if the lengths of the columns disagree.
func (t *Table) CopyRows(first int, c *Columns) {
	t.mustFit(c)
	if n := len(c.Signs); first < 0 || first+n > t.rows {
		panic(fmt.Sprintf("table: rows %d to %d of %d", first, first+n, t.rows))
	}
	for i := range c.Signs {
		t.copyRow(t.place(first+i), t.header(first + i)[2], i, c)
	}
}

// copyRow copies a row, which begins at a place, to row i of c, with a third word of its header.
func (t *Table) copyRow(place unsafe.Pointer, word uint32, i int, c *Columns) {
	words := (*[headerWords]uint32)(place)
	c.Signs[i] = uint64(words[0]) | uint64(words[1])<<32
	c.Updates[i], c.Read[i] = word&maxUpdates, uint8(word&mark/mark)
	embedding, state := t.EmbeddingBytes(), t.StateBytes()
	copy(c.Embeddings[i*embedding:], unsafe.Slice((*byte)(unsafe.Add(place, headerBytes)), embedding))
	copy(c.States[i*state:], unsafe.Slice((*byte)(unsafe.Add(place, t.stateAt)), state))
}

// AddRows adds rows that the table does not have, in their order; in a full table that evicts, they replace
// others. It returns an error that names the first row that cannot be added; the rows before it have been
// added then. It panics if the lengths of the columns disagree.
func (t *Table) AddRows(c *Columns) error {
	t.mustFit(c)
	defer t.lockChanges()()
	embedding, state := t.EmbeddingBytes(), t.StateBytes()
	for i, sign := range c.Signs {
		hash := rng.Mix(sign)
		switch {
		case t.find(sign, hash) >= 0:
			return fmt.Errorf("table: the row of sign %#x comes twice", sign)
		case c.Updates[i] > maxUpdates:
			return fmt.Errorf("table: the row of sign %#x has %d updates, at most %d", sign, c.Updates[i],
				maxUpdates)
		case c.Read[i] > 1:
			return fmt.Errorf("table: the row of sign %#x has the mark %d, want 0 or 1", sign, c.Read[i])
		}
		row, err := t.claim(sign, hash)
		if err != nil {
			return err
		}
		t.header(row)[2] |= c.Updates[i] | uint32(c.Read[i])*mark
		copy(t.bytesOf(row, headerBytes, embedding), c.Embeddings[i*embedding:])
		if c.States == nil {
			t.config.Optimizer.Init(t.state(row))
		} else {
			copy(t.bytesOf(row, t.stateAt, state), c.States[i*state:])
		}
	}
	return nil
}

// Counters are what a table remembers besides its rows.
type Counters struct {
	Hand     int // the row that eviction examines next
	Swept    int // the latest step for which ExpireAt has removed rows; 0: none
	Evicted  int // rows evicted or expired so far
	Outcomes Outcome
}

// Counters returns what the table remembers besides its rows.
func (t *Table) Counters() Counters { return Counters{t.hand, t.swept, t.evicted, t.outcomes} }

// SetCounters replaces what the table remembers besides its rows. It returns an error, and changes nothing,
// if the table has no such row or a count is negative.
func (t *Table) SetCounters(c Counters) error {
	o := c.Outcomes
	if min(c.Hand, c.Swept, c.Evicted, o.Applied, o.Missing, o.Refused, o.Evicted, o.NonFinite) < 0 {
		return fmt.Errorf("table: negative counters: %+v", c)
	}
	if c.Hand >= max(t.rows, 1) {
		return fmt.Errorf("table: eviction would examine row %d of %d next", c.Hand, t.rows)
	}
	t.hand, t.swept, t.evicted, t.outcomes = c.Hand, c.Swept, c.Evicted, c.Outcomes
	return nil
}
