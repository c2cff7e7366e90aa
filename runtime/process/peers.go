package process

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"tandem/algo/job"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/runtime/member"
)

// neighbours lists the kinds of role with which each kind of role exchanges messages.
var neighbours = map[msg.Role][]msg.Role{
	msg.DataLoader:      {msg.EmbeddingWorker, msg.NNWorker, msg.EmbeddingPS, msg.DensePS},
	msg.EmbeddingWorker: {msg.DataLoader, msg.EmbeddingPS, msg.NNWorker},
	msg.EmbeddingPS:     {msg.EmbeddingWorker, msg.DataLoader},
	msg.NNWorker:        {msg.DataLoader, msg.EmbeddingWorker, msg.NNWorker, msg.DensePS, msg.Coordinator},
	msg.DensePS:         {msg.NNWorker, msg.DataLoader},
	msg.Coordinator:     {msg.NNWorker},
}

// isNeighbour reports whether a role of this process exchanges messages with a role of another process.
func (n *node) isNeighbour(p job.Process) bool {
	return !n.Process.Has(p[0]) && slices.ContainsFunc(n.Process, func(own msg.Address) bool {
		return slices.ContainsFunc(p, func(at msg.Address) bool {
			return slices.Contains(neighbours[own.Role],
				at.Role)
		})
	})
}

// peers is what this process knows of the other processes.
type peers struct {
	mu    sync.Mutex
	known map[msg.Address]member.Peer
	redo  bool // roles come back by their redo logs
	ranks bool // ranks come back with the parameters of others
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

// begin notes whether roles come back by their redo logs, and ranks with the parameters of others.
func (p *peers) begin(redo, ranks bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.redo, p.ranks = redo, ranks
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
	// an approximation: the host knows the mode, and ends the run
	_, lasting := peer.Process.Lasting(func(r msg.Role) bool {
		return role.CanRestart(r) || p.redo && role.CanRedo(r) || p.ranks && r == msg.NNWorker
	})
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

// connectTimeout is how long another process that listens may take to admit this one. It is long, because a
// machine may have much to do: the host knows sooner if the process is dead or hangs. It bounds the wait for
// something else that listens at its address.
const connectTimeout = 30 * time.Second

// connect connects to the neighbours of this process. If the run has begun, neighbours that can restart may
// be away or leave meanwhile; the host announces when they are back.
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
	ctx, cancel := context.WithTimeout(n.member.Context(), connectTimeout)
	defer cancel()
	if err := n.endpoint.Connect(ctx, near); err != nil {
		return err
	}
	var ranks sync.WaitGroup // chunks that are sent to them before they are reachable are lost
	for _, peer := range away {
		connected := n.reconnect(member.Change{Peer: peer, View: w.View})
		if n.sums != nil && peer.Process.HasKind(msg.NNWorker) {
			ranks.Go(func() { <-connected })
		}
	}
	ranks.Wait()
	return nil
}

// handleChanges connects to processes that come back, until the run ends.
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

// reconnect connects to a process that has come back, without waiting for it: the channel is closed when that
// has succeeded or failed. Ranks that are back receive what they have lost of the all-reduces.
func (n *node) reconnect(c member.Change) (done <-chan struct{}) {
	ended := make(chan struct{})
	n.peers.set(c.Peer)
	if !n.isNeighbour(c.Process) {
		close(ended)
		return ended
	}
	if err := n.endpoint.Fence(c.Process, c.Incarnation, c.View); err != nil || c.Address == "" {
		if err != nil {
			n.reportLost(c.Process[0], c.Incarnation, err)
		}
		close(ended)
		return ended
	}
	go func() { // the process may be dead by now, and another change may say so
		defer close(ended)
		ctx, cancel := context.WithTimeout(n.member.Context(), connectTimeout)
		defer cancel()
		err := n.endpoint.Replace(ctx, c.Process, c.Address, c.Incarnation, c.View)
		if err == nil && n.sums != nil {
			err = n.sums.Return(c.Process)
		}
		if err != nil {
			n.reportLost(c.Process[0], c.Incarnation, err)
		}
	}()
	return ended
}

// reportLost reports to the host that this process has lost the process of a role. The host decides what
// happens to both. An error of the report means that the host is gone, which member.Member notices.
func (n *node) reportLost(at msg.Address, incarnation uint32, err error) {
	_ = n.member.Lost(at, incarnation, fmt.Errorf("%v: %w", n.Process, err))
}
