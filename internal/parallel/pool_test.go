package parallel_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"tandem/algo/numeric/kernel/gemm"
	"tandem/internal/parallel"
)

var _ gemm.Pool = (*parallel.Pool)(nil)

// ForEach runs every task exactly once, for every number of workers and tasks.
func TestForEachRunsEveryTaskOnce(t *testing.T) {
	for workers := range 5 {
		for tasks := range 40 {
			runs := make([]atomic.Int32, tasks)
			parallel.ForEach(workers, tasks, func(i int) { runs[i].Add(1) })
			for i := range runs {
				if got := runs[i].Load(); got != 1 {
					t.Fatalf("%d workers, %d tasks: task %d ran %d times", workers, tasks, i, got)
				}
			}
		}
	}
}

// A pool runs every task exactly once before ForEach returns, for every pool size
// and number of callers.
func TestPoolRunsEveryTaskOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := parallel.New(rapid.IntRange(1, 5).Draw(t, "size"))
		defer p.Close()
		calls := rapid.SliceOfN(rapid.IntRange(0, 40), 1, 4).Draw(t, "tasks of each caller")
		var callers sync.WaitGroup
		for _, tasks := range calls {
			callers.Go(func() {
				for round := range int32(20) {
					runs := make([]atomic.Int32, tasks)
					p.ForEach(tasks, func(i int) { runs[i].Add(1) })
					for i := range runs {
						if n := runs[i].Load(); n != 1 {
							t.Errorf("round %d: task %d of %d ran %d times", round, i, tasks, n)
						}
					}
				}
			})
		}
		callers.Wait()
	})
}

// All workers run tasks at the same time: each task waits for the others.
func TestTasksRunAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := parallel.New(3)
		defer p.Close()
		synctest.Wait() // until the workers are idle
		var met sync.WaitGroup
		met.Add(3)
		p.ForEach(3, func(int) {
			met.Done()
			met.Wait()
		})
	})
}

// A caller runs its tasks alone while all workers run those of another caller.
func TestForEachDoesNotWaitForBusyWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := parallel.New(2)
		defer p.Close()
		synctest.Wait()
		free := make(chan bool)
		var first sync.WaitGroup
		first.Go(func() { p.ForEach(2, func(int) { <-free }) })
		synctest.Wait() // both goroutines are in the first call
		runs := 0
		p.ForEach(5, func(int) { runs++ })
		if runs != 5 {
			t.Errorf("%d tasks have run, want 5", runs)
		}
		close(free)
		first.Wait()
	})
}

// A closed pool has no goroutine left: the bubble ends only when all goroutines have ended.
func TestCloseEndsTheWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { parallel.New(4).Close() })
}

func TestForEachDoesNotAllocate(t *testing.T) {
	p := parallel.New(2)
	defer p.Close()
	var sum atomic.Int64
	task := func(i int) { sum.Add(int64(i)) }
	p.ForEach(8, task)
	if allocs := testing.AllocsPerRun(100, func() { p.ForEach(8, task) }); allocs > 0 {
		t.Errorf("%v allocations, want 0", allocs)
	}
}

// Several callers share the pool of the built-in products, and the bits are those of
// one goroutine.
func TestConcurrentProductsShareAPool(t *testing.T) {
	p := parallel.New(2)
	defer p.Close()
	const size = 150
	a, b := make([]float32, size*size), make([]float32, size*size)
	for i := range a {
		a[i], b[i] = float32(i%17)/16-0.5, float32(i%23)/22-0.5
	}
	want := make([]float32, size*size)
	gemm.NewProducts(nil).Gemm(false, true, size, size, size, a, size, b, size, 0, want, size)
	products := gemm.NewProducts(p)
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

// BenchmarkForEach measures the overhead of a call: its tasks do nothing.
func BenchmarkForEach(b *testing.B) {
	p := parallel.New(2)
	defer p.Close()
	for b.Loop() {
		p.ForEach(2, func(int) {})
	}
}
