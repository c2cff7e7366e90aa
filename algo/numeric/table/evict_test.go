package table_test

import (
	"container/list"
	"errors"
	"flag"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/isa"
	"tandem/algo/numeric/table"
	"tandem/algo/rng"
	"tandem/algo/unit"
)

var long = flag.Bool("long", false, "ten times as many operations")

// A million operations on a table that evicts all the time agree with a plain map that
// deletes the evicted rows: present rows have their last values, absent ones read as new,
// and the table never has more rows than its limit.
func TestStoreAgainstMapWithEviction(t *testing.T) {
	operations := 1_000_000
	if *long {
		operations *= 10
	}
	const capacity, signs = 700, 2000
	for _, set := range isa.Sets() {
		c := config()
		c.MaxRows, c.Evict = capacity, true
		tab := mustNew(t, c)
		tab.Use(set)
		m := map[uint64][]float32{} // embedding ‖ state
		stream := rng.New(1, "store against map", uint64(set))
		dst, grad, found := make([]float32, dim), make([]float32, dim), make([]table.Found, 1)
		updates := map[uint64]uint32{}
		for i := range operations / len(isa.Sets()) {
			// Squared, so that some come often and some seldom.
			draw := stream.Uint64N(signs)
			sign := []uint64{draw * draw / signs}
			if tab.Snapshot(sign, dst) == 1 {
				delete(m, sign[0]) // evicted, or never there
				delete(updates, sign[0])
			}
			switch stream.Uint64N(3) {
			case 0:
				if err := tab.LookupStep(0, sign, dst, found); err != nil {
					t.Fatal(err)
				}
				if _, known := m[sign[0]]; !known {
					m[sign[0]] = append(initial(sign[0]), startState, startState, startState)
				}
				if !slices.Equal(dst, m[sign[0]][:dim]) || found[0].Updates != updates[sign[0]] {
					t.Fatalf("%v, operation %d: sign %d reads %v after %d updates, want %v after %d",
						set, i, sign[0], dst, found[0], m[sign[0]][:dim], updates[sign[0]])
				}
			case 1:
				for j := range grad {
					grad[j] = float32(stream.Uint64N(5)) / 4
				}
				row, known := m[sign[0]]
				want := table.Outcome{Evicted: 1}
				if known {
					want = table.Outcome{Applied: 1}
					sumOfGrads{}.Apply(row[:dim], row[dim:], grad, 1)
					updates[sign[0]]++
				}
				if got := tab.Apply(sign, grad, 1, nil); got != want {
					t.Fatalf("%v, operation %d: outcome %+v, want %+v", set, i, got, want)
				}
			case 2:
				if row, known := m[sign[0]]; known && !slices.Equal(dst, row[:dim]) {
					t.Fatalf("%v, operation %d: sign %d reads %v, want %v", set, i, sign[0], dst, row[:dim])
				}
			}
		}
		compareAll(t, tab, m)
		if tab.Len() != capacity || tab.Evicted() < operations/100 {
			t.Errorf("%v: %d rows and %d evicted, want %d and many", set, tab.Len(), tab.Evicted(), capacity)
		}
	}
}

// compareAll compares the rows that a table has with those of a map of, perhaps,
// more.
func compareAll(t *testing.T, tab *table.Table, m map[uint64][]float32) {
	rows := 0
	for sign, values := range tab.All() {
		rows++
		if !slices.Equal(values, m[sign]) {
			t.Fatalf("sign %d holds %v, want %v", sign, values, m[sign])
		}
		if tab.Snapshot([]uint64{sign}, make([]float32, dim)) == 1 {
			t.Fatalf("sign %d has a row and is not found", sign)
		}
	}
	if rows != tab.Len() {
		t.Fatalf("%d rows, Len %d", rows, tab.Len())
	}
}

