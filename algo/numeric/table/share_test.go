package table_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"tandem/algo/histogram"
	"tandem/algo/numeric/internal/pooltest"
	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/table"
	"tandem/algo/rng"
)

// A table with a pool shows what one without shows: values, update counts, outcomes, missed updates and the
// order of rows, with rows that are absent, refused, and whose gradients are not finite.
func TestAPoolChangesNothing(t *testing.T) {
	for _, kind := range []string{opt.RowwiseAdagrad, opt.Adagrad, opt.Adam} {
		for _, precision := range []table.Precision{table.FP32, table.BF16} {
			for _, admission := range []float64{1, 0.5} {
				t.Run(fmt.Sprint(kind, precision, admission), func(t *testing.T) {
					shared := &pooltest.Pool{}
					with := useMuch(t, kind, precision, admission, shared)
					without := useMuch(t, kind, precision, admission, nil)
					if !slices.Equal(with, without) {
						t.Errorf("with a pool %v\nwithout %v", with, without)
					}
					if shared.Calls != 6 {
						t.Errorf("%d pieces of work were shared, want 3 lookups and 3 updates", shared.Calls)
					}
				})
			}
		}
	}
}

// useMuch looks up and updates batches of thousands of rows and returns what is seen.
func useMuch(t *testing.T, kind string, precision table.Precision, admission float64,
	shared *pooltest.Pool) (shown []string) {
	spec := opt.DefaultRow()
	spec.Kind = kind
	c := config()
	optimizer, err := opt.NewRow(spec)
	if err != nil {
		t.Fatal(err)
	}
	c.Dim, c.Precision, c.Admission, c.Optimizer = 5, precision, admission, optimizer
	if shared != nil {
		c.Pool = shared
	}
	tab := mustNew(t, c)
	for step := range 3 {
		draw := rng.New(uint64(step), "pool")
		signs := make([]uint64, 0, 5000)
		for _, sign := range rand.New(draw).Perm(9000)[:cap(signs)] {
			signs = append(signs, uint64(sign)*0x9e3779b97f4a7c15)
		}
		values, found := make([]float32, len(signs)*c.Dim), make([]table.Found, len(signs))
		if err := tab.LookupStep(step, signs, values, found); err != nil {
			t.Fatal(err)
		}
		missing := 0
		var missed histogram.Histogram
		tab.Apply(signs[:100], make([]float32, 100*c.Dim), 1, nil) // so that some have missed an update
		outcome := tab.ApplyFrom(signs, func(scratch []float32, lo, hi int) []float32 {
			for i := range scratch {
				scratch[i] = rng.Unit(uint64(step), lo*c.Dim+i) - 0.5
			}
			if lo%64 == 0 {
				scratch[0] = float32(math.NaN())
			}
			return scratch
		}, 0.1, &table.Read{Found: found, Missed: func(updates uint32, gradients int) {
			missed.AddCount(int(updates), uint64(gradients))
		}, Weight: func(missed int) float32 { return 1 / float32(1+missed) }})
		for _, f := range found {
			if f.Refused() {
				missing++
			}
		}
		shown = append(shown, fmt.Sprint(fingerprint(values), missing, outcome, missed.Summary()))
	}
	order := uint64(0)
	for sign, values := range tab.All() {
		order = rng.Mix(order^sign) ^ fingerprint(values)
	}
	return append(shown, fmt.Sprint(tab.Len(), order, tab.Outcomes()))
}

// A table that is full says so with a pool, too.
func TestAPoolFillsATable(t *testing.T) {
	c := config()
	c.MaxRows, c.Pool = 3000, &pooltest.Pool{}
	tab := mustNew(t, c)
	signs := make([]uint64, 4000)
	for i := range signs {
		signs[i] = uint64(i)
	}
	err := tab.LookupStep(0, signs, make([]float32, len(signs)*c.Dim), make([]table.Found, len(signs)))
	if err == nil || tab.Len() != 3000 {
		t.Errorf("error %v with %d rows, want one with 3000", err, tab.Len())
	}
}

// LookupEach passes on what LookupStep copies, each row once, and leaves the same table: with rows that are
// new, refused or evicted, with a pool and without.
func TestLookupEachPassesOnWhatLookupStepCopies(t *testing.T) {
	for _, evict := range []bool{false, true} {
		for _, shared := range []*pooltest.Pool{nil, {}} {
			c := config()
			c.Dim, c.Admission, c.Evict = 5, 0.7, evict
			if evict {
				c.MaxRows = 3000
			}
			if shared != nil {
				c.Pool = shared
			}
			copying, passing := mustNew(t, c), mustNew(t, c)
			for step := range 3 {
				var signs []uint64
				for _, sign := range rand.New(rng.New(uint64(step), "each")).Perm(7000)[:5001] {
					signs = append(signs, uint64(sign))
				}
				want, wantFound := make([]float32, len(signs)*c.Dim), make([]table.Found, len(signs))
				got, gotFound := make([]float32, len(want)), make([]table.Found, len(signs))
				if err := copying.LookupStep(step, signs, want, wantFound); err != nil {
					t.Fatal(err)
				}
				var mu sync.Mutex
				passed := make([]int, len(signs))
				err := passing.LookupEach(step, signs, func(rows []float32, lo, hi int) {
					mu.Lock()
					defer mu.Unlock()
					copy(got[lo*c.Dim:hi*c.Dim], rows)
					for i := lo; i < hi; i++ {
						passed[i]++
					}
				}, gotFound)
				once := slices.Min(passed) == 1 && slices.Max(passed) == 1
				if err != nil || !once || !slices.Equal(got, want) || !slices.Equal(gotFound, wantFound) ||
					passing.Digest() != copying.Digest() {
					t.Fatalf("evict %t, pool %t, step %d: another table, error %v", evict,
						shared != nil, step, err)
				}
			}
		}
	}
}

// Signs that repeat, against the contract, as a faulty process could send them, have one row each.
func TestAPoolCreatesARepeatedSignOnce(t *testing.T) {
	c := config()
	c.Pool = &pooltest.Pool{}
	tab := mustNew(t, c)
	signs := make([]uint64, 4096)
	for i := range signs {
		signs[i] = uint64(i % 1000)
	}
	err := tab.LookupStep(0, signs, make([]float32, len(signs)*c.Dim), make([]table.Found, len(signs)))
	if err != nil || tab.Len() != 1000 {
		t.Errorf("error %v, %d rows; want 1000", err, tab.Len())
	}
}
