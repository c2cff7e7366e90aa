package table_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/table"
	"tandem/algo/rng"
)

// sumOfGrads is the smallest optimizer with state: it subtracts the gradient
// and keeps the sum of gradients behind a starting value.
type sumOfGrads struct{}

const startState = 0.5

func (sumOfGrads) StateSize(dim int) int { return dim }
func (sumOfGrads) Init(state []float32) {
	for i := range state {
		state[i] = startState
	}
}
func (sumOfGrads) Rate(int) float32 { return 1 }
func (sumOfGrads) Apply(embedding, state, grad []float32, rate float32) bool {
	for _, g := range grad {
		if g-g != 0 {
			return false
		}
	}
	for i, g := range grad {
		embedding[i] -= rate * g
		state[i] += g
	}
	return true
}

const dim = 3

func config() table.Config {
	return table.Config{Dim: dim, Optimizer: sumOfGrads{}, Seed: 7, InitBound: 0.25}
}

func mustNew(t testing.TB, c table.Config) *table.Table {
	t.Helper()
	made, err := table.New(c, table.Heap{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func mustLookup(t testing.TB, tab *table.Table, signs ...uint64) []float32 {
	t.Helper()
	dst := make([]float32, len(signs)*tab.Dim())
	if err := tab.Lookup(signs, dst); err != nil {
		t.Fatal(err)
	}
	return dst
}

// initial is the definition of a row's initial embedding.
func initial(sign uint64) []float32 {
	row := make([]float32, dim)
	key := rng.Key(7, "row", sign)
	for i := range row {
		row[i] = -0.25 + 0.5*rng.Unit(key, i) // exact: 24 bits scaled by a power of two
	}
	return row
}

func TestNewRefuses(t *testing.T) {
	for want, change := range map[string]func(*table.Config){
		"dim = 0":         func(c *table.Config) { c.Dim = 0 },
		"no optimizer":    func(c *table.Config) { c.Optimizer = nil },
		"admission":       func(c *table.Config) { c.Admission = 1.5 },
		"init bound":      func(c *table.Config) { c.InitBound = float32(math.NaN()) },
		"max rows = -1":   func(c *table.Config) { c.MaxRows = -1 },
		"init bound = -1": func(c *table.Config) { c.InitBound = -1 },
	} {
		c := config()
		change(&c)
		if _, err := table.New(c, table.Heap{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// model is the table as a plain map.
type model struct {
	embedding map[uint64][]float32
	state     map[uint64][]float32
	updates   map[uint64]uint32
}

func (m *model) lookup(sign uint64) []float32 {
	if _, ok := m.embedding[sign]; !ok {
		m.embedding[sign] = initial(sign)
		m.state[sign] = slices.Repeat([]float32{startState}, dim)
	}
	return m.embedding[sign]
}

func TestTableAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tab, err := table.New(config(), table.Heap{})
		if err != nil {
			t.Fatal(err)
		}
		m := model{map[uint64][]float32{}, map[uint64][]float32{}, map[uint64]uint32{}}
		// Few signs, so that they return; 0 and the largest are signs as any.
		sign := rapid.OneOf(rapid.Uint64Range(0, 40), rapid.Just(uint64(math.MaxUint64)))
		t.Repeat(map[string]func(*rapid.T){
			"lookup": func(t *rapid.T) {
				signs := rapid.SliceOfN(sign, 0, 150).Draw(t, "signs")
				dst := make([]float32, len(signs)*dim)
				if err := tab.Lookup(signs, dst); err != nil {
					t.Fatal(err)
				}
				for i, s := range signs {
					if got := dst[i*dim : (i+1)*dim]; !slices.Equal(got, m.lookup(s)) {
						t.Fatalf("sign %d reads %v, want %v", s, got, m.lookup(s))
					}
				}
			},
			"snapshot": func(t *rapid.T) {
				signs := rapid.SliceOfN(sign, 0, 150).Draw(t, "signs")
				dst := slices.Repeat([]float32{9}, len(signs)*dim)
				missing, want := tab.Snapshot(signs, dst), 0
				for i, s := range signs {
					row, ok := m.embedding[s]
					if !ok {
						row = make([]float32, dim)
						want++
					}
					if got := dst[i*dim : (i+1)*dim]; !slices.Equal(got, row) {
						t.Fatalf("sign %d reads %v, want %v", s, got, row)
					}
				}
				if missing != want {
					t.Fatalf("missing %d, want %d", missing, want)
				}
			},
			"apply": func(t *rapid.T) {
				signs := rapid.SliceOfN(sign, 0, 150).Draw(t, "signs")
				value := rapid.SampledFrom([]float32{-1, 0, 0.5, 2, float32(math.NaN()),
					float32(math.Inf(-1))})
				grads := make([]float32, len(signs)*dim)
				var want table.Outcome
				for i, s := range signs {
					grad := grads[i*dim : (i+1)*dim]
					bad := false
					for j := range grad {
						grad[j] = value.Draw(t, "grad")
						bad = bad || grad[j]-grad[j] != 0
					}
					switch _, ok := m.embedding[s]; {
					case !ok:
						want.Missing++
					case bad:
						want.NonFinite++
					default:
						want.Applied++
						m.updates[s]++
						sumOfGrads{}.Apply(m.embedding[s], m.state[s], grad, 1)
					}
				}
				if got := tab.Apply(signs, grads, 1, nil); got != want {
					t.Fatalf("outcome %+v, want %+v", got, want)
				}
			},
			"": func(t *rapid.T) { checkAgainst(t, tab, &m) },
		})
	})
}

// checkAgainst compares all rows and update counts.
func checkAgainst(t *rapid.T, tab *table.Table, m *model) {
	if tab.Len() != len(m.embedding) {
		t.Fatalf("%d rows, want %d", tab.Len(), len(m.embedding))
	}
	var signs []uint64
	for sign, values := range tab.All() {
		signs = append(signs, sign)
		if !slices.Equal(values[:dim], m.embedding[sign]) || !slices.Equal(values[dim:], m.state[sign]) {
			t.Fatalf("sign %d holds %v, want %v and %v", sign, values, m.embedding[sign], m.state[sign])
		}
	}
	counts := make([]uint32, len(signs))
	tab.UpdateCounts(signs, counts)
	for i, sign := range signs {
		if counts[i] != m.updates[sign] {
			t.Fatalf("sign %d updated %d times, want %d", sign, counts[i], m.updates[sign])
		}
	}
}

// Growth over several slabs and many doublings of the index loses no row.
func TestGrowth(t *testing.T) {
	c := config()
	c.Dim = 64
	tab := mustNew(t, c)
	const rows = 10_000 // × 524 bytes: five slabs of at most 1 MiB
	for sign := range uint64(rows) {
		mustLookup(t, tab, sign<<40)
	}
	want := uint64(0)
	for sign := range tab.All() {
		if sign != want<<40 {
			t.Fatalf("row %d has sign %#x, want %#x", want, sign, want<<40)
		}
		want++
	}
	if want != rows || tab.Len() != rows {
		t.Fatalf("%d rows, Len %d, want %d", want, tab.Len(), rows)
	}
	dst := make([]float32, c.Dim)
	if missing := tab.Snapshot([]uint64{rows << 40}, dst); missing != 1 {
		t.Error("an absent sign was found")
	}
	// Values alone take 512 bytes a row, the last slab may be empty.
	if low, high := int64(rows*512), int64(rows*(512+12+24)+(1<<20)); int64(tab.Memory()) < low ||
		int64(tab.Memory()) > high {
		t.Errorf("memory %v, want %d to %d bytes", tab.Memory(), low, high)
	}
}

func TestFull(t *testing.T) {
	c := config()
	c.MaxRows = 2
	tab := mustNew(t, c)
	dst := slices.Repeat([]float32{9}, 4*dim)
	err := tab.Lookup([]uint64{1, 2, 3, 1}, dst)
	if !errors.Is(err, table.ErrFull) || !strings.Contains(err.Error(), "2 rows of at most 2") ||
		!strings.Contains(err.Error(), "raise max rows") {
		t.Errorf("error %v", err)
	}
	want := slices.Concat(initial(1), initial(2), slices.Repeat([]float32{9}, 2*dim))
	if !slices.Equal(dst, want) || tab.Len() != 2 {
		t.Errorf("dst %v with %d rows, want %v with 2", dst, tab.Len(), want)
	}
	mustLookup(t, tab, 2, 1) // rows that exist are still read
}

type brokenArena struct{ err error }

func (a brokenArena) Slab(int) ([]byte, error) { return nil, a.err }

func TestArenaErrorIsReturned(t *testing.T) {
	broken := errors.New("no memory")
	tab, err := table.New(config(), brokenArena{broken})
	if err != nil {
		t.Fatal(err)
	}
	if err := tab.Lookup([]uint64{1}, make([]float32, dim)); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	if tab.Len() != 0 || tab.Snapshot([]uint64{1}, make([]float32, dim)) != 1 {
		t.Error("the refused row exists")
	}
}

// Neither the order of first use nor the number of shards changes a bit.
func TestValuesAndDigestDependOnNeitherOrderNorShards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		signs := rapid.SliceOfNDistinct(rapid.Uint64(), 1, 100, rapid.ID).Draw(t, "signs")
		shuffled := rapid.Permutation(signs).Draw(t, "order")
		shards := rapid.IntRange(1, 5).Draw(t, "shards")
		train := func(tab *table.Table, sign uint64) {
			dst := make([]float32, dim)
			if err := tab.Lookup([]uint64{sign}, dst); err != nil {
				t.Fatal(err)
			}
			tab.Apply([]uint64{sign}, dst, 1, nil)
		}
		whole, _ := table.New(config(), table.Heap{})
		for _, sign := range signs {
			train(whole, sign)
		}
		sum := uint64(0)
		for shard := range shards {
			part, _ := table.New(config(), table.Heap{})
			for _, sign := range shuffled {
				if sign%uint64(shards) == uint64(shard) {
					train(part, sign)
				}
			}
			sum += part.Digest()
		}
		if sum != whole.Digest() {
			t.Fatalf("digests of %d shards add to %#x, the whole has %#x", shards, sum, whole.Digest())
		}
	})
}

func TestDigestSeesEveryChange(t *testing.T) {
	base := mustNew(t, config())
	mustLookup(t, base, 1, 2)
	tiny := []float32{0, 0, math.SmallestNonzeroFloat32} // below the last bit of embedding and state
	changes := map[string]func(*table.Table){
		"another row": func(c *table.Table) { mustLookup(t, c, 3) },
		"an update":   func(c *table.Table) { c.Apply([]uint64{1}, []float32{1, 0, 0}, 1, nil) },
	}
	for name, change := range changes {
		clone := base.Clone()
		change(clone)
		if clone.Digest() == base.Digest() {
			t.Errorf("%s: same digest", name)
		}
	}
	clone := base.Clone()
	if clone.Apply([]uint64{1, 1, 9}, append(append(slices.Clone(tiny), 0, 0, float32(math.NaN())), 1, 1, 1),
		1, nil) != (table.Outcome{Applied: 1, Missing: 1, NonFinite: 1}) {
		t.Error("outcomes differ")
	}
	if clone.Digest() != base.Digest() {
		t.Error("an update below the last bit, a refused and a missing one changed the digest")
	}
	// The same rows' values under swapped signs are other rows.
	swapped := mustNew(t, config())
	mustLookup(t, swapped, 1, 3)
	if swapped.Digest() == base.Digest() {
		t.Error("other signs: same digest")
	}
}

func TestCloneIsApart(t *testing.T) {
	base := mustNew(t, config())
	mustLookup(t, base, 1)
	clone := base.Clone()
	mustLookup(t, clone, 2)
	clone.Apply([]uint64{1}, []float32{1, 1, 1}, 1, nil)
	if base.Len() != 1 || !slices.Equal(mustLookup(t, base, 1), initial(1)) {
		t.Error("a change of the clone reached the original")
	}
	mustLookup(t, base, 3) // row 1 of both, in memory of their own
	if got := mustLookup(t, clone, 2); !slices.Equal(got, initial(2)) {
		t.Errorf("the original wrote into the clone: %v", got)
	}
}

func TestNoAllocationInSteadyState(t *testing.T) {
	tab := mustNew(t, config())
	signs := []uint64{1, 2, 3}
	dst, counts := mustLookup(t, tab, signs...), make([]uint32, 3)
	got := testing.AllocsPerRun(20, func() {
		if err := tab.Lookup(signs, dst); err != nil {
			t.Error(err)
		}
		tab.Snapshot(signs, dst)
		tab.Apply(signs, dst, 1, nil)
		tab.UpdateCounts(signs, counts)
	})
	if got != 0 {
		t.Errorf("%v allocations a call, want none", got)
	}
}

func TestShapeMismatchPanics(t *testing.T) {
	tab := mustNew(t, config())
	for want, call := range map[string]func(){
		"table: len(dst) = 4, want 6": func() { _ = tab.Lookup([]uint64{1, 2}, make([]float32, 4)) },
		"table: len(found) = 1, want 2": func() {
			_ = tab.LookupStep(0, []uint64{1, 2}, make([]float32, 6), make([]table.Found, 1))
		},
		"table: len(dst) = 5, want 3":   func() { tab.Snapshot([]uint64{1}, make([]float32, 5)) },
		"table: len(grads) = 0, want 3": func() { tab.Apply([]uint64{1}, nil, 1, nil) },
		"table: len(dst) = 2, want 1":   func() { tab.UpdateCounts([]uint64{1}, make([]uint32, 2)) },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); got != want {
					t.Errorf("panic %q, want %q", got, want)
				}
			}()
			call()
		}()
	}
}