// Batches larger than the whole table, in which rows go while others of the batch
// come, read right all the same; and what goes follows from the operations alone,
// under every set of instructions.
func TestEvictionWithinABatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := config()
		c.MaxRows, c.Evict = rapid.IntRange(1, 120).Draw(t, "capacity"), true
		batches := rapid.SliceOfN(rapid.SliceOfN(rapid.Uint64Range(0, 300), 0, 200), 1, 8).Draw(t, "batches")
		var digests []uint64
		for _, set := range isa.Sets() {
			tab, _ := table.New(c, table.Heap{})
			tab.Use(set)
			for _, signs := range batches {
				dst := make([]float32, len(signs)*dim)
				if err := tab.Lookup(signs, dst); err != nil {
					t.Fatal(err)
				}
				for i, sign := range signs { // no row is ever updated
					if got := dst[i*dim : (i+1)*dim]; !slices.Equal(got, initial(sign)) {
						t.Fatalf("%v: sign %d at %d reads %v, want %v", set, sign, i, got, initial(sign))
					}
				}
			}
			digests = append(digests, tab.Digest())
			if tab.Len() > c.MaxRows {
				t.Fatalf("%d rows of at most %d", tab.Len(), c.MaxRows)
			}
		}
		if slices.Min(digests) != slices.Max(digests) {
			t.Fatalf("other rows are left under other instructions: %x", digests)
		}
	})
}

// lru is a store in exact order of last use, the policy that second chance stands
// for: the readable reference.
type lru struct {
	capacity int
	order    *list.List // of signs, the one used last in front
	place    map[uint64]*list.Element
}

// use reads a sign and reports whether it was there.
func (l *lru) use(sign uint64) bool {
	if at, hit := l.place[sign]; hit {
		l.order.MoveToFront(at)
		return true
	}
	if l.order.Len() == l.capacity {
		delete(l.place, l.order.Remove(l.order.Back()).(uint64))
	}
	l.place[sign] = l.order.PushFront(sign)
	return false
}

// On ids as recommenders see them, Zipf 1.05, second chance keeps the rows that
// will be read again about as well as exact order does.
func TestSecondChanceIsNearlyLeastRecentlyUsed(t *testing.T) {
	const ids, reads, exponent = 100_000, 300_000, 1.05
	tail := math.Pow(ids, 1-exponent) - 1
	for _, capacity := range []int{1000, 10_000} {
		c := config()
		c.MaxRows, c.Evict = capacity, true
		tab := mustNew(t, c)
		exact := lru{capacity, list.New(), map[uint64]*list.Element{}}
		stream := rng.New(1, "zipf", uint64(capacity))
		hits, exactHits := 0, 0
		dst := make([]float32, dim)
		for range reads {
			sign := []uint64{uint64(math.Pow(1+tail*stream.Float64(), 1/(1-exponent)))}
			hits += 1 - tab.Snapshot(sign, dst)
			if err := tab.Lookup(sign, dst); err != nil {
				t.Fatal(err)
			}
			if exact.use(sign[0]) {
				exactHits++
			}
		}
		t.Logf("%d rows of %d ids: second chance finds %.2f %%, exact order %.2f %%",
			capacity, ids, 100*float64(hits)/reads, 100*float64(exactHits)/reads)
		if loss := float64(exactHits-hits) / reads; loss > 0.01 {
			t.Errorf("%d rows: second chance finds %.1f percentage points less than exact order", capacity,
				100*loss)
		}
	}
}

// A row that is read between two rounds of the hand stays, for any number of others that come.
func TestWhatIsReadStays(t *testing.T) {
	c := config()
	c.MaxRows, c.Evict = 100, true
	tab := mustNew(t, c)
	mustLookup(t, tab, 7)
	tab.Apply([]uint64{7}, []float32{1, 1, 1}, 1, nil)
	want := mustLookup(t, tab, 7)
	for sign := uint64(1000); sign < 3000; sign++ {
		mustLookup(t, tab, sign)
		if sign%20 == 0 {
			if got := mustLookup(t, tab, 7); !slices.Equal(got, want) {
				t.Fatalf("after %d others: %v, want %v", sign-1000, got, want)
			}
		}
	}
}

