package datasets

import (
	"sync"
	"sync/atomic"
	"time"

	"tandem/algo/numeric/batch"
)

// ReadAhead reads the next steps of another source in the background while the current step is
// trained on. Any step can be read at any time and any number of times, by several goroutines,
// and is the batch of the other source.
//
// A step is read in turn if it is the first one that is read, or step 0, or follows the last step
// that was read in turn. Reading a step in turn starts the steps after it, each on its own goroutine that
// ends when the step is read, so nothing needs to be closed. Memory: the batches that are read
// ahead.
type ReadAhead struct {
	batch.Source
	steps int // how many to read ahead

	mu     sync.Mutex
	last   int // the last step that was read in turn
	ahead  map[int]*reading
	waited atomic.Int64 // nanoseconds
}

// reading is a step that is being read, or was.
type reading struct {
	done  chan struct{} // closed when the fields below are set
	batch *batch.Batch
	err   error
}

// NewReadAhead returns a source that reads a number of steps ahead, at least 1.
func NewReadAhead(source batch.Source, steps int) *ReadAhead {
	return &ReadAhead{Source: source, steps: max(steps, 1), last: -1, ahead: map[int]*reading{}}
}

// Read returns the global batch of a step.
func (r *ReadAhead) Read(step int) (*batch.Batch, error) {
	begin := time.Now()
	defer func() { r.waited.Add(int64(time.Since(begin))) }()
	this := r.startAhead(step)
	if this == nil {
		return r.Source.Read(step)
	}
	<-this.done
	return this.batch, this.err
}

// Waited returns the total time that all calls of Read have taken so far.
func (r *ReadAhead) Waited() time.Duration { return time.Duration(r.waited.Load()) }

// startAhead returns the reading of a step, or nil if the step was not started. If the step is
// read in turn, startAhead starts the steps after it.
func (r *ReadAhead) startAhead(step int) *reading {
	r.mu.Lock()
	defer r.mu.Unlock()
	this := r.ahead[step]
	delete(r.ahead, step)
	if r.last >= 0 && step != 0 && step != r.last+1 {
		return this
	}
	r.last = step
	end := min(step+1+r.steps, r.Steps())
	for old := range r.ahead {
		if old <= step || old >= end {
			delete(r.ahead, old)
		}
	}
	for next := step + 1; next < end; next++ {
		if r.ahead[next] == nil {
			r.ahead[next] = r.start(next)
		}
	}
	return this
}

func (r *ReadAhead) start(step int) *reading {
	this := &reading{done: make(chan struct{})}
	go func() {
		defer close(this.done)
		this.batch, this.err = r.Source.Read(step)
	}()
	return this
}
