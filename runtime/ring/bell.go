package ring

import "sync/atomic"

// bell is where an end of a ring waits: a word of the shared memory, which is 1 from prepare until it is
// rung, and a pipe to which the other end then writes a byte. A goroutine that waits for a pipe leaves its
// processor to others at once; one that waits for the word itself (futex) would keep it for a while.
type bell struct {
	word *atomic.Uint32
	pipe pipe
}

// prepare announces a wait. Whoever changes a position after that will ring.
func (b *bell) prepare() { b.word.Store(1) }

// cancel takes the announcement back.
func (b *bell) cancel() { b.word.Store(0) }

// wait waits until the bell is rung. It may return earlier, and always does after wake.
func (b *bell) wait() { b.pipe.wait() }

// ring ends a wait, or one that was announced. It makes a system call only then.
func (b *bell) ring() {
	if b.word.Load() != 0 && b.word.Swap(0) != 0 {
		b.pipe.write()
	}
}

// wake ends the wait of this end, now or later, without the other end.
func (b *bell) wake() { b.pipe.interrupt() }
