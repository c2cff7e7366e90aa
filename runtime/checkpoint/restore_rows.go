package checkpoint

import (
	"errors"
	"fmt"

	"tandem/algo/exec"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/shard"
	"tandem/algo/numeric/table"
)

// rowsRestore replaces the rows of the tables of this process by those of a model.
type rowsRestore struct {
	*Checkpoint
	plan     shard.Plan
	dims     batch.Dims     // of the state
	saved    batch.Dims     // of the model
	several  int            // kinds of rows of the state
	places   int            // kinds of rows of the model
	tables   []*table.Table // by number of the shelf; nil if this process does not have it
	training bool           // also optimizer states and counters
	// kept counts, by file, the rows that have gone to the table of the same number.
	kept []int
}

// restoreRows replaces the rows of the tables of this process.
func (c *Checkpoint) restoreRows(state exec.State, training bool) error {
	saved, err := c.Schema.Batch()
	if err != nil {
		return err
	}
	r := &rowsRestore{Checkpoint: c, plan: state.Plan(), dims: state.Schema().Dims(), saved: saved.Dims(),
		several: dimsOf(state), places: len(c.Manifest.Rows.ByDim()), training: training,
		kept: make([]int, len(c.files))}
	for owner := range r.plan.Owners() {
		tables := state.Tables(owner)
		if tables == nil {
			tables = make([]*table.Table, r.several)
		}
		for place, t := range tables {
			if t == nil {
				continue
			}
			for from := range r.places {
				if !r.feeds(from, place, state.Schema()) {
					continue
				}
				if err := r.check(t, from); err != nil {
					return err
				}
			}
		}
		r.tables = append(r.tables, tables...)
	}
	for i, f := range c.files {
		if !r.concerns(i) {
			continue
		}
		if err := c.verifyRows(i, 0); err != nil {
			return err
		}
		for b := range f.batches() {
			if err := r.add(i, b); err != nil {
				return fmt.Errorf("%s: %w", c.Manifest.Rows.fileNames(i)[0], err)
			}
		}
	}
	if !training {
		return nil
	}
	if err := r.restoreCandidates(); err != nil {
		return err
	}
	return r.setCounters()
}

// sameTables reports whether rows that share a table in the model share one in the state, and the places of
// the tables are the same. Then the number of a file is that of its table.
func (r *rowsRestore) sameTables() bool { return r.places == r.several && r.dims.SameTables(r.saved) }

// feeds reports whether rows of a kind of the model belong into a table of the state, given by their places.
func (r *rowsRestore) feeds(from, place int, schema *batch.Schema) bool {
	if r.sameTables() {
		return from == place
	}
	for s := range schema.Slots {
		prefix := schema.Signer(s).Prefix()
		if r.saved.Place(prefix) == from && r.dims.Place(prefix) == place {
			return true
		}
	}
	return false
}

// check returns an error if a table cannot take the rows of a kind of the model.
func (r *rowsRestore) check(t *table.Table, from int) error {
	format := r.Manifest.Rows.dim(from)
	switch {
	case t.Len() > 0:
		return errors.New("the state has rows already")
	case t.Dim() != format.Dim || t.Precision().String() != format.Precision:
		return fmt.Errorf("rows of %d values of %s in the model, and of %d values of %s in the job",
			format.Dim, format.Precision, t.Dim(), t.Precision())
	case r.training && t.StateBytes() != 4*format.StateValues:
		return fmt.Errorf("rows with %d values of optimizer state in the model, and %d in the job",
			format.StateValues, t.StateBytes()/4)
	}
	return nil
}

// sameServers reports whether the state has as many embedding PSs as the model. A row that is hot in neither
// then stays where it is.
func (r *rowsRestore) sameServers() bool { return r.plan.Servers() == r.Manifest.Rows.PSs() }

// table returns the table of a number, or nil if this process, or the plan, has none.
func (r *rowsRestore) table(number int) *table.Table {
	if number >= len(r.tables) {
		return nil
	}
	return r.tables[number]
}

// of returns the number of the table of a sign.
func (r *rowsRestore) of(sign uint64) int {
	return r.plan.Owner(sign)*r.several + max(r.dims.Place(sign), 0)
}

