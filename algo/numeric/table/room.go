package table

import (
	"fmt"

	"tandem/algo/unit"
)

// Room bounds several tables together. They grow as their rows come: none has a share of its own, but each
// keeps room for its first rows, however large the others become:
//
//	rows     min(LeastRows, MaxRows ÷ number of tables)
//	memory   that of LeastRows rows
//
// When there is no more room, a table that needs it evicts a row of its own, or is full. The tables of a Room
// are used by one goroutine at a time. Cost: a look at each table for a new row.
type Room struct {
	maxRows  int
	maxBytes unit.Bytes
	tables   []*Table
}

// NewRoom makes the tables, which have no rows and no bounds of their own, share a bound on their rows and on
// their memory; 0 is no bound. It returns an error if there is no room for the first rows of all.
func NewRoom(maxRows int, maxBytes unit.Bytes, tables []*Table) error {
	r := &Room{maxRows, maxBytes, tables}
	least := unit.Bytes(0)
	for _, t := range tables {
		if t.rows > 0 || t.config.MaxRows > 0 || t.config.MaxBytes > 0 {
			panic("table: a room for tables with rows, or with bounds of their own")
		}
		least += t.leastBytes()
	}
	if maxRows > 0 && maxRows < len(tables) {
		return fmt.Errorf("table: %d rows for %d tables: raise max rows to one for each at least", maxRows,
			len(tables))
	}
	if maxBytes > 0 && maxBytes < least {
		return fmt.Errorf("table: memory of %v is less than the %v of the first %d rows of each of %d "+
			"tables: raise max bytes, or make rows narrower", maxBytes, least, LeastRows, len(tables))
	}
	for _, t := range tables {
		t.room = r
	}
	return nil
}

// kept returns the number of rows for which each table keeps room.
func (r *Room) kept() int { return min(LeastRows, r.maxRows/len(r.tables)) }

// hasRow reports whether a table may have one more row.
func (r *Room) hasRow(of *Table) bool {
	if r == nil || r.maxRows == 0 {
		return true
	}
	all := 0
	for _, t := range r.tables {
		rows := t.rows
		if t == of {
			rows++
		}
		all += max(rows, r.kept())
	}
	return all <= r.maxRows
}

// hasBytes reports whether a table may have some more memory.
func (r *Room) hasBytes(of *Table, more int) bool {
	if r == nil || r.maxBytes == 0 {
		return true
	}
	all := unit.Bytes(0)
	for _, t := range r.tables {
		bytes := t.Memory()
		if t == of {
			bytes += unit.Bytes(more)
		}
		all += max(bytes, t.leastBytes())
	}
	return all <= r.maxBytes
}

// limit describes what keeps a table from growing.
func (r *Room) limit(of *Table) string {
	rows, memory, free, spare := 0, unit.Bytes(0), 0, unit.Bytes(0)
	for _, t := range r.tables {
		rows += t.rows
		memory += t.Memory()
		if r.maxRows > 0 {
			free += max(r.kept()-t.rows, 0)
		}
		spare += max(t.leastBytes()-t.Memory(), 0)
	}
	if !r.hasRow(of) {
		return fmt.Sprintf("%d rows in %d tables, and room kept for %d of other tables, of at most %d "+
			"together; raise max rows, let them evict, or use more shards", rows, len(r.tables), free,
			r.maxRows)
	}
	return fmt.Sprintf("%d rows of %d tables in %v, and %v kept for other tables, and more would take more "+
		"than %v; raise max bytes, let them evict, or use more shards", rows, len(r.tables), memory, spare,
		r.maxBytes)
}
