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
	grpcpeer "google.golang.org/grpc/peer"

	"tandem/runtime/wire"
)

const (
	// introductionMax is how much is read from a connection before its stream is let in.
	introductionMax = 64 << 10
	// introductionTimeout is how long that may take.
	introductionTimeout = 10 * time.Second
	// pendingMax is how many connections may wait to be let in. A further one closes the oldest of those that have
	// not introduced themselves or, if all have, the oldest.
	pendingMax = 256
)

// gates are the connections that have not been let in. They are the server's credentials, because those see every
// connection before gRPC reads from it.
type admission struct {
	credentials.TransportCredentials
	refuse func(peer string, err error)
	wait   time.Duration // that a connection may take to be let in

	mu      sync.Mutex
	pending []*conn // oldest first
	closed  bool
}

func newAdmission(refuse func(peer string, err error)) *admission {
	return &admission{TransportCredentials: insecure.NewCredentials(), refuse: refuse, wait: introductionTimeout}
}

// gate is a connection to this node, which counts what is read from it.
type conn struct {
	net.Conn
	admission *admission

	admitted atomic.Bool  // the stream has been let in
	read     int          // bytes read before that; the reader's own
	reads    atomic.Int64 // that have brought bytes
	timer    *time.Timer
	// introduced and settled are guarded by all.mu.
	introduced bool // the stream has said who it is
	left       bool // the gate is not pending: open, or closed
}

// info is how a stream finds its gate.
type connInfo struct {
	credentials.CommonAuthInfo
	gate *conn
}

// AuthType implements credentials.AuthInfo.
func (connInfo) AuthType() string { return "none" }

// connOf returns the gate of a stream.
func connOf(ctx context.Context) *conn {
	p, _ := grpcpeer.FromContext(ctx) // there is one behind every stream
	return p.AuthInfo.(connInfo).gate
}

// host returns the host that the connection comes from.
func (g *conn) host() string {
	host, _, err := net.SplitHostPort(g.RemoteAddr().String())
	if err != nil {
		return g.RemoteAddr().String()
	}
	return host
}

// ServerHandshake implements credentials.TransportCredentials.
func (s *admission) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	g := &conn{Conn: c, admission: s}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, nil, errors.New("transport: the node is closed")
	}
	var oldest *conn
	if len(s.pending) == pendingMax {
		oldest = s.pending[max(0, slices.IndexFunc(s.pending, func(p *conn) bool { return !p.introduced }))]
		s.remove(oldest)
	}
	s.pending = append(s.pending, g)
	g.timer = time.AfterFunc(s.wait, func() {
		if first, _ := g.leavePending(); first {
			g.refuse(wire.Refusef(wire.Introduced, "it was not let in within %v", s.wait))
		}
	})
	s.mu.Unlock()
	if oldest != nil {
		oldest.refuse(wire.Refusef(wire.Introduced, "%d connections wait to be let in", pendingMax))
	}
	return g, connInfo{gate: g}, nil
}

// Read implements net.Conn.
func (g *conn) Read(b []byte) (int, error) {
	if g.admitted.Load() {
		n, err := g.Conn.Read(b)
		if n > 0 {
			g.reads.Add(1)
		}
		return n, err
	}
	left := introductionMax - g.read
	if left == 0 {
		err := wire.Refusef(wire.Introduced, "more than %d bytes come before it is let in", introductionMax)
		if first, _ := g.leavePending(); first {
			g.refuse(err)
		}
		return 0, err
	}
	n, err := g.Conn.Read(b[:min(len(b), left)])
	g.read += n
	g.reads.Add(1)
	return n, err
}

// Close implements net.Conn.
func (g *conn) Close() error {
	if first, introduced := g.leavePending(); first && !introduced {
		g.admission.refuse(g.host(), wire.Refusef(wire.Introduced, "it ended without an introduction"))
	}
	return g.Conn.Close()
}

// admit lifts the limits of a pending connection. It returns false if the connection is closed.
func (g *conn) admit() bool {
	first, _ := g.leavePending()
	g.admitted.Store(first)
	return first
}

// introduce notes that the stream has said who it is.
func (g *conn) introduce() {
	g.admission.mu.Lock()
	defer g.admission.mu.Unlock()
	g.introduced = true
}

// refuse closes a connection that is no longer pending.
func (g *conn) refuse(reason error) {
	g.admission.refuse(g.host(), reason)
	// A connection can only be closed already.
	_ = g.Conn.Close()
}

// leavePending takes the gate from the pending ones, if it is there, and reports whether its stream has introduced
// itself.
func (g *conn) leavePending() (first, introduced bool) {
	s := g.admission
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.left {
		return false, g.introduced
	}
	s.remove(g)
	return true, g.introduced
}

// remove takes a gate from the pending ones. The caller holds s.mu.
func (s *admission) remove(g *conn) {
	g.left = true
	g.timer.Stop()
	s.pending = slices.DeleteFunc(s.pending, func(p *conn) bool { return p == g })
}

// close closes all pending connections, and lets no further one in.
func (s *admission) close() {
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
