package ring

import (
	"sync/atomic"
	"time"
)

// bell is where an end of a ring waits: a word of the shared memory, which is 1 from prepare until it is
// rung.
type bell struct{ word atomic.Uint32 }

// waitMax is how long a wait lasts at most. Between two ends that follow the rules none needs the bound. It
// is for an end whose word the other one changes, so that it notices its own Close.
const waitMax = time.Second

// prepare announces a wait. Whoever changes a position after that will ring.
func (b *bell) prepare() { b.word.Store(1) }

// cancel takes the announcement back.
func (b *bell) cancel() { b.word.Store(0) }

// wait waits until the bell was rung since prepare, or for waitMax.
func (b *bell) wait() { futexWait(&b.word, 1, waitMax) }

// ring ends a wait, or one that was announced. It makes a system call only then.
func (b *bell) ring() {
	if b.word.Load() != 0 && b.word.Swap(0) != 0 {
		futexWake(&b.word)
	}
}

// wake is ring for an end's own bell, whose word the other end may have changed.
func (b *bell) wake() {
	b.word.Store(0)
	futexWake(&b.word)
}