// A limit of bytes is kept, by refusing or by evicting.
func TestBytesAreCapped(t *testing.T) {
	c := config()
	c.MaxBytes = 3 << 20
	full := mustNew(t, c)
	var err error
	for sign := uint64(0); err == nil; sign++ {
		err = full.Lookup([]uint64{sign}, make([]float32, dim))
	}
	if !errors.Is(err, table.ErrFull) || !strings.Contains(err.Error(), "more than 3MiB") {
		t.Errorf("error %v", err)
	}
	// Rows of 36 bytes with up to 11.8 of index; the last slab, up to a MiB, may not fit.
	if least := (2 << 20) / 48; full.Len() < least || full.Memory() > c.MaxBytes {
		t.Errorf("%d rows in %v; want at least %d in at most %v", full.Len(), full.Memory(), least,
			c.MaxBytes)
	}
	c.Evict = true
	evicting := mustNew(t, c)
	for sign := range uint64(2 * full.Len()) {
		mustLookup(t, evicting, sign)
	}
	if evicting.Len() != full.Len() || evicting.Evicted() != full.Len() ||
		evicting.Memory() != full.Memory() {
		t.Errorf("%d rows, %d evicted, %v; want the %d rows and %v of the table that refuses",
			evicting.Len(), evicting.Evicted(), evicting.Memory(), full.Len(), full.Memory())
	}
	c.MaxBytes = 1 << 19
	if _, err := table.New(c, table.Heap{}); err == nil ||
		!strings.Contains(err.Error(), "of the first 1024 rows") {
		t.Errorf("a limit below the least: error %v", err)
	}
}

// Eviction takes no memory, under any limit.
func TestEvictionDoesNotAllocate(t *testing.T) {
	rows, bytes := config(), config()
	rows.MaxRows, bytes.MaxBytes = 100, 3<<20
	for _, c := range []table.Config{rows, bytes} {
		c.Evict = true
		tab, sign, dst := mustNew(t, c), []uint64{0}, make([]float32, dim)
		read := func() {
			if sign[0]++; tab.Lookup(sign, dst) != nil {
				t.Fatal("a table that evicts is full")
			}
		}
		for tab.Evicted() == 0 {
			read()
		}
		if got := testing.AllocsPerRun(50, read); got != 0 {
			t.Errorf("at most %d rows or %v: %v allocations a row, want none", c.MaxRows, c.MaxBytes, got)
		}
	}
}

// shortArena has a limited number of slabs.
type shortArena struct{ slabs int }

var errShort = errors.New("no more slabs")

func (a *shortArena) Slab(bytes int) ([]byte, error) {
	if a.slabs--; a.slabs < 0 {
		return nil, errShort
	}
	return table.Heap{}.Slab(bytes)
}

// An arena that fails is an error and no reason to evict: what goes follows from the
// limits of the table, not from the machine.
func TestAFailingArenaEvictsNothing(t *testing.T) {
	c := config()
	c.MaxRows, c.Evict = 1_000_000, true
	tab, err := table.New(c, &shortArena{slabs: 4})
	for sign := uint64(0); err == nil && tab.Evicted() == 0; sign++ {
		err = tab.Lookup([]uint64{sign}, make([]float32, dim))
	}
	if !errors.Is(err, errShort) || tab.Evicted() != 0 || tab.Len() == 0 {
		t.Errorf("error %v after %d rows, %d evicted; want %v and none", err, tab.Len(), tab.Evicted(),
			errShort)
	}
}

// Where everything is admitted, what has no row is missing, not refused.
func TestNothingIsRefusedAtAdmissionOne(t *testing.T) {
	c := config()
	c.Admission = 1
	if got := mustNew(t, c).Apply([]uint64{1}, make([]float32, dim), 1,
		nil); got != (table.Outcome{Missing: 1}) {
		t.Errorf("outcome %+v, want 1 missing", got)
	}
}

