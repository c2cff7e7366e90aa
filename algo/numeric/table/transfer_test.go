package table_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/table"
)

// columnsOf returns all rows of a table.
func columnsOf(t *table.Table) *table.Columns {
	n := t.Len()
	c := &table.Columns{Signs: make([]uint64, n), Updates: make([]uint32, n), Read: make([]uint8, n),
		Embeddings: make([]byte, n*t.EmbeddingBytes()), States: make([]byte, n*t.StateBytes())}
	t.CopyRows(0, c)
	return c
}

// A table that gets the rows and the counters of another continues as that one does: any lookups and updates
// read, evict and count the same.
func TestTransferContinues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := config()
		c.MaxRows, c.Evict = rapid.IntRange(1, 60).Draw(t, "capacity"), true
		c.Precision = table.Precision(rapid.IntRange(0, 2).Draw(t, "precision"))
		c.Admission = rapid.SampledFrom([]float64{0, 0.6}).Draw(t, "admission")
		signs := rapid.SliceOfNDistinct(rapid.Uint64Range(0, 150), 0, 50, rapid.ID[uint64])
		batches := rapid.SliceOfN(signs, 2, 10).Draw(t, "batches")
		cut := rapid.IntRange(0, len(batches)).Draw(t, "batches before the transfer")
		train := func(tab *table.Table, first int, batches [][]uint64) {
			for i, signs := range batches {
				values, found := make([]float32, len(signs)*dim), make([]table.Found, len(signs))
				if err := tab.LookupStep(first+i, signs, values, found); err != nil {
					t.Fatal(err)
				}
				for j := range values {
					values[j] = float32(signs[j/dim]%7) / 8
				}
				tab.Apply(signs, values, 0.5, &table.Read{Found: found})
			}
		}
		want, err := table.New(c, table.Heap{})
		if err != nil {
			t.Fatal(err)
		}
		train(want, 0, batches[:cut])
		got, _ := table.New(c, table.Heap{})
		rows := columnsOf(want)
		if err := got.AddRows(rows); err != nil {
			t.Fatal(err)
		}
		if err := got.SetCounters(want.Counters()); err != nil {
			t.Fatal(err)
		}
		train(want, cut, batches[cut:])
		train(got, cut, batches[cut:])
		a, b := columnsOf(got), columnsOf(want)
		if !slices.Equal(a.Signs, b.Signs) || !slices.Equal(a.Updates, b.Updates) ||
			!slices.Equal(a.Read, b.Read) || !slices.Equal(a.Embeddings, b.Embeddings) ||
			!slices.Equal(a.States, b.States) || got.Counters() != want.Counters() {
			t.Fatalf("after the transfer %+v\n%+v, want %+v\n%+v", got.Counters(), a, want.Counters(), b)
		}
	})
}

// Rows without state begin with that of a new row.
func TestRowsWithoutState(t *testing.T) {
	old, fresh := mustNew(t, config()), mustNew(t, config())
	mustLookup(t, old, 3)
	old.Apply([]uint64{3}, []float32{1, 2, 3}, 1, nil)
	rows := columnsOf(old)
	rows.States = nil
	if err := fresh.AddRows(rows); err != nil {
		t.Fatal(err)
	}
	for _, values := range fresh.All() {
		if want := []float32{startState, startState, startState}; !slices.Equal(values[dim:], want) {
			t.Errorf("state %v, want %v", values[dim:], want)
		}
	}
	if got := columnsOf(fresh); !slices.Equal(got.Embeddings, rows.Embeddings) || got.Updates[0] != 1 {
		t.Errorf("%+v, want %+v", got, rows)
	}
}

// Rows and counters that no table can have are refused.
func TestTransferRefuses(t *testing.T) {
	full := config()
	full.MaxRows = 1
	for want, change := range map[string]func(*table.Columns) *table.Config{
		"sign 0x5 comes twice": func(c *table.Columns) *table.Config { c.Signs[1] = c.Signs[0]; return nil },
		"1073741824 updates":   func(c *table.Columns) *table.Config { c.Updates[1] = 1 << 30; return nil },
		"has the mark 2":       func(c *table.Columns) *table.Config { c.Read[0] = 2; return nil },
		"table is full":        func(*table.Columns) *table.Config { return &full },
	} {
		old := mustNew(t, config())
		mustLookup(t, old, 5)
		mustLookup(t, old, 6)
		rows, c := columnsOf(old), config()
		if other := change(rows); other != nil {
			c = *other
		}
		if err := mustNew(t, c).AddRows(rows); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	tab := mustNew(t, config())
	mustLookup(t, tab, 5)
	for _, c := range []table.Counters{{Hand: 1}, {Hand: -1}, {Evicted: -1},
		{Outcomes: table.Outcome{Refused: -1}}} {
		if tab.SetCounters(c) == nil {
			t.Errorf("%+v: no error", c)
		}
	}
	if err := tab.SetCounters(table.Counters{Evicted: 3}); err != nil {
		t.Error(err)
	}
}
