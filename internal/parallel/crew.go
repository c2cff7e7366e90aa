// Package parallel is goroutines that share one computation: what the matrix
// products of algo/numeric/kernel, which may start none, are given to use all cores.
package parallel

import "sync/atomic"

// Crew is a number of goroutines that help whoever asks. It implements
// kernel.Crew.
//
// A helper waits on a channel and takes no core from others while it has nothing
// to do. A caller does pieces itself and never waits for a helper that has not
// begun one: where the cores are busy with other callers it does all alone. So
// any number of callers may share a crew.
type Crew struct {
	size  int
	offer chan *job // for helpers, now or when they have done what they are at
	idle  chan *job // to be used again
}

// A job is one call of Do.
type job struct {
	pieces int64
	work   func(piece int)
	begun  atomic.Int64 // pieces that somebody has claimed, and attempts beyond
	ended  atomic.Int64
	users  atomic.Int64  // goroutines that hold the job
	last   chan struct{} // told by whoever ends the last piece
}

// New returns a crew of so many goroutines, the caller of Do included, and starts
// the others. Close ends them. Size must be at least 1; a size above the number of
// cores gains nothing.
func New(size int) *Crew {
	// Offers that no helper has time for are dropped from a point on. As many jobs
	// are kept as offers and callers can hold.
	c := &Crew{size: size, offer: make(chan *job, 4*size), idle: make(chan *job, 8*size)}
	for range size - 1 {
		go func() {
			for j := range c.offer {
				j.take()
				c.release(j)
			}
		}()
	}
	return c
}

// Close ends the helpers. Do must not be called afterwards, nor be under way. A
// crew that lives as long as the process need not be closed.
func (c *Crew) Close() { close(c.offer) }

// Size returns the number of goroutines, the caller included.
func (c *Crew) Size() int { return c.size }

// Do calls work once for every piece from 0 to pieces−1, in any order and on
// several goroutines, and returns when all calls have returned. Work must not
// panic. It allocates nothing once as many calls have been under way at a time.
func (c *Crew) Do(pieces int, work func(piece int)) {
	if pieces <= 1 || c.size == 1 {
		for piece := range pieces {
			work(piece)
		}
		return
	}
	j := c.job()
	j.pieces, j.work = int64(pieces), work
	j.users.Store(1)
	c.call(j, min(c.size, pieces)-1)
	j.take()
	<-j.last
	c.release(j)
}

// call offers the job to so many helpers.
func (c *Crew) call(j *job, helpers int) {
	for range helpers {
		j.users.Add(1)
		select {
		case c.offer <- j:
		default:
			j.users.Add(-1)
			return
		}
	}
}

// take does pieces until all are claimed.
func (j *job) take() {
	for {
		piece := j.begun.Add(1) - 1
		if piece >= j.pieces {
			return
		}
		j.work(int(piece))
		if j.ended.Add(1) == j.pieces {
			j.last <- struct{}{}
		}
	}
}

// job returns a job that nobody holds.
func (c *Crew) job() *job {
	select {
	case j := <-c.idle:
		return j
	default:
		return &job{last: make(chan struct{}, 1)}
	}
}

// release lets go of a job. A helper that comes late finds all pieces claimed, so
// the job is used again only after everybody has let go.
func (c *Crew) release(j *job) {
	if j.users.Add(-1) > 0 {
		return
	}
	j.work = nil
	j.begun.Store(0)
	j.ended.Store(0)
	select {
	case c.idle <- j:
	default:
	}
}
