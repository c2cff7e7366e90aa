package driver

import (
	"time"

	"tandem/algo/protocol/role"
)

// Stopwatch receives the duration of work: wall-clock time from its beginning to its end, without the waits
// of a slow role (Options.Slow). Several goroutines may call it at a time.
type Stopwatch interface {
	// Worked receives the duration of one piece of work.
	Worked(w role.Work, took time.Duration)
	// Reduced receives the duration of the sum of one bucket. It is called only if all ranks are in this
	// process.
	Reduced(bucket int32, took time.Duration)
}

// timed calls do and reports its duration, if there is a Stopwatch. With Options.InTurn it waits for its turn
// first. The brake waits at the end, and each time that do calls pause; this time does not count.
func (r *run) timed(b *brake, do func(pause func()), report func(took time.Duration)) {
	if r.turns != nil {
		r.turns.Lock()
		defer r.turns.Unlock()
	}
	begin := time.Now()
	took := time.Duration(0)
	pause := func() {
		worked := time.Since(begin)
		took += worked
		b.after(r, worked)
		begin = time.Now()
	}
	do(pause)
	pause()
	if r.options.Stopwatch != nil {
		report(took)
	}
}
