package process

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"tandem/algo/job"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/runtime/member"
)

// neighbours are the kinds of role that a role talks to.
var neighbours = map[msg.Role][]msg.Role{
	msg.DataLoader:      {msg.EmbeddingWorker, msg.NNWorker},
	msg.EmbeddingWorker: {msg.DataLoader, msg.EmbeddingPS, msg.NNWorker},
	msg.EmbeddingPS:     {msg.EmbeddingWorker},
	msg.NNWorker:        {msg.DataLoader, msg.EmbeddingWorker, msg.NNWorker, msg.DensePS, msg.Coordinator},
	msg.DensePS:         {msg.NNWorker},
	msg.Coordinator:     {msg.NNWorker},
}

// isNeighbour reports whether some role here talks to some role of another process.
func (n *node) isNeighbour(p job.Process) bool {
	return !n.Process.Has(p[0]) && slices.ContainsFunc(n.Process, func(own msg.Address) bool {
		return slices.ContainsFunc(p, func(at msg.Address) bool { return slices.Contains(neighbours[own.Role], at.Role) })
	})
}

// peers is what a process knows of the roles elsewhere.
type peers struct {
	mu    sync.Mutex
	known map[msg.Address]member.Peer
}

func (p *peers) set(peer member.Peer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		p.known = map[msg.Address]member.Peer{}
	}
	for _, at := range peer.Process {
		p.known[at] = peer
	}
}

func (p *peers) incarnation(at msg.Address) uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known[at].Incarnation
}

// mayReturn reports whether the process of a role may come back after its death.
func (p *peers) mayReturn(at msg.Address) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	peer, known := p.known[at]
	_, lasting := peer.Process.Lasting(role.CanRestart) // the host knows better, and ends the run
	return known && !lasting
}

// named returns the role with a name.
func (p *peers) named(name string) (at msg.Address, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at := range p.known {
		if at.String() == name {
			return at, true
		}
	}
	return at, false
}

// connect connects to the processes that this one talks to. Those that can restart may be
// away, or leave meanwhile, if the run has begun; the host says when they are back.
func (n *node) connect(w *member.Welcome) error {
	near := map[msg.Address]string{}
	var away []member.Peer
	for _, peer := range w.Peers {
		n.peers.set(peer)
		switch {
		case !n.isNeighbour(peer.Process):
		case w.View > 0 && n.peers.mayReturn(peer.Process[0]):
			away = append(away, peer)
		default:
			for _, at := range peer.Process {
				near[at] = peer.Address
			}
		}
	}
	ctx, cancel := context.WithTimeout(n.member.Context(), n.member.HangLimit())
	defer cancel()
	if err := n.endpoint.Connect(ctx, near); err != nil {
		return err
	}
	for _, peer := range away {
		n.reconnect(member.Change{Peer: peer, View: w.View})
	}
	return nil
}

// handleChanges reaches processes that come back until the run ends.
func (n *node) handleChanges() {
	for {
		select {
		case c := <-n.member.Changes():
			n.reconnect(c)
		case <-n.member.Context().Done():
			return
		}
	}
}

// reconnect reaches a process that has come back.
func (n *node) reconnect(c member.Change) {
	n.peers.set(c.Peer)
	if !n.isNeighbour(c.Process) {
		return
	}
	err := n.endpoint.Fence(c.Process, c.Incarnation, c.View)
	if err == nil && c.Address != "" {
		ctx, cancel := context.WithTimeout(n.member.Context(), n.member.HangLimit())
		err = n.endpoint.Replace(ctx, c.Process, c.Address, c.Incarnation, c.View)
		cancel()
	}
	if err != nil {
		n.reportLost(c.Process[0], c.Incarnation, err)
	}
}

// reportLost reports that this process has lost that of a role. The host decides what becomes of both, and a
// host that does not receive it is gone, which is noticed elsewhere.
func (n *node) reportLost(at msg.Address, incarnation uint32, err error) {
	_ = n.member.Lost(at, incarnation, fmt.Errorf("%v: %w", n.Process, err))
}
