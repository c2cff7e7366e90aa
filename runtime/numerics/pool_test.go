package numerics

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// Tasks begin in order, and as many run at the same time as there are workers.
func TestPoolRunsInOrder(t *testing.T) {
	for _, workers := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(workers)
			began := make(chan int, 10)
			free := make(chan bool)
			for i := range 10 {
				p.tasks <- func() {
					began <- i
					<-free
				}
			}
			synctest.Wait()
			if len(began) != workers {
				t.Errorf("%d pieces run at a time, want %d", len(began), workers)
			}
			seen := 0
			for i := range 10 {
				if got := <-began; workers == 1 && got != i {
					t.Errorf("piece %d began as number %d", got, i)
				} else {
					seen |= 1 << got
				}
				free <- true
			}
			if seen != 1<<10-1 {
				t.Errorf("pieces %b", seen)
			}
			p.close()
		})
	}
}

// Close waits for running tasks, drops the others, and leaves no goroutine: the synctest bubble ends only
// when all have ended.
func TestPoolCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(1)
		free := make(chan bool)
		var done atomic.Int32
		for range 5 {
			p.tasks <- func() {
				<-free
				done.Add(1)
			}
		}
		synctest.Wait()
		go func() { free <- true }()
		p.closed.Store(true) // as close does first
		p.close()
		if done.Load() != 1 {
			t.Errorf("%d pieces done", done.Load())
		}
	})
}
