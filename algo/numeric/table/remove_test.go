package table_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/table"
)

// bySign returns the rows of tables with all their bits, in the order of their signs.
func bySign(tables ...*table.Table) (rows []string, signs []uint64) {
	all := map[uint64]string{}
	for _, t := range tables {
		c, embedding, state := columnsOf(t), t.EmbeddingBytes(), t.StateBytes()
		for i, sign := range c.Signs {
			all[sign] += string(c.Embeddings[i*embedding:][:embedding]) +
				string(c.States[i*state:][:state]) + fmt.Sprint(c.Updates[i], c.Read[i])
			signs = append(signs, sign)
		}
	}
	slices.Sort(signs)
	for _, sign := range signs {
		rows = append(rows, all[sign])
	}
	return rows, signs
}

// Rows that move from table to table and back, between lookups and updates of any of them, have the bits of
// rows that have stayed in one table. What is frozen stays what it was.
func TestRowsMoveBetweenTables(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := config()
		c.Precision = table.Precision(rapid.IntRange(0, 2).Draw(t, "precision"))
		c.Admission = rapid.SampledFrom([]float64{0, 0.6}).Draw(t, "admission")
		alone, tables := mustMake(t, c), [2]*table.Table{mustMake(t, c), mustMake(t, c)}
		owner := map[uint64]int{}
		signs := rapid.SliceOfNDistinct(rapid.Uint64Range(0, 300), 0, 80, rapid.ID[uint64])
		for step := range rapid.IntRange(1, 8).Draw(t, "steps") {
			batch := signs.Draw(t, "batch")
			trainOn(t, alone, step, batch)
			for i, tab := range tables {
				trainOn(t, tab, step, slices.DeleteFunc(slices.Clone(batch), func(sign uint64) bool {
					return owner[sign] != i
				}))
			}
			from := rapid.IntRange(0, 1).Draw(t, "from")
			moved := slices.DeleteFunc(signs.Draw(t, "moved"), func(sign uint64) bool {
				return owner[sign] != from
			})
			frozen, want := tables[from].Freeze(make([]byte, 1<<20), nil), columnsOf(tables[from])
			rows := tables[from].RemoveRows(moved)
			if err := tables[1-from].AddRows(rows); err != nil {
				t.Fatal(err)
			}
			for _, sign := range moved {
				owner[sign] = 1 - from
			}
			trainOn(t, tables[from], step, []uint64{uint64(1000 + step)}) // where the last row was
			trainOn(t, alone, step, []uint64{uint64(1000 + step)})
			owner[uint64(1000+step)] = from
			if got := readFrozen(frozen, rand.New(rand.NewPCG(1, 1)), func() {}); !equalColumns(got, want) {
				t.Fatalf("step %d: frozen rows %+v, want %+v", step, got, want)
			}
			got, of := bySign(tables[:]...)
			wanted, all := bySign(alone)
			if !slices.Equal(of, all) || !slices.Equal(got, wanted) {
				t.Fatalf("step %d: rows %v\n%q, want %v\n%q", step, of, got, all, wanted)
			}
		}
	})
}

func mustMake(t *rapid.T, c table.Config) *table.Table {
	made, err := table.New(c, table.Heap{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// trainOn looks up rows and updates them by gradients that follow from the signs.
func trainOn(t *rapid.T, tab *table.Table, step int, signs []uint64) {
	values, found := make([]float32, len(signs)*dim), make([]table.Found, len(signs))
	if err := tab.LookupStep(step, signs, values, found); err != nil {
		t.Fatal(err)
	}
	for i := range values {
		values[i] = float32(signs[i/dim]%7) / 8
	}
	tab.Apply(signs, values, 0.5, &table.Read{Found: found})
}

// A full table has room for as many rows as were removed, and eviction goes on at a row that it has.
func TestRemovedRowsMakeRoom(t *testing.T) {
	c := config()
	c.MaxRows, c.Evict = 4, true
	tab := mustNew(t, c)
	mustLookup(t, tab, 1, 2, 3, 4, 5) // 5 takes the place of 1
	if got := tab.Counters(); got.Hand != 1 || got.Evicted != 1 {
		t.Fatalf("counters %+v", got)
	}
	if rows := tab.RemoveRows([]uint64{4, 7, 3, 2}); !slices.Equal(rows.Signs, []uint64{4, 3, 2}) {
		t.Errorf("removed %v, want 4, 3 and 2", rows.Signs)
	}
	if got := tab.Counters(); got.Hand != 0 || tab.Len() != 1 {
		t.Errorf("counters %+v and %d rows, want no hand and 1 row", got, tab.Len())
	}
	mustLookup(t, tab, 6, 7, 8)
	if got := tab.Counters(); got.Evicted != 1 || tab.Len() != 4 {
		t.Errorf("%d rows evicted, %d are there; want 1 and 4", got.Evicted, tab.Len())
	}
	missing := tab.Snapshot([]uint64{5, 6, 7, 8, 2}, make([]float32, 5*dim))
	if missing != 1 {
		t.Errorf("%d rows are missing, want that of 2", missing)
	}
}
