package driver

import (
	"time"

	"tandem/algo/protocol/role"
)

// Stopwatch is told how long work has taken, from its beginning to its end on
// whatever core it ran. Several goroutines may call it at a time.
type Stopwatch interface {
	// Worked is told of a piece of work.
	Worked(w role.Work, took time.Duration)
	// Reduced is told of the sum of a bucket over the ranks, where all are in this
	// process.
	Reduced(bucket int32, took time.Duration)
}

// timed does work, when it is its turn if work is done in turn, and tells the
// stopwatch, if there is one.
func (r *run) timed(do func(), tell func(took time.Duration)) {
	if r.turns != nil {
		r.turns.Lock()
		defer r.turns.Unlock()
	}
	begin := time.Now()
	do()
	if r.options.Stopwatch != nil {
		tell(time.Since(begin))
	}
}
