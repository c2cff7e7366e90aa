// Package parallel spreads independent pieces of work over goroutines.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Processors is the number of goroutines that can run at once.
func Processors() int { return runtime.GOMAXPROCS(0) }

// Do does the pieces 0 to n−1, in any order, on so many goroutines, and returns
// when all are done. One worker is the calling goroutine alone.
func Do(workers, n int, piece func(i int)) {
	if workers = min(workers, n); workers <= 1 {
		for i := range n {
			piece(i)
		}
		return
	}
	var next atomic.Int64
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				piece(i)
			}
		})
	}
	running.Wait()
}
