package transport

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"tandem/algo/protocol/msg"
	"tandem/runtime/ring"
	"tandem/runtime/wire"
)

// peer is what an endpoint knows of a remote role.
type peer struct {
	fence  wire.Fence // its incarnation, and the view in which this joined; Run is not used
	stream *inStream  // the stream that this incarnation has opened, even if it has ended; may be nil
}

// inStream is an admitted stream from another process.
type inStream struct {
	introduction
	conn *conn
	// ring carries the frames; it is nil if the stream does. The handler sets it once, under Endpoint.mu,
	// under which monitor reads it.
	ring *ring.Reader

	stale       atomic.Bool // a later incarnation was announced
	hung        atomic.Bool // set before the stream is closed because the process hangs
	waiting     atomic.Bool // set while this process waits for data on the stream
	silentTicks int         // ticks without data while waiting; used by monitor alone, as lastReads
	reads       int64       // conn.reads at the last tick
}

// close closes the connection.
func (c *inStream) close() { _ = c.conn.Close() } // an error means that it is closed already

// peer returns what is known of a role. The caller holds n.mu.
func (n *Endpoint) peer(role msg.Address) *peer {
	s := n.peers[role]
	if s == nil {
		s = &peer{}
		n.peers[role] = s
	}
	return s
}

// claimRoles admits a stream and gives it the roles of its introduction. It returns an error if the stream is
// refused. If the stream must wait, claimRoles returns a channel that is closed when it should be called
// again.
func (n *Endpoint) claimRoles(h *introduction, g *conn) (c *inStream, changed <-chan struct{}, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.begun {
		return nil, n.changed, nil
	}
	wait := false
	for _, r := range h.roles {
		if slices.Contains(n.options.Roles, r) {
			return nil, nil, wire.Refusef(wire.Introduced,
				"role: %v is the process that was reached; check the addresses", r)
		}
		fence, owner := wire.Fence{Run: n.identity.Run}, (*inStream)(nil)
		if s := n.peers[r]; s != nil {
			fence.Incarnation, fence.View, owner = s.fence.Incarnation, s.fence.View, s.stream
		}
		err := fence.Check(&h.Identity)
		if refusal, ok := err.(*wire.Refusal); ok && refusal.Reason == wire.Unannounced {
			wait = true
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if owner != nil {
			return nil, nil, wire.Refusef(wire.Claimed,
				"role: %v is connected, or was, as incarnation %d from %v", r, owner.Incarnation,
				owner.conn.RemoteAddr())
		}
	}
	if wait {
		return nil, n.changed, nil
	}
	if n.ending() || !g.admit() {
		return nil, nil, wire.Refusef(wire.Introduced, "the endpoint is closed")
	}
	c = &inStream{introduction: *h, conn: g}
	for _, r := range h.roles {
		n.peer(r).stream = c
	}
	n.streams[c] = true
	return c, nil, nil
}

// removeStream stops watching a stream that has ended. Its roles stay claimed.
func (n *Endpoint) removeStream(c *inStream) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.streams, c)
}

// Fence sets the incarnation of another process, which has joined in a view with these roles, as announced by
// the host. The streams from and to an earlier incarnation are closed. Messages from the earlier incarnation
// are discarded, and so are messages sent to the roles until Replace or Connect has reached the new
// incarnation. Roles without a Fence have incarnation 0.
//
// Fence returns an error if a later incarnation or view has been set.
func (n *Endpoint) Fence(roles []msg.Address, incarnation, view uint32) error {
	n.mu.Lock()
	for _, r := range roles {
		if was := n.peer(r).fence; incarnation < was.Incarnation || view < was.View {
			n.mu.Unlock()
			return fmt.Errorf("transport: incarnation %d of %v in view %d, after incarnation %d in view %d",
				incarnation, r, view, was.Incarnation, was.View)
		}
	}
	n.identity.View = max(n.identity.View, view)
	var old []interface{ close() }
	var replaced []msg.Address
	for _, r := range roles {
		s := n.peer(r)
		if incarnation > s.fence.Incarnation {
			old = append(old, n.retireStreams(r)...)
			replaced = append(replaced, r)
		}
		s.fence = wire.Fence{Incarnation: incarnation, View: view}
	}
	n.wakeWaiting()
	n.mu.Unlock()
	for _, r := range replaced {
		n.inbox.reset(r)
	}
	for _, stream := range old {
		stream.close()
	}
	return nil
}

// retireStreams takes the streams of a role, whose process was replaced, out of use and returns them. The
// caller holds n.mu.
func (n *Endpoint) retireStreams(role msg.Address) (old []interface{ close() }) {
	s := n.peer(role)
	if c := s.stream; c != nil {
		c.stale.Store(true)
		old = append(old, c)
		delete(n.gone, c.name())
	}
	if l := n.out[role]; l != nil {
		l.replaced.Store(true)
		old = append(old, l)
		delete(n.gone, l.name)
	}
	s.stream = nil
	return old
}

// Replace calls Fence and then opens a stream to the new incarnation of the process, at HOST:PORT. Messages
// that are sent to its roles before Replace has returned may be discarded.
//
// Replace returns an error if Fence does, or if the new incarnation is not reached before ctx ends. It has no
// effect if a later incarnation is announced meanwhile.
func (n *Endpoint) Replace(ctx context.Context, roles []msg.Address, address string, incarnation,
	view uint32) error {
	if err := n.Fence(roles, incarnation, view); err != nil {
		return err
	}
	l, err := n.dial(ctx, address, roles)
	if err != nil {
		return err
	}
	if n.fenced(roles[0]) > incarnation { // it has been replaced meanwhile
		l.close()
		return nil
	}
	if err := n.addStreams([]*outStream{l}); err != nil {
		l.close()
		return err
	}
	return nil
}

// fenced returns the incarnation of a role that Fence has set.
func (n *Endpoint) fenced(r msg.Address) uint32 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.peer(r).fence.Incarnation
}
