package table_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/table"
)

func adagrad(t *testing.T) table.Optimizer {
	o, err := opt.NewRow(opt.RowSpec{Kind: opt.Adagrad, Rate: 0.1, Order: opt.After, Epsilon: 1e-8})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// equalColumns reports whether two tables have the same rows in the same order.
func equalColumns(a, b *table.Columns) bool {
	return slices.Equal(a.Signs, b.Signs) && slices.Equal(a.Updates, b.Updates) &&
		slices.Equal(a.Read, b.Read) && slices.Equal(a.Embeddings, b.Embeddings) &&
		slices.Equal(a.States, b.States)
}

// readFrozen reads all frozen rows, some at a time, with a pause before each read.
func readFrozen(f *table.Frozen, r *rand.Rand, pause func()) *table.Columns {
	all := new(table.Columns)
	for first := 0; first < f.Len(); {
		pause()
		n := min(1+r.IntN(700), f.Len()-first)
		c := &table.Columns{Signs: make([]uint64, n), Updates: make([]uint32, n), Read: make([]uint8, n),
			Embeddings: make([]byte, n*f.EmbeddingBytes()), States: make([]byte, n*f.StateBytes())}
		f.CopyRows(first, c)
		first += n
		all.Signs, all.Updates = append(all.Signs, c.Signs...), append(all.Updates, c.Updates...)
		all.Read = append(all.Read, c.Read...)
		all.Embeddings = append(all.Embeddings, c.Embeddings...)
		all.States = append(all.States, c.States...)
	}
	return all
}

// trainer looks rows up and updates them, batch by batch.
type trainer struct {
	*rand.Rand
	ids  uint64
	step int
}

func (r *trainer) batches(t *testing.T, tab *table.Table, n int) {
	for range n {
		var signs []uint64
		for range 100 {
			if sign := r.Uint64N(r.ids); !slices.Contains(signs, sign) {
				signs = append(signs, sign)
			}
		}
		values, found := make([]float32, len(signs)*tab.Dim()), make([]table.Found, len(signs))
		if err := tab.LookupStep(r.step, signs, values, found); err != nil {
			t.Error(err)
		}
		for i := range values {
			values[i] = float32(signs[i/tab.Dim()]%7) / 8
		}
		if r.step%3 > 0 { // some rows are only read
			tab.Apply(signs, values, 0.5, &table.Read{Found: found})
		}
		r.step++
	}
}

// Frozen rows are those of the moment of the freeze, bit for bit, while the table changes, and
// the table does what it would have done. That holds with eviction, in every precision, and with
// a buffer that is too small, where changes wait.
func TestFrozenRowsAreThoseOfTheMoment(t *testing.T) {
	for _, precision := range []table.Precision{table.FP32, table.BF16, table.FP16} {
		for _, evict := range []bool{false, true} {
			for _, buffer := range []int{0, 1 << 14, 1 << 20} {
				name := fmt.Sprintf("%v, evict %t, buffer of %d", precision, evict, buffer)
				t.Run(name, func(t *testing.T) {
					c := table.Config{Dim: 8, Optimizer: adagrad(t), Seed: 1, InitBound: 0.1,
						Precision: precision, Evict: evict}
					if evict {
						c.MaxRows = 3000
					}
					tab := mustNew(t, c)
					before := &trainer{rand.New(rand.NewPCG(1, 2)), 5000, 0}
					before.batches(t, tab, 150)
					want, twin := columnsOf(tab), tab.Clone()
					waits := 0
					waiting := make(chan bool, 1)
					frozen := tab.Freeze(make([]byte, buffer), func(room func()) {
						waits++
						select {
						case waiting <- true:
						default:
						}
						room()
					})
					counters := tab.Counters()
					read := make(chan *table.Columns)
					go func() {
						r := rand.New(rand.NewPCG(3, 4))
						// A reader that is scheduled before the trainer would find nothing changed.
						if buffer == 0 {
							<-waiting
						}
						for frozen.Copied() == 0 {
							time.Sleep(time.Millisecond)
						}
						read <- readFrozen(frozen, r, func() { time.Sleep(time.Duration(r.IntN(1e6))) })
					}()
					after := &trainer{rand.New(rand.NewPCG(5, 6)), 8000, before.step}
					after.batches(t, tab, 100)
					if got := <-read; !equalColumns(got, want) || frozen.Counters() != counters {
						t.Error("the frozen rows differ from those of the moment")
					}
					unfrozen := &trainer{rand.New(rand.NewPCG(5, 6)), 8000, before.step}
					unfrozen.batches(t, twin, 100)
					if !equalColumns(columnsOf(tab), columnsOf(twin)) || tab.Counters() != twin.Counters() {
						t.Error("the table differs from one that was not frozen")
					}
					if frozen.Copied() == 0 || buffer == 0 && waits == 0 {
						t.Errorf("%v copied, %d waits: nothing changed before it was read", frozen.Copied(),
							waits)
					}
				})
			}
		}
	}
}

// Rows that only the mark of a read changes are frozen too.
func TestFrozenRowsKeepTheirMarks(t *testing.T) {
	c := config()
	c.MaxRows, c.Evict = 4, true
	tab := mustNew(t, c)
	mustLookup(t, tab, 1, 2, 3, 4)
	mustLookup(t, tab, 5) // clears all marks, and replaces the row of 1
	want := columnsOf(tab)
	frozen := tab.Freeze(make([]byte, 1<<12), nil)
	mustLookup(t, tab, 2, 3, 4, 5)
	if got := readFrozen(frozen, rand.New(rand.NewPCG(1, 1)), func() {}); !equalColumns(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if slices.Equal(columnsOf(tab).Read, want.Read) {
		t.Error("no mark has changed")
	}
}

// What waits for room goes on when the reader gives up, and the table can be frozen again.
func TestReleaseEndsWaiting(t *testing.T) {
	tab := mustNew(t, table.Config{Dim: 8, Optimizer: adagrad(t), Seed: 1})
	r := &trainer{rand.New(rand.NewPCG(1, 2)), 5000, 0}
	r.batches(t, tab, 100)
	frozen := tab.Freeze(nil, nil)
	trained := make(chan bool)
	go func() { r.batches(t, tab, 100); close(trained) }()
	select {
	case <-trained:
		t.Error("nothing has waited")
	case <-time.After(20 * time.Millisecond):
	}
	frozen.Release()
	<-trained
	want := columnsOf(tab)
	again := tab.Freeze(nil, nil)
	if got := readFrozen(again, r.Rand, func() {}); !equalColumns(got, want) {
		t.Error("the second freeze differs from the table")
	}
}

func TestFreezeTwicePanics(t *testing.T) {
	tab := mustNew(t, config())
	mustLookup(t, tab, 1)
	tab.Freeze(nil, nil)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	tab.Freeze(nil, nil)
}
