package transport

import (
	"sync"

	"tandem/runtime/wire"
)

// outbox holds the frames that wait for a stream, first in, first out.
type outbox struct {
	mu     sync.Mutex
	filled sync.Cond
	frames []wire.Frame
	closed bool
}

func newOutbox() *outbox {
	b := &outbox{}
	b.filled.L = &b.mu
	return b
}

// put adds a frame; false says that the box is closed.
func (b *outbox) put(f wire.Frame) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.frames = append(b.frames, f)
	b.filled.Signal()
	return true
}

// take waits for frames and removes some: one, and further ones while they fit
// into sizeMax bytes together. ok is false once the box is closed and empty.
func (b *outbox) take(sizeMax int) (p *packet, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.frames) == 0 && !b.closed {
		b.filled.Wait()
	}
	if len(b.frames) == 0 {
		return nil, false
	}
	count, size := 1, b.frames[0].Size
	for count < len(b.frames) && size+b.frames[count].Size <= sizeMax {
		size += b.frames[count].Size
		count++
	}
	p = &packet{}
	for _, f := range b.frames[:count] {
		p.segments = append(p.segments, f.Segments...)
	}
	clear(b.frames[:count]) // let go of the payloads
	b.frames = b.frames[count:]
	return p, true
}

// close lets no frame in any more; those that are in can be taken.
func (b *outbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.filled.Broadcast()
}

// drop is close, and forgets the frames.
func (b *outbox) drop() {
	b.close()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.frames = nil
}
