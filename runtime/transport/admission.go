package transport

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/peer"

	"tandem/runtime/wire"
)

const (
	// introductionBytes is how much is read from a connection before its stream is let in.
	introductionBytes = 64 << 10
	// introductionMax is how long that may take.
	introductionMax = 10 * time.Second
	// pendingMax is how many connections may wait to be let in. A further one closes the oldest of those that have
	// not introduced themselves or, if all have, the oldest.
	pendingMax = 256
)

// gates are the connections that have not been let in. They are the server's credentials, because those see every
// connection before gRPC reads from it.
type gates struct {
	credentials.TransportCredentials
	refusals *refusals
	wait     time.Duration // that a connection may take to be let in

	mu      sync.Mutex
	pending []*gate // oldest first
	closed  bool
}

func newGates(r *refusals) *gates {
	return &gates{TransportCredentials: insecure.NewCredentials(), refusals: r, wait: introductionMax}
}

// gate is a connection to this node, which counts what is read from it.
type gate struct {
	net.Conn
	all *gates

	open  atomic.Bool  // the stream has been let in
	taken int          // bytes read before that; the reader's own
	reads atomic.Int64 // that have brought bytes
	late  *time.Timer
	// introduced and settled are guarded by all.mu.
	introduced bool // the stream has said who it is
	settled    bool // the gate is not pending: open, or closed
}

// info is how a stream finds its gate.
type info struct {
	credentials.CommonAuthInfo
	gate *gate
}

// AuthType implements credentials.AuthInfo.
func (info) AuthType() string { return "none" }

// gateOf returns the gate of a stream.
func gateOf(ctx context.Context) *gate {
	p, _ := peer.FromContext(ctx) // there is one behind every stream
	return p.AuthInfo.(info).gate
}

// host returns the host that the connection comes from.
func (g *gate) host() string {
	host, _, err := net.SplitHostPort(g.RemoteAddr().String())
	if err != nil {
		return g.RemoteAddr().String()
	}
	return host
}

// ServerHandshake implements credentials.TransportCredentials.
func (s *gates) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	g := &gate{Conn: c, all: s}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, nil, errors.New("transport: the node is closed")
	}
	var oldest *gate
	if len(s.pending) == pendingMax {
		oldest = s.pending[max(0, slices.IndexFunc(s.pending, func(p *gate) bool { return !p.introduced }))]
		s.remove(oldest)
	}
	s.pending = append(s.pending, g)
	g.late = time.AfterFunc(s.wait, func() {
		if first, _ := g.settle(); first {
			g.refuse(wire.Refusef(wire.Introduced, "it was not let in within %v", s.wait))
		}
	})
	s.mu.Unlock()
	if oldest != nil {
		oldest.refuse(wire.Refusef(wire.Introduced, "%d connections wait to be let in", pendingMax))
	}
	return g, info{gate: g}, nil
}

// Read implements net.Conn.
func (g *gate) Read(b []byte) (int, error) {
	if g.open.Load() {
		n, err := g.Conn.Read(b)
		if n > 0 {
			g.reads.Add(1)
		}
		return n, err
	}
	left := introductionBytes - g.taken
	if left == 0 {
		err := wire.Refusef(wire.Introduced, "more than %d bytes come before it is let in", introductionBytes)
		if first, _ := g.settle(); first {
			g.refuse(err)
		}
		return 0, err
	}
	n, err := g.Conn.Read(b[:min(len(b), left)])
	g.taken += n
	g.reads.Add(1)
	return n, err
}

// Close implements net.Conn.
func (g *gate) Close() error {
	if first, introduced := g.settle(); first && !introduced {
		g.all.refusals.add(g.host(), wire.Refusef(wire.Introduced, "it ended without an introduction"))
	}
	return g.Conn.Close()
}

// letIn lifts the limits of a pending connection. It returns false if the connection is closed.
func (g *gate) letIn() bool {
	first, _ := g.settle()
	g.open.Store(first)
	return first
}

// introduce notes that the stream has said who it is.
func (g *gate) introduce() {
	g.all.mu.Lock()
	defer g.all.mu.Unlock()
	g.introduced = true
}

// refuse closes a connection that is no longer pending.
func (g *gate) refuse(reason error) {
	g.all.refusals.add(g.host(), reason)
	// A connection can only be closed already.
	_ = g.Conn.Close()
}

// settle takes the gate from the pending ones, if it is there, and reports whether its stream has introduced
// itself.
func (g *gate) settle() (first, introduced bool) {
	s := g.all
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.settled {
		return false, g.introduced
	}
	s.remove(g)
	return true, g.introduced
}

// remove takes a gate from the pending ones. The caller holds s.mu.
func (s *gates) remove(g *gate) {
	g.settled = true
	g.late.Stop()
	s.pending = slices.DeleteFunc(s.pending, func(p *gate) bool { return p == g })
}

// close closes all pending connections, and lets no further one in.
func (s *gates) close() {
	s.mu.Lock()
	s.closed = true
	pending := slices.Clone(s.pending)
	for _, g := range pending {
		s.remove(g)
	}
	s.mu.Unlock()
	for _, g := range pending {
		_ = g.Conn.Close() // as above
	}
}
