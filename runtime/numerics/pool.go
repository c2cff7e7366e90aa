package numerics

import (
	"sync"
	"sync/atomic"
)

// tasksMax is the number of tasks that may wait for a worker. Adding one more blocks, which bounds the memory
// in flight.
const tasksMax = 256

// pool is a fixed number of workers that run tasks in the order in which they were added.
type pool struct {
	tasks      chan func()
	goroutines sync.WaitGroup
	closed     atomic.Bool
}

func newPool(workers int) *pool {
	p := &pool{tasks: make(chan func(), tasksMax)}
	for range workers {
		p.goroutines.Go(func() {
			for task := range p.tasks {
				if !p.closed.Load() {
					task()
				}
			}
		})
	}
	return p
}

// close ends every worker after its current task and drops the other tasks.
func (p *pool) close() {
	p.closed.Store(true)
	close(p.tasks)
	p.goroutines.Wait()
}
