package exec

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec/exectest"
	"tandem/algo/job"
	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/shard"
	"tandem/algo/numeric/table"
	"tandem/algo/rng"
	"tandem/algo/unit"
)

// Ranks may hold as many hot rows as a PS may hold rows. The error has the arithmetic.
func TestHotRowsFitIntoTheMemoryOfRows(t *testing.T) {
	h := mustNew(t, withHotRows(t, exectest.Job(2, 2)), exectest.NewColumns(16, 16)).model.hot
	n, table := h.set.Len(), h.table()
	bytes := table.EmbeddingBytes() + table.StateBytes()
	for _, c := range []struct {
		memory, capacity int
		want             string // "": no error
	}{
		{bytes * n, n, ""},
		{bytes*n - 1, 0, "on every rank, and rows.memory = "},
		{0, n - 1, "on every rank, and rows.capacity = "},
	} {
		h.job.Rows.Memory, h.job.Rows.Capacity = unit.Bytes(c.memory), c.capacity
		text := ""
		err := h.checkMemory(n)
		if err != nil {
			text = err.Error()
		}
		if (text == "") != (c.want == "") || !strings.Contains(text, c.want) {
			t.Errorf("%d B, %d rows: %v, want %q", c.memory, c.capacity, err, c.want)
		}
	}
}

// A hot row that was looked up and not updated reads as zeros: another rank may be a forward pass ahead of an
// evaluation.
func TestHotRowsWithoutAnUpdateAreNotEvaluated(t *testing.T) {
	p, _, _ := exchange(t, withHotRows(t, exectest.Job(2, 2)))
	signs := p.model.hot.set.Signs()
	if p.model.hot.table().Len() == 0 {
		t.Fatal("no hot row was looked up")
	}
	rows := make([]float32, len(signs)*p.numerics.dim)
	if err := p.Model().ReadRows(2, signs, rows); err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(rows, func(x float32) bool { return x != 0 }) {
		t.Errorf("rows %v, want zeros", rows)
	}
}

// rowsBySign returns all rows of an executor with their bits, by sign, and checks that each is where the plan
// says.
func rowsBySign(t *testing.T, e *Executor) map[uint64]string {
	t.Helper()
	state, all := e.Model().State(), map[uint64]string{}
	for owner := range e.numerics.job.Roles.EmbeddingPSs + 1 {
		tab := state.Tables(owner)[0]
		n, embedding, size := tab.Len(), tab.EmbeddingBytes(), tab.StateBytes()
		c := &table.Columns{Signs: make([]uint64, n), Updates: make([]uint32, n), Read: make([]uint8, n),
			Embeddings: make([]byte, n*embedding), States: make([]byte, n*size)}
		tab.CopyRows(0, c)
		for i, sign := range c.Signs {
			if state.Plan().Owner(sign) != owner || all[sign] != "" {
				t.Errorf("the row of sign %#x is with owner %d, or comes twice", sign, owner)
			}
			all[sign] = fmt.Sprint(c.Updates[i], c.Read[i], c.Embeddings[i*embedding:][:embedding],
				c.States[i*size:][:size])
		}
	}
	return all
}

// Rows that become hot, and cold again, keep all their bits, whichever rows are hot in between.
func TestSetHotMovesRows(t *testing.T) {
	for _, precision := range table.Precisions() {
		training := exectest.Job(2, 3)
		training.Rows.Hot.Share, training.Rows.Precision = 0.1, precision
		training.Rows.Optimizer.Kind = opt.Adam
		p := mustNew(t, training, exectest.NewColumns(16, 16))
		draw := rng.New(7, "hot rows")
		for sign := range uint64(60) {
			tab := p.Model().State().Tables(p.numerics.plan.Owner(sign))[0]
			if err := tab.Lookup([]uint64{sign}, make([]float32, 3)); err != nil {
				t.Fatal(err)
			}
			for range draw.IntN(4) {
				tab.Apply([]uint64{sign}, []float32{1, -2, float32(draw.NormFloat64())}, 0.1, nil)
			}
		}
		want := rowsBySign(t, p)
		for range 30 {
			var signs []uint64 // also some without a row
			for sign := range uint64(70) {
				if draw.IntN(3) == 0 {
					signs = append(signs, sign)
				}
			}
			if draw.IntN(4) == 0 {
				signs = nil
			}
			if err := p.SetHot(shard.NewHot(signs)); err != nil {
				t.Fatal(err)
			}
			if got := rowsBySign(t, p); !maps.Equal(got, want) {
				t.Fatalf("%s: %d rows with other bits, want %d", precision, len(got), len(want))
			}
		}
	}
}

// A PS that is full and does not evict has no room for rows that are no longer hot; one that evicts has. The
// ranks have room for as many hot rows as a PS may hold.
func TestSetHotMindsTheCapacityOfPSs(t *testing.T) {
	for eviction, want := range map[string]string{
		job.RefuseRows: "rows that are no longer hot, on PS 0: table is full", job.SecondChance: "",
	} {
		training := exectest.Job(2, 1)
		training.Rows.Hot.Share, training.Rows.Capacity, training.Rows.Eviction = 0.1, 5, eviction
		p := mustNew(t, training, exectest.NewColumns(16, 16))
		if err := p.SetHot(shard.NewHot([]uint64{1, 2})); err != nil {
			t.Fatal(err)
		}
		state := p.Model().State()
		for owner, signs := range [][]uint64{{3, 4, 5, 6}, {1, 2}} {
			if err := state.Tables(owner)[0].Lookup(signs, make([]float32, 3*len(signs))); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.SetHot(shard.NewHot([]uint64{7, 8, 9, 10, 11, 12})); err == nil ||
			!strings.Contains(err.Error(), "6 rows on every rank, and rows.capacity = 5") {
			t.Errorf("6 hot rows: error %v", err)
		}
		if err := p.SetHot(shard.NewHot([]uint64{1, 2})); err != nil {
			t.Fatal(err)
		}
		text, err := "", p.SetHot(shard.NewHot(nil))
		if err != nil {
			text = err.Error()
		}
		if (text == "") != (want == "") || !strings.Contains(text, want) {
			t.Errorf("%s: error %v, want %q", eviction, err, want)
		}
		if rows := state.Tables(0)[0]; want == "" && (rows.Len() != 5 || rows.Evicted() != 1) {
			t.Errorf("%d rows, %d evicted; want 5 and 1", rows.Len(), rows.Evicted())
		}
	}
}
