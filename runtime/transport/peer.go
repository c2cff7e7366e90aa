package transport

import (
	"context"
	"fmt"
	"sync/atomic"

	"tandem/algo/protocol/msg"
	"tandem/runtime/wire"
)

// standing is what a node knows of a role elsewhere.
type peer struct {
	fence  wire.Fence // its incarnation, and the view in which that joined; not the run
	stream *inStream  // the stream that this incarnation has opened, even if that has ended; may be nil
}

// claim is a stream that has been let in.
type inStream struct {
	introduction
	conn *conn

	stale       atomic.Bool // a later incarnation has been announced
	hung        atomic.Bool // the process hangs
	waiting     atomic.Bool // for the stream to bring something
	silentTicks int         // ticks without a byte meanwhile; the heart's own, as what follows
	reads       int64       // of the gate, at the last tick
}

// close closes the connection.
func (c *inStream) close() { _ = c.conn.Close() } // it can only be closed already

// peer returns what is known of a role. The caller holds n.mu.
func (n *Endpoint) peer(role msg.Address) *peer {
	s := n.peers[role]
	if s == nil {
		s = &peer{}
		n.peers[role] = s
	}
	return s
}

// claimRoles gives a stream the roles that it introduces. It returns a channel instead if the stream must wait, until
// that is closed, and an error if it is refused.
func (n *Endpoint) claimRoles(h *introduction, g *conn) (c *inStream, changed <-chan struct{}, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.begun {
		return nil, n.changed, nil
	}
	wait := false
	for _, r := range h.roles {
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
				"role: %v is connected, or was, as incarnation %d from %v", r, owner.Incarnation, owner.conn.RemoteAddr())
		}
	}
	if wait {
		return nil, n.changed, nil
	}
	if n.ending() || !g.admit() {
		return nil, nil, wire.Refusef(wire.Introduced, "it is closed")
	}
	c = &inStream{introduction: *h, conn: g}
	for _, r := range h.roles {
		n.peer(r).stream = c
	}
	n.streams[c] = true
	return c, nil, nil
}

// removeStream takes a stream that has ended from those that are watched. Its roles stay claimed.
func (n *Endpoint) removeStream(c *inStream) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.streams, c)
}

// Fence sets, on the word of the host, the incarnation of a process elsewhere, which has joined in a view with
// these roles. The streams from and to an earlier incarnation are closed; what comes from it is discarded, and what
// is sent to the roles is, too, until Replace or Connect reaches the new one. Roles that no Fence has named have
// incarnation 0.
//
// It returns an error if a later incarnation or view has been set.
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

// retireStreams takes a role's streams, which it returns, out of use: its process has been replaced. The caller holds n.mu.
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

// Replace is Fence, and then opens a stream to the new incarnation of the process, at host:port. Messages that are
// sent to its roles before Replace has returned may be discarded.
//
// It returns an error if Fence does, or if the new incarnation is not reached before ctx ends.
func (n *Endpoint) Replace(ctx context.Context, roles []msg.Address, address string, incarnation, view uint32) error {
	if err := n.Fence(roles, incarnation, view); err != nil {
		return err
	}
	l, err := n.dial(ctx, address, roles)
	if err != nil {
		return err
	}
	if err := n.addStreams([]*outStream{l}); err != nil {
		l.close()
		return err
	}
	return nil
}