// Only Read distinguishes a row that was evicted from a row that was never admitted.
func TestOutcomesOfRowsThatAreGone(t *testing.T) {
	c := config()
	c.MaxRows, c.Evict, c.Admission = 1, true, 0.5
	tab := mustNew(t, c)
	signs, found := []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, make([]table.Found, 10)
	if err := tab.LookupStep(0, signs, make([]float32, 30), found); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, f := range found {
		if f.Refused() {
			refused++
		}
	}
	if refused < 2 || refused > 8 {
		t.Fatalf("%d of 10 refused; choose other signs", refused)
	}
	got := tab.Apply(signs, make([]float32, 30), 1, &table.Read{Found: found})
	if want := (table.Outcome{Applied: 1, Refused: refused, Evicted: 9 - refused}); got != want {
		t.Errorf("outcome %+v, want %+v", got, want)
	}
}

// Beside embedding and state a row takes at most Overhead bytes, at every size, also
// where the index has just grown; one slab and one segment may be empty.
func TestOverheadOfARow(t *testing.T) {
	c := config()
	tab := mustNew(t, c)
	const slack, own = 1<<20 + 64<<10, 4 * 2 * dim
	dst := make([]float32, 64*dim)
	worst := 0.0
	for lo := uint64(0); lo < 300_000; lo += 64 {
		signs := make([]uint64, 64)
		for i := range signs {
			signs[i] = lo + uint64(i)
		}
		if err := tab.Lookup(signs, dst); err != nil {
			t.Fatal(err)
		}
		overhead := float64(tab.Memory()-slack)/float64(tab.Len()) - own
		worst = max(worst, overhead)
		if overhead > table.Overhead {
			t.Fatalf("%d rows: %v, %.2f bytes a row beside its values", tab.Len(), tab.Memory(), overhead)
		}
	}
	t.Logf("at most %.2f bytes a row, in %v", worst, unit.Bytes(tab.Memory()))
}

// RowBytes is what Memory comes to, less Overhead: halves take half, and an odd number
// of them is filled up to whole words; state is float32 in any form.
func TestRowBytes(t *testing.T) {
	for _, c := range []struct {
		precision        table.Precision
		dim              int
		embedding, state unit.Bytes
	}{{table.FP32, 5, 20, 20}, {table.BF16, 5, 12, 20}, {table.FP16, 6, 12, 24}} {
		embedding, state := table.RowBytes(c.dim, sumOfGrads{}, c.precision)
		if embedding != c.embedding || state != c.state {
			t.Errorf("%v of %d values: %d and %d bytes, want %d and %d",
				c.precision, c.dim, embedding, state, c.embedding, c.state)
		}
	}
}

// The places that a read has found save an Apply the probes and change nothing else, even
// if rows have been evicted since.
func TestApplyOfFoundRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := config()
		c.MaxRows, c.Evict = rapid.IntRange(1, 200).Draw(t, "rows at most"), true
		plain, err := table.New(c, table.Heap{})
		if err != nil {
			t.Fatal(err)
		}
		spared, _ := table.New(c, table.Heap{})
		set := rapid.SampledFrom(isa.Sets()).Draw(t, "set")
		spared.Use(set)
		stream := rng.New(rapid.Uint64().Draw(t, "seed"), "signs")
		draw := func() []uint64 { // distinct
			var signs []uint64
			for sign := range uint64(400) {
				if stream.IntN(4) == 0 {
					signs = append(signs, sign)
				}
			}
			return signs
		}
		for step := range rapid.IntRange(1, 5).Draw(t, "steps") {
			signs, others := draw(), draw()
			found, grads := make([]table.Found, len(signs)), make([]float32, len(signs)*dim)
			for i := range grads {
				grads[i] = stream.Float32()
			}
			for _, tab := range []*table.Table{plain, spared} {
				if err := errors.Join(
					tab.LookupStep(step, signs, make([]float32, len(grads)), found),
					tab.LookupStep(step, others, make([]float32, len(others)*dim), nil),
				); err != nil {
					t.Fatal(err)
				}
			}
			got, want := spared.Apply(signs, grads, 0.1, &table.Read{Found: found}),
				plain.Apply(signs, grads, 0.1, nil)
			if got != want || spared.Digest() != plain.Digest() {
				t.Fatalf("%v, step %d: outcome %+v and digest %x, want %+v and %x", set, step, got,
					spared.Digest(), want, plain.Digest())
			}
		}
	})
}
