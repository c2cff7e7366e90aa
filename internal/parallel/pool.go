// Package parallel runs the tasks of one computation on several goroutines.
//
// ForEach starts goroutines for a single call, which suits tasks of milliseconds. A
// Pool keeps its goroutines between calls, which suits the matrix products of a
// training step: it implements gemm.Pool of algo/numeric/kernel/gemm, whose code may
// start no goroutine of its own.
package parallel

import (
	"runtime"
	"sync/atomic"
)

// Cores returns the number of goroutines that can run at the same time.
func Cores() int { return runtime.GOMAXPROCS(0) }

// ForEach calls task once for every index from 0 to tasks−1, in any order, on at most
// the given number of workers, and returns when all calls have returned. With one
// worker all tasks run on the calling goroutine. Task must not panic.
func ForEach(workers, tasks int, task func(index int)) {
	p := New(max(min(workers, tasks), 1))
	defer p.Close()
	p.ForEach(tasks, task)
}

// Pool is a fixed set of worker goroutines. Any number of callers may share a pool:
// a caller runs tasks itself and never waits for a worker that has not begun one, so
// with all workers busy elsewhere it runs all its tasks alone. An idle worker waits
// on a channel and uses no core.
type Pool struct {
	size   int
	offers chan *call // to idle workers, or to the next that becomes idle
	unused chan *call // for reuse
}

// A call is one call of ForEach.
type call struct {
	tasks    int64
	task     func(index int)
	claimed  atomic.Int64 // tasks that a goroutine has claimed, and claims beyond the last
	finished atomic.Int64
	holders  atomic.Int64  // goroutines that refer to the call
	done     chan struct{} // receives one value when the last task has finished
}

// New returns a pool of size goroutines, one of which is the caller of ForEach, and
// starts the others. Close ends them. Size must be at least 1; a size above the
// number of cores gains nothing.
func New(size int) *Pool {
	// Offers beyond the capacity are dropped. The pool keeps as many calls as offers
	// and callers can refer to.
	p := &Pool{size: size, offers: make(chan *call, 4*size), unused: make(chan *call, 8*size)}
	for range size - 1 {
		go func() {
			for c := range p.offers {
				c.work()
				p.release(c)
			}
		}()
	}
	return p
}

// Close ends the workers. ForEach must not be running, and must not be called
// afterwards. A pool that lives as long as the process need not be closed.
func (p *Pool) Close() { close(p.offers) }

// Size returns the number of goroutines, the caller included.
func (p *Pool) Size() int { return p.size }

// ForEach calls task once for every index from 0 to tasks−1, in any order and on
// several goroutines, and returns when all calls have returned. Task must not panic.
// ForEach allocates only when more calls run at the same time than ever before.
func (p *Pool) ForEach(tasks int, task func(index int)) {
	if tasks <= 1 || p.size == 1 {
		for index := range tasks {
			task(index)
		}
		return
	}
	c := p.newCall()
	c.tasks, c.task = int64(tasks), task
	c.holders.Store(1)
	p.offer(c, min(p.size, tasks)-1)
	c.work()
	<-c.done
	p.release(c)
}

// offer offers the call to the given number of workers.
func (p *Pool) offer(c *call, workers int) {
	for range workers {
		c.holders.Add(1)
		select {
		case p.offers <- c:
		default:
			c.holders.Add(-1)
			return
		}
	}
}

// work runs tasks until all are claimed.
func (c *call) work() {
	for {
		index := c.claimed.Add(1) - 1
		if index >= c.tasks {
			return
		}
		c.task(int(index))
		if c.finished.Add(1) == c.tasks {
			c.done <- struct{}{}
		}
	}
}

// newCall returns a call without holders.
func (p *Pool) newCall() *call {
	select {
	case c := <-p.unused:
		return c
	default:
		return &call{done: make(chan struct{}, 1)}
	}
}

// release drops one reference to a call. A late worker finds all tasks claimed, so
// the call is reused only after the last holder has released it.
func (p *Pool) release(c *call) {
	if c.holders.Add(-1) > 0 {
		return
	}
	c.task = nil
	c.claimed.Store(0)
	c.finished.Store(0)
	select {
	case p.unused <- c:
	default:
	}
}
