package table_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tandem/algo/numeric/table"
	"tandem/algo/rng"
	"tandem/algo/unit"
)

// shared returns tables of rows of 3, 4 and 5 values in a room.
func shared(t *testing.T, maxRows int, maxBytes unit.Bytes, evict bool) []*table.Table {
	t.Helper()
	var tables []*table.Table
	for dim := 3; dim <= 5; dim++ {
		c := config()
		c.Dim, c.Evict = dim, evict
		tables = append(tables, mustNew(t, c))
	}
	if err := table.NewRoom(maxRows, maxBytes, tables); err != nil {
		t.Fatal(err)
	}
	return tables
}

func totals(tables []*table.Table) (rows int, memory unit.Bytes) {
	for _, tab := range tables {
		rows += tab.Len()
		memory += tab.Memory()
	}
	return rows, memory
}

func lookup(tab *table.Table, sign uint64) error {
	return tab.Lookup([]uint64{sign}, make([]float32, tab.Dim()))
}

// Tables that share a room never have more rows, or more memory, than it. The first takes all but what the
// others keep, and these get it, also when they come late.
func TestTablesShareARoom(t *testing.T) {
	const maxRows, maxBytes = 5000, 8 << 20
	for _, c := range []struct {
		rows int
		room unit.Bytes
	}{{maxRows, 0}, {0, maxBytes}} {
		for _, evict := range []bool{false, true} {
			tables := shared(t, c.rows, c.room, evict)
			full := [3]error{}
			if err := lookup(tables[1], 1); err != nil { // the others keep room for it and 1,024 rows each
				t.Fatal(err)
			}
			for i, tab := range tables { // one after the other, far more than there is room for
				for sign := uint64(1); sign <= 300_000 && full[i] == nil; sign++ {
					full[i] = lookup(tab, sign)
				}
				rows, memory := totals(tables)
				if kept := "room kept for 2047 of other"; !evict && i == 0 && c.rows > 0 &&
					!strings.Contains(fmt.Sprint(full[i]), kept) {
					t.Errorf("error %v, want %q", full[i], kept)
				}
				if c.rows > 0 && rows > c.rows || c.room > 0 && memory > c.room {
					t.Fatalf("%d rows in %v, of %d and %v", rows, memory, c.rows, c.room)
				}
				if evict && full[i] != nil || !evict && (!errors.Is(full[i], table.ErrFull) ||
					!strings.Contains(full[i].Error(), "together") && c.rows > 0 ||
					!strings.Contains(full[i].Error(), "more than 8MiB") && c.room > 0) {
					t.Errorf("evict %v: error %v", evict, full[i])
				}
			}
			if c.rows > 0 && (tables[0].Len() != maxRows-2*table.LeastRows ||
				tables[1].Len() != table.LeastRows || tables[2].Len() != table.LeastRows) {
				t.Errorf("%d, %d and %d rows", tables[0].Len(), tables[1].Len(), tables[2].Len())
			}
			if tables[0].Len() < 2*table.LeastRows || tables[1].Len() < table.LeastRows ||
				tables[2].Len() < table.LeastRows {
				t.Errorf("%d, %d and %d rows", tables[0].Len(), tables[1].Len(), tables[2].Len())
			}
			if evict && tables[0].Evicted() != 300_000-tables[0].Len() {
				t.Errorf("%d rows evicted", tables[0].Evicted())
			}
		}
	}
}

// Rows that come at random to all tables stay within the room, and use all of it.
func TestRoomIsUsedByAllTables(t *testing.T) {
	tables, draw := shared(t, 4000, 0, true), rng.New(1, "room")
	for range 50_000 {
		tab := tables[min(draw.IntN(4), 2)]
		if err := lookup(tab, draw.Uint64N(6000)); err != nil {
			t.Fatal(err)
		}
		if rows, _ := totals(tables); rows > 4000 {
			t.Fatalf("%d rows", rows)
		}
	}
	if rows, _ := totals(tables); rows != 4000 {
		t.Errorf("%d rows, want 4000", rows)
	}
}

// A room that has no place for the first rows of each table is refused.
func TestRoomsAreLargeEnough(t *testing.T) {
	for want, room := range map[string]struct {
		rows  int
		bytes unit.Bytes
	}{
		"2 rows for 3 tables": {2, 0},
		"of the first 1024 rows of each of 3 tables: raise max bytes": {0, 1 << 20},
	} {
		var tables []*table.Table
		for range 3 {
			tables = append(tables, mustNew(t, config()))
		}
		err := table.NewRoom(room.rows, room.bytes, tables)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