// concerns reports whether this process reads a file. It does if the file has rows of one of its tables. Of a
// file without any, one process checks the checksum.
func (r *rowsRestore) concerns(file int) bool {
	if r.tables[file%len(r.tables)] != nil {
		return true
	}
	if r.stays(file) {
		return false
	}
	for sign := range r.files[file].signs() {
		if r.tables[r.of(sign)] != nil {
			return true
		}
	}
	return false
}

// stays reports whether all of a file belongs to the table of its number: a row of a PS that is not hot stays
// on it.
func (r *rowsRestore) stays(file int) bool {
	servers := r.plan.Servers() * r.several
	return r.sameServers() && r.sameTables() && file < servers && r.table(servers) == nil
}

// add adds the rows of a batch of a file to the tables that own them.
func (r *rowsRestore) add(file int, b *table.Columns) error {
	of, counts := make([]int, len(b.Signs)), make([]int, len(r.tables))
	for i, sign := range b.Signs {
		if r.places > 1 && r.saved.Place(sign) != file%r.places || r.several > 1 && r.dims.Place(sign) < 0 {
			return fmt.Errorf("the row of sign %#x is of a slot with another kind of rows", sign)
		}
		of[i] = r.of(sign)
		counts[of[i]]++
	}
	if file < len(counts) {
		r.kept[file] += counts[file]
	}
	for owner, t := range r.tables {
		if t == nil || counts[owner] == 0 {
			continue
		}
		part := b
		if counts[owner] < len(b.Signs) {
			part = ownedRows(b, of, owner, t.EmbeddingBytes())
		}
		if !r.training {
			fresh := *part
			fresh.States = nil
			part = &fresh
		}
		if err := t.AddRows(part); err != nil {
			return err
		}
	}
	return nil
}

// ownedRows returns the rows of a batch that an owner has; of has the owner of each.
func ownedRows(b *table.Columns, of []int, owner, embedding int) *table.Columns {
	part, state := table.NewColumns(0, 0, 0), len(b.States)/len(b.Signs)
	for i := range of {
		if of[i] == owner {
			part.Signs = append(part.Signs, b.Signs[i])
			part.Updates = append(part.Updates, b.Updates[i])
			part.Read = append(part.Read, b.Read[i])
			part.Embeddings = append(part.Embeddings, b.Embeddings[i*embedding:][:embedding]...)
			part.States = append(part.States, b.States[i*state:][:state]...)
		}
	}
	return part
}

// setCounters sets what the tables remember besides rows. With as many PSs as the model, every owner has its
// own counts; eviction goes on where it was if the owner has the rows that it had. With another number of
// PSs, or of hot rows that are no longer hot, the counts are added to those of the first PS: those of a table
// to those of the same kind of rows, or all to its first if slots share tables otherwise. The latest step for
// which rows expired is that of the first PS then, too: the others take it that none was due before they go
// on, so that a removal which a PS had not made up for is left out, and its rows may stay once more as long.
func (r *rowsRestore) setCounters() error {
	counters := make([]*table.Counters, len(r.tables))
	r.inPlace = map[int]*table.Table{}
	for from, described := range r.Manifest.Rows.ByOwner() {
		c, to, stays := described.counters(), 0, false
		if r.sameTables() {
			to, stays = from%r.several, r.sameServers() && from < len(r.tables)
		}
		if stays {
			to = from
		}
		if counters[to] == nil {
			counters[to] = new(table.Counters)
		}
		counters[to].Evicted += c.Evicted
		counters[to].Swept = max(counters[to].Swept, c.Swept)
		counters[to].Outcomes.Add(c.Outcomes)
		if t := r.tables[to]; stays && t != nil && r.kept[from] == t.Len() && t.Len() == described.Rows {
			counters[to].Hand = c.Hand
			r.inPlace[from] = t
		}
	}
	for owner, t := range r.tables {
		if t == nil || counters[owner] == nil {
			continue
		}
		if err := t.SetCounters(*counters[owner]); err != nil {
			return err
		}
	}
	return nil
}
