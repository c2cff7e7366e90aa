package numerics

import (
	"sync"
	"sync/atomic"
)

// waiting is how many pieces of work may wait for a goroutine; more make
// whoever hands one over wait, which bounds the memory in flight.
const waiting = 256

// pool is a number of goroutines that do pieces of work, the first handed over
// first.
type pool struct {
	queue      chan func()
	goroutines sync.WaitGroup
	closed     atomic.Bool
}

func newPool(workers int) *pool {
	p := &pool{queue: make(chan func(), waiting)}
	for range workers {
		p.goroutines.Go(func() {
			for piece := range p.queue {
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
	close(p.queue)
	p.goroutines.Wait()
}
