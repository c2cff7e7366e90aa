package numerics

import (
	"sync"
	"sync/atomic"
)

// waiting is how many pieces of work may wait for a goroutine; more make
// whoever hands one over wait, which bounds the memory in flight.
const tasksMax = 256

// pool is a number of goroutines that do pieces of work, the first handed over
// first.
type pool struct {
	tasks      chan func()
	goroutines sync.WaitGroup
	closed     atomic.Bool
}

func newPool(workers int) *pool {
	p := &pool{tasks: make(chan func(), tasksMax)}
	for range workers {
		p.goroutines.Go(func() {
			for piece := range p.tasks {
				if !p.closed.Load() {
					piece()
				}
			}
		})
	}
	return p
}

// close ends every goroutine after the piece in its hands and drops the others.
func (p *pool) close() {
	p.closed.Store(true)
	close(p.tasks)
	p.goroutines.Wait()
}
