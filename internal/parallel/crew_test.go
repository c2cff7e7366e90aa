package parallel_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"tandem/algo/numeric/kernel"
	"tandem/internal/parallel"
)

var _ kernel.Crew = (*parallel.Crew)(nil)

// Whatever the sizes and however many callers, every piece is done exactly once,
// before Do returns.
func TestEveryPieceIsDoneOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := parallel.New(rapid.IntRange(1, 5).Draw(t, "size"))
		defer c.Close()
		calls := rapid.SliceOfN(rapid.IntRange(0, 40), 1, 4).Draw(t, "pieces of each caller")
		var callers sync.WaitGroup
		for _, pieces := range calls {
			callers.Go(func() {
				for round := range int32(20) {
					done := make([]atomic.Int32, pieces)
					c.Do(pieces, func(piece int) { done[piece].Add(1) })
					for piece := range done {
						if n := done[piece].Load(); n != 1 {
							t.Errorf("round %d: piece %d of %d was done %d times", round, piece, pieces, n)
						}
					}
				}
			})
		}
		callers.Wait()
	})
}

// All members work at the same time: each piece waits for the others.
func TestPiecesRunSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := parallel.New(3)
		defer c.Close()
		synctest.Wait() // the helpers wait for work
		var met sync.WaitGroup
		met.Add(3)
		c.Do(3, func(int) {
			met.Done()
			met.Wait()
		})
	})
}

// A caller whose helpers are all with another caller does its pieces alone.
func TestBusyHelpersAreNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := parallel.New(2)
		defer c.Close()
		synctest.Wait()
		free := make(chan bool)
		var first sync.WaitGroup
		first.Go(func() { c.Do(2, func(int) { <-free }) })
		synctest.Wait() // both goroutines are in the first call
		done := 0
		c.Do(5, func(int) { done++ })
		if done != 5 {
			t.Errorf("%d pieces done, want 5", done)
		}
		close(free)
		first.Wait()
	})
}

// A crew leaves no goroutine behind: the bubble ends only when all have.
func TestCloseEndsTheHelpers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { parallel.New(4).Close() })
}

func TestDoDoesNotAllocate(t *testing.T) {
	c := parallel.New(2)
	defer c.Close()
	var sum atomic.Int64
	work := func(piece int) { sum.Add(int64(piece)) }
	c.Do(8, work)
	if allocs := testing.AllocsPerRun(100, func() { c.Do(8, work) }); allocs > 0 {
		t.Errorf("%v allocations, want 0", allocs)
	}
}

// Products share their crew among callers, and the bits are those of one
// goroutine.
func TestProductsOfSeveralCallers(t *testing.T) {
	c := parallel.New(2)
	defer c.Close()
	const size = 150
	a, b := make([]float32, size*size), make([]float32, size*size)
	for i := range a {
		a[i], b[i] = float32(i%17)/16-0.5, float32(i%23)/22-0.5
	}
	want := make([]float32, size*size)
	kernel.NewProducts(nil).Gemm(false, true, size, size, size, a, size, b, size, 0, want, size)
	products := kernel.NewProducts(c)
	var callers sync.WaitGroup
	for range 3 {
		callers.Go(func() {
			got := make([]float32, size*size)
			for range 5 {
				products.Gemm(false, true, size, size, size, a, size, b, size, 0, got, size)
				for i := range got {
					if got[i] != want[i] {
						t.Errorf("element %d is %v, want %v", i, got[i], want[i])
						return
					}
				}
			}
		})
	}
	callers.Wait()
}

// BenchmarkDo is what sharing costs: pieces that do nothing.
func BenchmarkDo(b *testing.B) {
	c := parallel.New(2)
	defer c.Close()
	for b.Loop() {
		c.Do(2, func(int) {})
	}
}
