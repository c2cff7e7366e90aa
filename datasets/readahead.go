package datasets

import (
	"sync"
	"sync/atomic"
	"time"

	"tandem/algo/numeric/batch"
)

// ReadAhead is a source that reads the next steps of another while the step in
// hand is trained on. Any step may be read at any time and any number of times,
// by several goroutines, and is what the other source gives.
//
// A step is read in turn if it is one higher than the last such, or the first of the
// run. Then the steps after it are begun, each on a goroutine that ends with it, so
// nothing needs to be closed. Memory: the batches of the steps that are ahead.
type ReadAhead struct {
	batch.Source
	steps int // ahead of the one that is read

	mu     sync.Mutex
	last   int // step that was read in turn
	ahead  map[int]*reading
	waited atomic.Int64 // ns
}

// reading is a step that is being read, or has been.
type reading struct {
	done  chan struct{} // closed when the rest is there
	batch *batch.Batch
	err   error
}

// NewReadAhead returns a source that is so many steps ahead, at least 1, of
// whoever reads it.
func NewReadAhead(source batch.Source, steps int) *ReadAhead {
	return &ReadAhead{Source: source, steps: max(steps, 1), last: -1, ahead: map[int]*reading{}}
}

// Read returns the global batch of a step.
func (r *ReadAhead) Read(step int) (*batch.Batch, error) {
	begin := time.Now()
	defer func() { r.waited.Add(int64(time.Since(begin))) }()
	this := r.take(step)
	if this == nil {
		return r.Source.Read(step)
	}
	<-this.done
	return this.batch, this.err
}

// Waited returns the time that callers of Read have spent in there so far, that
// of several at once added up.
func (r *ReadAhead) Waited() time.Duration { return time.Duration(r.waited.Load()) }

// take returns the reading of a step and, if the step is read in turn, begins
// those after it. It returns nil if nobody has begun the step.
func (r *ReadAhead) take(step int) *reading {
	r.mu.Lock()
	defer r.mu.Unlock()
	this := r.ahead[step]
	delete(r.ahead, step)
	if step != 0 && step != r.last+1 {
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
			r.ahead[next] = r.begin(next)
		}
	}
	return this
}

func (r *ReadAhead) begin(step int) *reading {
	this := &reading{done: make(chan struct{})}
	go func() {
		defer close(this.done)
		this.batch, this.err = r.Source.Read(step)
	}()
	return this
}
