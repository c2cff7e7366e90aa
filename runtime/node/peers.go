package node

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"tandem/algo/msg"
	"tandem/algo/role"
	"tandem/runtime/coord"
)

// neighbours are the kinds of role that a role talks to.
var neighbours = map[msg.Role][]msg.Role{
	msg.DataLoader:      {msg.EmbeddingWorker, msg.NNWorker},
	msg.EmbeddingWorker: {msg.DataLoader, msg.ParameterServer, msg.NNWorker},
	msg.ParameterServer: {msg.EmbeddingWorker},
	msg.NNWorker:        {msg.DataLoader, msg.EmbeddingWorker, msg.NNWorker, msg.DenseServer, msg.Coordinator},
	msg.DenseServer:     {msg.NNWorker},
	msg.Coordinator:     {msg.NNWorker},
}

func (n *node) isNear(at msg.Address) bool {
	return at != n.Role && slices.Contains(neighbours[n.Role.Role], at.Role)
}

// peers is what a process knows of the roles elsewhere.
type peers struct {
	mu           sync.Mutex
	incarnations map[msg.Address]uint32
}

func (p *peers) set(at msg.Address, incarnation uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.incarnations == nil {
		p.incarnations = map[msg.Address]uint32{}
	}
	p.incarnations[at] = incarnation
}

func (p *peers) incarnation(at msg.Address) uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.incarnations[at]
}

// named returns the role with a name.
func (p *peers) named(name string) (at msg.Address, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at := range p.incarnations {
		if at.String() == name {
			return at, true
		}
	}
	return at, false
}

// reach connects to the roles that this one talks to. Those that can restart may be
// away, or leave meanwhile, if the run has begun; the host says when they are back.
func (n *node) reach(w *coord.Welcome) error {
	near, away := map[msg.Address]string{}, map[msg.Address]coord.Peer{}
	for at, peer := range w.Peers {
		n.peers.set(at, peer.Incarnation)
		switch {
		case !n.isNear(at):
		case w.View > 0 && role.CanRestart(at.Role):
			away[at] = peer
		default:
			near[at] = peer.Address
		}
	}
	ctx, cancel := context.WithTimeout(n.member.Context(), n.member.HangLimit())
	defer cancel()
	if err := n.data.Connect(ctx, near); err != nil {
		return err
	}
	for at, peer := range away {
		n.replace(coord.Change{Role: at, Peer: peer, View: w.View})
	}
	return nil
}

// follow reaches roles that come back until the run ends.
func (n *node) follow() {
	for {
		select {
		case c := <-n.member.Changes():
			n.replace(c)
		case <-n.member.Context().Done():
			return
		}
	}
}

// replace reaches a role that has come back.
func (n *node) replace(c coord.Change) {
	n.peers.set(c.Role, c.Incarnation)
	if !n.isNear(c.Role) {
		return
	}
	err := n.data.Fence(c.Role, c.Incarnation, c.View)
	if err == nil && c.Address != "" {
		ctx, cancel := context.WithTimeout(n.member.Context(), n.member.HangLimit())
		err = n.data.Replace(ctx, c.Role, c.Address, c.Incarnation, c.View)
		cancel()
	}
	if err != nil {
		n.lost(c.Role, c.Incarnation, err)
	}
}

// lost reports a role that this one has lost. The host decides what becomes of both, and a
// host that does not receive it is gone, which is noticed elsewhere.
func (n *node) lost(at msg.Address, incarnation uint32, err error) {
	_ = n.member.Lost(at, incarnation, fmt.Errorf("%v: %w", n.Role, err))
}