// What a read has found belongs to the put that names it: the next gradients find their rows by themselves.
func TestApplyWithoutAReadForgetsTheReadBefore(t *testing.T) {
	plain, mixed := mustNew(t, config()), mustNew(t, config())
	signs, grads := []uint64{1, 2, 3}, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9}
	found := make([]table.Found, 3)
	for _, tab := range []*table.Table{plain, mixed} {
		if err := tab.LookupStep(0, signs, make([]float32, 9), found); err != nil {
			t.Fatal(err)
		}
	}
	plain.Apply(signs, grads, 1, nil)
	mixed.Apply(signs, grads, 1, &table.Read{Found: found})
	other := []uint64{3, 1}
	plain.Apply(other, grads[:6], 1, nil)
	mixed.Apply(other, grads[:6], 1, nil)
	if plain.Digest() != mixed.Digest() {
		t.Error("an application with a read changes the one after it")
	}
}

// A weight multiplies the rate of its own sign, and no other; it follows from the
// updates that the sign has missed.
func TestWeightsMultiplyTheRate(t *testing.T) {
	plain, weighed := mustNew(t, config()), mustNew(t, config())
	signs, grads := []uint64{1, 2, 3}, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9}
	found := make([]table.Found, 3)
	for _, tab := range []*table.Table{plain, weighed} {
		if err := tab.LookupStep(0, signs, make([]float32, 9), found); err != nil {
			t.Fatal(err)
		}
		tab.Apply([]uint64{2, 3, 3}, grads, 1, nil)
	}
	var missed []uint32
	weighed.Apply(signs, grads, 1, &table.Read{
		Found: found,
		Missed: func(updates uint32, gradients int) {
			missed = append(missed, slices.Repeat([]uint32{updates}, gradients)...)
		},
		Weight: func(missed int) float32 { return []float32{1, 0.5, 0.25}[missed] },
	})
	for i, rate := range []float32{1, 0.5, 0.25} {
		plain.Apply(signs[i:i+1], grads[i*dim:(i+1)*dim], rate, nil)
	}
	if weighed.Digest() != plain.Digest() {
		t.Error("a weight is not a factor of the rate")
	}
	if !slices.Equal(missed, []uint32{0, 1, 2}) {
		t.Errorf("updates missed %v, want 0, 1, 2", missed)
	}
}

