package transport

import (
	"context"
	"fmt"
	"sync/atomic"

	"tandem/algo/protocol/msg"
	"tandem/runtime/wire"
)

// standing is what a node knows of a role elsewhere.
type standing struct {
	fence wire.Fence // its incarnation, and the view in which that joined; not the run
	claim *claim     // the stream that this incarnation has opened, even if that has ended; may be nil
}

// claim is a stream that has been let in.
type claim struct {
	hello
	gate *gate

	stale   atomic.Bool // a later incarnation has been announced
	hung    atomic.Bool // the process hangs
	waiting atomic.Bool // for the stream to bring something
	quiet   int         // ticks without a byte meanwhile; the heart's own, as what follows
	reads   int64       // of the gate, at the last tick
}

// hangUp closes the connection.
func (c *claim) hangUp() { _ = c.gate.Close() } // it can only be closed already

// standing returns what is known of a role. The caller holds n.mu.
func (n *Node) standing(role msg.Address) *standing {
	s := n.standings[role]
	if s == nil {
		s = &standing{}
		n.standings[role] = s
	}
	return s
}

// claim gives a stream the roles that it introduces. It returns a channel instead if the stream must wait, until
// that is closed, and an error if it is refused.
func (n *Node) claim(h *hello, g *gate) (c *claim, changed <-chan struct{}, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.begun {
		return nil, n.changed, nil
	}
	wait := false
	for _, r := range h.roles {
		fence, owner := wire.Fence{Run: n.identity.Run}, (*claim)(nil)
		if s := n.standings[r]; s != nil {
			fence.Incarnation, fence.View, owner = s.fence.Incarnation, s.fence.View, s.claim
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
				"role: %v is connected, or was, as incarnation %d from %v", r, owner.Incarnation, owner.gate.RemoteAddr())
		}
	}
	if wait {
		return nil, n.changed, nil
	}
	if n.ending() || !g.letIn() {
		return nil, nil, wire.Refusef(wire.Introduced, "it is closed")
	}
	c = &claim{hello: *h, gate: g}
	for _, r := range h.roles {
		n.standing(r).claim = c
	}
	n.claims[c] = true
	return c, nil, nil
}

// forget takes a stream that has ended from those that are watched. Its roles stay claimed.
func (n *Node) forget(c *claim) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.claims, c)
}

// Fence sets, on the word of the host, the incarnation of a process elsewhere, which has joined in a view with
// these roles. The streams from and to an earlier incarnation are closed; what comes from it is discarded, and what
// is sent to the roles is, too, until Replace or Connect reaches the new one. Roles that no Fence has named have
// incarnation 0.
//
// It returns an error if a later incarnation or view has been set.
func (n *Node) Fence(roles []msg.Address, incarnation, view uint32) error {
	n.mu.Lock()
	for _, r := range roles {
		if was := n.standing(r).fence; incarnation < was.Incarnation || view < was.View {
			n.mu.Unlock()
			return fmt.Errorf("transport: incarnation %d of %v in view %d, after incarnation %d in view %d",
				incarnation, r, view, was.Incarnation, was.View)
		}
	}
	n.identity.View = max(n.identity.View, view)
	var old []interface{ hangUp() }
	var replaced []msg.Address
	for _, r := range roles {
		s := n.standing(r)
		if incarnation > s.fence.Incarnation {
			old = append(old, n.retire(r)...)
			replaced = append(replaced, r)
		}
		s.fence = wire.Fence{Incarnation: incarnation, View: view}
	}
	n.announce()
	n.mu.Unlock()
	for _, r := range replaced {
		n.inbox.reset(r)
	}
	for _, stream := range old {
		stream.hangUp()
	}
	return nil
}

// retire takes a role's streams, which it returns, out of use: its process has been replaced. The caller holds n.mu.
func (n *Node) retire(role msg.Address) (old []interface{ hangUp() }) {
	s := n.standing(role)
	if c := s.claim; c != nil {
		c.stale.Store(true)
		old = append(old, c)
		delete(n.gone, c.name())
	}
	if l := n.links[role]; l != nil {
		l.replaced.Store(true)
		old = append(old, l)
		delete(n.gone, l.name)
	}
	s.claim = nil
	return old
}

// Replace is Fence, and then opens a stream to the new incarnation of the process, at host:port. Messages that are
// sent to its roles before Replace has returned may be discarded.
//
// It returns an error if Fence does, or if the new incarnation is not reached before ctx ends.
func (n *Node) Replace(ctx context.Context, roles []msg.Address, address string, incarnation, view uint32) error {
	if err := n.Fence(roles, incarnation, view); err != nil {
		return err
	}
	l, err := n.dial(ctx, address, roles)
	if err != nil {
		return err
	}
	if err := n.adopt([]*link{l}); err != nil {
		l.hangUp()
		return err
	}
	return nil
}
