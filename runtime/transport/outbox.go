package transport

import (
	"sync"

	"tandem/runtime/ring"
	"tandem/runtime/wire"
)

// outFrame is a frame that waits to be sent.
type outFrame struct {
	wire.Frame
	free func() // see exec.Letter
}

// outbox is the queue of frames that wait for a stream.
type outbox struct {
	mu           sync.Mutex
	filled       sync.Cond
	frames       []outFrame
	sent         int          // bytes of the first frame that were sent, if it travels in pieces
	ring         *ring.Writer // where frames are written to; nil if they travel on the stream
	heartbeatDue bool         // send a heartbeat if no frame waits
	closed       bool
}

func newOutbox() *outbox {
	b := &outbox{}
	b.filled.L = &b.mu
	return b
}

// add adds frames, which wake the goroutine of the stream once. With a ring, add writes them to it as far as
// there is room and no earlier frame waits. It returns false if the outbox is closed.
func (b *outbox) add(frames ...outFrame) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	first := len(b.frames) == 0
	b.frames = append(b.frames, frames...)
	if b.ring != nil && first {
		if written, _ := b.writeRing(); written { // pump finds an error again
			return true
		}
	}
	b.filled.Signal()
	return true
}

// addHeartbeat makes next return an empty packet, unless frames wait.
func (b *outbox) addHeartbeat() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.heartbeatDue = true
	b.filled.Signal()
}

// next waits for frames and returns a packet of the first ones, which it removes. A frame of more than
// packetMax bytes travels in pieces of that size. Other frames share a packet while they fit into packetSize
// bytes together. The packet is empty if only a heartbeat is due. next returns false if the outbox is closed
// and empty.
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

// piece removes and returns the next piece of the first frame.
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

// remove removes the first frames.
func (b *outbox) remove(count int) {
	clear(b.frames[:count]) // so that the payloads can be freed
	b.frames = b.frames[count:]
}

// close makes add refuse further frames. Frames in the outbox can still be sent.
func (b *outbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.filled.Broadcast()
}

// closeNow closes the outbox and drops its frames.
func (b *outbox) closeNow() {
	b.close()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.frames = nil
}