// Updates that gradients have missed are counted in the order of gradients, over all chunks, without those
// that are not finite.
func TestMissedUpdatesAreCountedInRuns(t *testing.T) {
	tab := mustNew(t, config())
	var signs []uint64
	for i := range uint64(70) {
		signs = append(signs, i)
	}
	grads, found := make([]float32, len(signs)*dim), make([]table.Found, len(signs))
	update := func(sign uint64, times int) {
		for range times {
			tab.Apply([]uint64{sign}, make([]float32, dim), 1, nil)
		}
	}
	for i, sign := range signs { // which a first read creates
		if err := tab.Lookup(signs[i:i+1], make([]float32, dim)); err != nil {
			t.Fatal(err)
		}
		update(sign, i%5)
	}
	if err := tab.LookupStep(0, signs, make([]float32, len(grads)), found); err != nil {
		t.Fatal(err)
	}
	var want []uint32
	for i, sign := range signs {
		updates := uint32(i / 9 % 3)
		update(sign, int(updates))
		if i%7 == 0 || i >= 64 { // the last chunk has no finite gradient
			grads[i*dim] = float32(math.NaN())
		} else {
			want = append(want, updates)
		}
	}
	var got []uint32
	tab.Apply(signs, grads, 1, &table.Read{Found: found, Missed: func(updates uint32, gradients int) {
		if gradients < 1 {
			t.Errorf("%d gradients have missed %d updates", gradients, updates)
		}
		got = append(got, slices.Repeat([]uint32{updates}, gradients)...)
	}})
	if !slices.Equal(got, want) {
		t.Errorf("updates missed %v, want %v", got, want)
	}
}
