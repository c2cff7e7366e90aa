package transport

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"tandem/algo/exec"
	"tandem/runtime/grpcnet"
	"tandem/runtime/wire"
)

const (
	serviceName = "tandem.Frames"
	methodName  = "Send"

	// windowSize is how much a stream may have under way, in bytes.
	windowSize = 4 << 20
	// headerMax is the size in bytes of the largest list of HTTP/2 headers, such as an introduction.
	headerMax = 48 << 10
)

// limits bound every connection between endpoints.
var limits = grpcnet.Limits{Message: packetMax, Headers: headerMax, Window: windowSize,
	Handshake: introductionTimeout}

// newServer makes the gRPC server of an endpoint. Its one method receives a stream of packets and answers
// once, when it has received all of them.
func newServer(n *Endpoint) *grpc.Server {
	s := grpcnet.NewServer(limits, grpc.Creds(n.admission), grpc.ForceServerCodecV2(codec{}),
		grpc.WaitForHandlers(true))
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: serviceName,
		HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{
			StreamName: methodName, ClientStreams: true,
			Handler: func(_ any, stream grpc.ServerStream) error { return n.receive(stream) },
		}},
	}, n)
	return s
}

// receive admits a stream and delivers what arrives on it.
func (n *Endpoint) receive(stream grpc.ServerStream) error {
	c, err := n.admit(stream.Context())
	if err != nil {
		return err
	}
	defer n.removeStream(c)
	// Data behind the end of the stream is read from the connection, and dropped.
	defer time.AfterFunc(leaveTimeout, c.close)
	header := n.introduce()
	if r := n.openRing(stream.Context()); r != nil {
		defer r.Close()
		n.mu.Lock()
		c.ring = r
		n.mu.Unlock()
		header.Set(ringKey, ringOpen)
	}
	if err := stream.SendHeader(header); err != nil {
		n.ended(c, err)
		return err
	}
	if c.ring != nil {
		err = n.receiveByRing(stream, c)
	} else {
		err = n.receiveFrames(stream, c)
	}
	refusal := (*wire.Refusal)(nil)
	switch {
	case err == io.EOF:
		n.left(c.name())
		return stream.SendMsg(&packet{})
	case errors.As(err, &refusal) && !c.stale.Load():
		n.drop(c.name(), c.roles, refusal)
		return status.Error(codes.PermissionDenied, refusal.Error())
	}
	n.ended(c, err)
	return status.Error(codes.Aborted, plainError(err).Error())
}

// ended reports a stream that has broken.
func (n *Endpoint) ended(c *inStream, err error) {
	switch {
	case c.stale.Load():
	case c.hung.Load():
		n.lost(c.name(), fmt.Errorf("it hangs: it has sent nothing, not even a heartbeat, for more than %v",
			n.options.Silence))
	default:
		n.lost(c.name(), err)
	}
}

// receiveFrames delivers what arrives on a stream until the stream ends. The error is io.EOF if the sender
// has ended the stream, a *wire.Refusal if something was refused, or what broke the stream.
func (n *Endpoint) receiveFrames(stream grpc.ServerStream, c *inStream) error {
	p := packet{frames: &assembler{memory: &n.memory,
		check: func(h *wire.Header) error { return n.check(c, h) }}}
	for {
		c.waiting.Store(true)
		err := stream.RecvMsg(&p)
		c.waiting.Store(false)
		if err == io.EOF {
			return firstError(p.frames.checkEnd(), io.EOF)
		}
		if status.Code(err) == codes.ResourceExhausted { // the packet is too large
			return wire.Refusef(wire.Malformed, "%w", plainError(err))
		}
		if err == nil {
			err = firstError(p.frames.err, n.deliver(c, p.frames.complete))
		}
		if err != nil {
			return err
		}
	}
}

// firstError returns the first error that is not nil.
func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// check returns why the frame with a header is refused, or nil.
func (n *Endpoint) check(c *inStream, h *wire.Header) error {
	m, fence := h.Message, wire.Fence(c.Identity)
	if err := fence.Check(&h.Identity); err != nil {
		return err
	}
	switch {
	case !slices.Contains(c.roles, m.From):
		return wire.Refusef(wire.Forged, "%v: from: the stream belongs to %v", m, names(c.roles))
	case !slices.Contains(n.options.Roles, m.To):
		return wire.Refusef(wire.Forged, "%v: to: %v is not in this process, which is %s", m, m.To, n.name())
	}
	if n.options.Limit != nil {
		if limit := n.options.Limit(*h); int64(h.Size) > int64(limit) {
			return wire.Refusef(wire.Inadmissible, "%v: length: frame of %d bytes, want at most %d", m,
				h.Size, limit)
		}
	}
	return nil
}

// deliver delivers the messages of consecutive frames.
func (n *Endpoint) deliver(c *inStream, data []byte) error {
	for alone := true; len(data) > 0; alone = false {
		h, err := wire.ParseHeader(data)
		if err != nil {
			return err
		}
		if err := n.check(c, &h); err != nil {
			return err
		}
		if err := n.deliverFrame(c, &h, data, alone && h.Size == len(data)); err != nil {
			return err
		}
		data = data[h.Size:]
	}
	return nil
}

// deliverFrame delivers the message of the frame at the beginning of data, whose header was checked. alone
// says that nothing else is in data, whose memory the receiver may then free.
func (n *Endpoint) deliverFrame(c *inStream, h *wire.Header, data []byte, alone bool) error {
	payload, err := h.Payload(data)
	if err != nil || n.discards(c) {
		return err
	}
	var free func()
	if alone && len(data) >= reuseMin {
		free = func() { n.memory.giveBack(data) }
	}
	return n.admitMessage(c, h, payload, free)
}

// discards reports whether frames of a stream are discarded because its incarnation was replaced, and counts
// one.
func (n *Endpoint) discards(c *inStream) bool {
	if !c.stale.Load() {
		return false
	}
	n.refuse(c.name(), wire.Refusef(wire.Stale, "incarnation: %d was replaced", c.Incarnation))
	return true
}

// admitMessage delivers a message if it is admitted.
func (n *Endpoint) admitMessage(c *inStream, h *wire.Header, payload exec.Payload, free func()) error {
	if n.options.Admit != nil {
		if err := n.options.Admit(h.Message, payload); err != nil {
			return wire.Refusef(wire.Inadmissible, "%w", err)
		}
	}
	if !h.Chunk() {
		if kept, err := n.inbox.add(h.Message, h.Size); err != nil || !kept {
			return err
		}
		if n.discards(c) { // add may have waited while the role was replaced
			n.Handled(h.Message)
			return nil
		}
	}
	n.options.Handler.Deliver(h.Message, payload, free)
	return nil
}
