package transport

import (
	"bufio"
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"tandem/runtime/ring"
	"tandem/runtime/wire"
)

// Between processes of one machine, frames travel through shared memory (package ring) beside the stream. The
// opener of the stream offers a ring in its introduction, and the other end answers whether it could open the
// ring. The stream then carries heartbeats only, and its end is the end of both.

const (
	// ringKey is the key of the offer in an introduction, and of the answer, ringOpen.
	ringKey  = "tandem-ring"
	ringOpen = "open"
)

// offerRing makes a ring and adds its offer to the introduction of a stream, unless there can be no ring. It
// does not know where the other end is: names and addresses do not tell. A process on another machine answers
// that it cannot open the ring, whose memory is then freed.
func (l *outStream) offerRing(md metadata.MD) metadata.MD {
	if l.node.options.TCP {
		return md
	}
	w, err := ring.New(ring.DefaultSize)
	if err != nil {
		l.node.logTCP(err)
		return md
	}
	l.ring = w
	md.Set(ringKey, w.Offer())
	return md
}

// useRing sends frames by the ring if the other end has opened it.
func (l *outStream) useRing(header metadata.MD) {
	switch {
	case l.ring == nil:
	case onlyValue(header, ringKey) == ringOpen:
		l.ring.Accepted()
		l.outbox.ring = l.ring
	default:
		l.ring.Close()
		l.ring = nil
	}
}

// logTCP logs, once, why frames for other processes of this machine travel on streams.
func (n *Endpoint) logTCP(err error) {
	n.tcpLogged.Do(func() {
		if n.options.Log != nil {
			n.options.Log("transport: messages to processes of this machine travel by TCP: " + err.Error() +
				"; the job can ask for that: wire.local: tcp")
		}
	})
}

// sendByRing is the goroutine that writes to the ring what add had no room for, and sends heartbeats.
func (l *outStream) sendByRing() {
	for {
		next, err := l.outbox.pump()
		if err == nil && next == roomNeeded {
			err = l.ring.WaitForRoom()
		}
		switch {
		case errors.Is(err, ring.ErrClosed): // and the stream has ended
			return
		case err != nil:
			l.node.Drop(l.roles[0], wire.Refusef(wire.Malformed, "%w", err))
			return
		case next == heartbeatNeeded && l.stream.SendMsg(&packet{}) != nil:
			return // watch receives the error
		case next == endNeeded:
			_ = l.stream.CloseSend() // as above
			return
		}
	}
}

// need is what the goroutine of an outbox with a ring does next.
type need uint8

const (
	heartbeatNeeded need = iota
	roomNeeded           // wait for room in the ring
	endNeeded            // end the stream: all frames are written
)

// pump waits until a heartbeat is due or frames wait, and writes these to the ring as far as there is room.
func (b *outbox) pump() (need, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		switch {
		case b.heartbeatDue:
			b.heartbeatDue = false
			return heartbeatNeeded, nil
		case len(b.frames) > 0:
			if written, err := b.writeRing(); err != nil || !written {
				return roomNeeded, err
			}
		case b.closed:
			return endNeeded, nil
		default:
			b.filled.Wait()
		}
	}
}

// writeRing writes frames to the ring as far as there is room, and reports whether that was all. The caller
// holds b.mu.
func (b *outbox) writeRing() (all bool, err error) {
	for len(b.frames) > 0 {
		f := b.frames[0]
		n, err := b.ring.TryWrite(f.Segments, b.sent)
		if b.sent += n; err != nil || b.sent < f.Size {
			return false, err
		}
		if f.free != nil {
			f.free() // the ring has a copy
		}
		b.sent = 0
		b.remove(1)
	}
	return true, nil
}

// openRing opens the ring that the opener of a stream offers. It returns nil if there is none, or if it
// cannot be opened.
func (n *Endpoint) openRing(ctx context.Context) *ring.Reader {
	md, _ := metadata.FromIncomingContext(ctx)
	offer := onlyValue(md, ringKey)
	if offer == "" || n.options.TCP {
		return nil
	}
	r, err := ring.Open(offer)
	switch {
	case err == nil:
		return r
	case !errors.Is(err, ring.ErrElsewhere):
		n.logTCP(err)
	}
	return nil
}

// receiveByRing delivers what arrives in the ring of a stream until the stream ends. Its errors are those of
// receiveFrames.
func (n *Endpoint) receiveByRing(stream grpc.ServerStream, c *inStream) error {
	end := make(chan error, 1)
	n.goroutines.Go(func() {
		err := awaitEnd(stream)
		if err == io.EOF {
			c.ring.End() // all frames are in the ring
		} else {
			c.ring.Close()
		}
		end <- err
	})
	err := n.receiveRing(c, c.ring)
	if err == io.EOF || errors.Is(err, ring.ErrClosed) {
		return <-end
	}
	return err
}

// awaitEnd receives heartbeats until the stream ends. The error is io.EOF if the sender has ended the stream.
func awaitEnd(stream grpc.ServerStream) error {
	for {
		p := packet{}
		err := stream.RecvMsg(&p)
		switch {
		case err == io.EOF:
			return err
		case status.Code(err) == codes.ResourceExhausted, err == nil && p.size > 0:
			return wire.Refusef(wire.Malformed, "packet on a stream whose frames travel in a ring")
		case err != nil:
			return err
		}
	}
}

// receiveRing delivers what is read from the ring of a stream. The error is io.EOF after the last frame,
// ring.ErrClosed if the ring was closed, or a *wire.Refusal.
func (n *Endpoint) receiveRing(c *inStream, source io.Reader) error {
	r := bufio.NewReaderSize(source, packetSize)
	for {
		start, err := r.Peek(wire.HeaderSize)
		if err != nil {
			return ringError(err, len(start) > 0)
		}
		h, err := wire.ParseHeader(start)
		if err != nil {
			return err
		}
		if err := n.check(c, &h); err != nil {
			return err
		}
		data, err := n.readFrame(r, h.Size)
		if err != nil {
			return ringError(err, true)
		}
		if err := n.deliverFrame(c, &h, data, true); err != nil {
			return err
		}
	}
}

// ringError returns the error of receiveRing for an error of the ring, before or within a frame.
func ringError(err error, within bool) error {
	switch {
	case errors.Is(err, ring.ErrClosed):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		if within {
			return wire.Refusef(wire.Malformed, "the stream ends within a frame")
		}
		return io.EOF
	}
	return wire.Refusef(wire.Malformed, "%w", err)
}

// readFrame reads a frame of a size. It allocates at most reserveMax bytes before it has read as many.
func (n *Endpoint) readFrame(r io.Reader, size int) ([]byte, error) {
	if data := n.memory.take(size); data != nil {
		_, err := io.ReadFull(r, data)
		return data, err
	}
	var data []byte
	for len(data) < size {
		read := len(data)
		grown := allocate(min(size, max(2*read, reserveMax)))
		copy(grown, data)
		data = grown
		if _, err := io.ReadFull(r, data[read:]); err != nil {
			return nil, err
		}
	}
	return data, nil
}
