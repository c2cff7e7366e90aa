package table_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tandem/algo/numeric/table"
)

// row is all that one row of columns has.
func row(c *table.Columns, i int) string {
	n := len(c.Signs)
	e, s := len(c.Embeddings)/n, len(c.States)/n
	return fmt.Sprint(c.Signs[i], c.Updates[i], c.Read[i], c.Embeddings[i*e:][:e], c.States[i*s:][:s])
}

// copied are rows by their numbers, as those who read the changes of a table have them.
type copied []string

// take applies the rows of a table that were frozen, all of them or those that have changed, some at a time,
// and returns how many they are.
func (k *copied) take(t *testing.T, f *table.Frozen, changes bool, r *rand.Rand) (taken int) {
	t.Helper()
	before := *k
	*k = make(copied, f.Len())
	copy(*k, before)
	if !changes {
		all := readFrozen(f, r, func() {})
		for i := range all.Signs {
			(*k)[i] = row(all, i)
		}
		return len(all.Signs)
	}
	for {
		most := 1 + r.IntN(300)
		numbers := make([]uint32, most)
		c := &table.Columns{Signs: make([]uint64, most), Updates: make([]uint32, most),
			Read: make([]uint8, most), Embeddings: make([]byte, most*f.EmbeddingBytes()),
			States: make([]byte, most*f.StateBytes())}
		n := f.CopyChanged(numbers, c)
		for i, number := range numbers[:n] {
			(*k)[number] = row(c, i)
		}
		if taken += n; n < most {
			return taken
		}
	}
}

// Rows that were frozen, with the changes of every later freeze, are the rows of the table at the last one:
// in every precision, with eviction, with rows that leave the table and come to it, and while the table
// changes. What has not changed is not copied.
func TestChangesLeadToTheRowsOfTheMoment(t *testing.T) {
	for _, precision := range []table.Precision{table.FP32, table.BF16, table.FP16} {
		for _, evict := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v, evict %t", precision, evict), func(t *testing.T) {
				c := table.Config{Dim: 8, Optimizer: adagrad(t), Seed: 1, InitBound: 0.1,
					Precision: precision, Evict: evict}
				if evict {
					c.MaxRows = 700
				}
				tab := mustNew(t, c)
				r := &trainer{rand.New(rand.NewPCG(1, 2)), 1000, 0}
				var earlier *table.Frozen
				var have copied
				var before *table.Columns
				for freeze := range 30 {
					r.batches(t, tab, r.IntN(4))
					moves := freeze%3 == 2
					if moves { // some rows go, and others come
						signs := slices.Clone(columnsOf(tab).Signs)
						gone := tab.RemoveRows(signs[:r.IntN(40)])
						if r.IntN(2) == 0 {
							if err := tab.AddRows(gone); err != nil {
								t.Fatal(err)
							}
						}
					}
					want := columnsOf(tab)
					f := tab.FreezeNoted(make([]byte, 1<<20), nil)
					follows := earlier != nil && f.Follows(earlier)
					if follows != (freeze > 0) {
						t.Fatalf("freeze %d follows the one before: %t", freeze, follows)
					}
					taken := make(chan int)
					go func() {
						taken <- have.take(t, f, follows, rand.New(rand.NewPCG(3, uint64(freeze))))
					}()
					r.batches(t, tab, 2)
					n := <-taken
					f.Release()
					for i := range want.Signs {
						if have[i] != row(want, i) {
							t.Fatalf("after freeze %d, row %d is\n%s\nwant\n%s", freeze, i, have[i],
								row(want, i))
						}
					}
					if differ := differing(before, want); follows && !moves && n != differ {
						t.Errorf("freeze %d: %d rows are copied, and %d have changed", freeze, n, differ)
					}
					earlier, before = f, want
				}
			})
		}
	}
}

// differing counts the places with another row in the second columns, or with none in the first.
func differing(a, b *table.Columns) (n int) {
	for i := range b.Signs {
		if a == nil || i >= len(a.Signs) || row(a, i) != row(b, i) {
			n++
		}
	}
	return n
}

// A freeze follows only the one before that has noted rows, of the same table, if that was read to the end.
// One that notes nothing is none.
func TestFreezesFollowEachOther(t *testing.T) {
	tab := mustNew(t, config())
	mustLookup(t, tab, 1, 2, 3)
	whole := func(f *table.Frozen) *table.Frozen {
		readFrozen(f, rand.New(rand.NewPCG(1, 1)), func() {})
		f.Release()
		return f
	}
	first := whole(tab.FreezeNoted(nil, nil))
	whole(tab.Freeze(nil, nil))
	second := tab.FreezeNoted(nil, nil)
	if !second.Follows(first) {
		t.Error("the second does not follow the first")
	}
	second.Release() // unread
	third := whole(tab.FreezeNoted(nil, nil))
	if third.Follows(second) || third.Follows(first) {
		t.Error("the third follows one that was not read, or one that is not the one before")
	}
	noted := tab.Note()
	fourth := whole(tab.FreezeNoted(nil, nil))
	if !fourth.Follows(noted) || fourth.Follows(third) {
		t.Error("the fourth follows what was not noted last")
	}
	if f := tab.Clone().FreezeNoted(nil, nil); f.Follows(fourth) {
		t.Error("a freeze follows that of another table")
	}
}

// What rows are when they are noted is what their changes are counted from, and a row whose count of updates
// has reached its limit always counts as changed.
func TestNotedRowsHaveNoChanges(t *testing.T) {
	const limit = 1<<30 - 1
	tab := mustNew(t, config())
	mustLookup(t, tab, 1, 2, 3)
	rows := tab.RemoveRows([]uint64{1, 2, 3})
	rows.Updates[1] = limit
	if err := tab.AddRows(rows); err != nil {
		t.Fatal(err)
	}
	noted := tab.Note()
	grads := make([]float32, tab.Dim())
	grads[0] = 1
	if tab.Apply([]uint64{3}, grads, 0.5, nil).Applied != 1 {
		t.Fatal("the update was not applied")
	}
	f := tab.FreezeNoted(nil, nil)
	if !f.Follows(noted) {
		t.Fatal("it does not follow what was noted")
	}
	have := make(copied, 3)
	if n := have.take(t, f, true, rand.New(rand.NewPCG(1, 1))); n != 2 || have[0] != "" {
		t.Errorf("%d rows have changed: %q", n, have)
	}
}
