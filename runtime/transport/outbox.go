package transport

import (
	"sync"

	"tandem/runtime/wire"
)

// outbox holds the frames that wait for a stream, first in, first out.
type outbox struct {
	mu           sync.Mutex
	filled       sync.Cond
	frames       []wire.Frame
	sent         int  // bytes of the first frame that have been taken, if it travels in pieces
	heartbeatDue bool // a sign of life, if there is nothing else
	closed       bool
}

func newOutbox() *outbox {
	b := &outbox{}
	b.filled.L = &b.mu
	return b
}

// add adds a frame; false says that the box is closed.
func (b *outbox) add(f wire.Frame) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.frames = append(b.frames, f)
	b.filled.Signal()
	return true
}

// addHeartbeat has an empty packet sent, unless frames wait.
func (b *outbox) addHeartbeat() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.heartbeatDue = true
	b.filled.Signal()
}

// next waits for frames and removes some, or a piece of one: a frame of more than packetMax bytes travels in
// pieces of that size, and others share a packet while they fit into packetSize bytes together. The packet is
// empty if a sign of life is due and nothing else. ok is false once the box is closed and empty.
func (b *outbox) next() (p *packet, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.frames) == 0 && !b.closed && !b.heartbeatDue {
		b.filled.Wait()
	}
	b.heartbeatDue = false
	if len(b.frames) == 0 {
		return &packet{}, !b.closed
	}
	if b.frames[0].Size > packetMax {
		return b.piece(), true
	}
	count, size := 1, b.frames[0].Size
	for count < len(b.frames) && size+b.frames[count].Size <= packetSize {
		size += b.frames[count].Size
		count++
	}
	p = &packet{}
	for _, f := range b.frames[:count] {
		p.segments = append(p.segments, f.Segments...)
	}
	b.remove(count)
	return p, true
}

// piece removes the next piece of the first frame.
func (b *outbox) piece() *packet {
	frame, room := b.frames[0], packetMax
	p, skip := &packet{}, b.sent
	for _, s := range frame.Segments {
		if skip >= len(s) {
			skip -= len(s)
			continue
		}
		part := s[skip:min(len(s), skip+room)]
		skip, room = 0, room-len(part)
		p.segments = append(p.segments, part)
		if room == 0 {
			break
		}
	}
	b.sent += packetMax - room
	if b.sent == frame.Size {
		b.sent = 0
		b.remove(1)
	}
	return p
}

// remove forgets the first frames.
func (b *outbox) remove(count int) {
	clear(b.frames[:count]) // and the payloads with them
	b.frames = b.frames[count:]
}

// close lets no frame in any more; those that are in can be taken.
func (b *outbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.filled.Broadcast()
}

// closeNow is close, and forgets the frames.
func (b *outbox) closeNow() {
	b.close()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.frames = nil
}
