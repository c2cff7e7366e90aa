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

	"tandem/runtime/identity"
	"tandem/runtime/wire"
)

const (
	// introductionMax is how many bytes are read from a connection before its stream is admitted.
	introductionMax = 64 << 10
	// introductionTimeout is how long a connection may take until its stream is admitted.
	introductionTimeout = 10 * time.Second
	// pendingMax is the number of connections that may wait for admission. One more closes the oldest
	// connection without an introduction or, if all have one, the oldest.
	pendingMax = 256
)

// admission holds the connections whose streams are not admitted yet. It is the server's
// TransportCredentials, because these see every connection before gRPC reads from it.
type admission struct {
	credentials.TransportCredentials
	refuse func(peer string, err error)
	wait   time.Duration // how long a connection may take
	// identity makes TLS of every connection, unless it is nil.
	identity *identity.Identity

	mu      sync.Mutex
	pending []*conn // oldest first
	closed  bool
}

func newAdmission(refuse func(peer string, err error)) *admission {
	return &admission{TransportCredentials: insecure.NewCredentials(), refuse: refuse,
		wait: introductionTimeout}
}

// conn is a connection to this endpoint. It limits and counts what is read.
type conn struct {
	net.Conn
	admission *admission
	name      *identity.Name // of the process that opened it; nil without TLS

	admitted atomic.Bool  // the stream was admitted
	read     int          // bytes read before that; used by the reader alone
	reads    atomic.Int64 // number of reads that returned data
	timer    *time.Timer
	// introduced and left are guarded by admission.mu.
	introduced bool // the stream has introduced itself
	left       bool // the connection is no longer pending: admitted, or closed
}

// connInfo is how a stream finds its conn.
type connInfo struct {
	credentials.CommonAuthInfo
	conn *conn
}

// AuthType implements credentials.AuthInfo.
func (connInfo) AuthType() string { return "none" }

// connOf returns the conn of a stream.
func connOf(ctx context.Context) *conn {
	p, _ := grpcpeer.FromContext(ctx) // every stream has one
	return p.AuthInfo.(connInfo).conn
}

// host returns the machine from which the connection comes.
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
		return nil, nil, errors.New("transport: the endpoint is closed")
	}
	var oldest *conn
	if len(s.pending) == pendingMax {
		oldest = s.pending[max(0, slices.IndexFunc(s.pending, func(p *conn) bool { return !p.introduced }))]
		s.remove(oldest)
	}
	s.pending = append(s.pending, g)
	g.timer = time.AfterFunc(s.wait, func() {
		if first, _ := g.leavePending(); first {
			g.refuse(wire.Refusef(wire.Introduced, "it was not admitted within %v", s.wait))
		}
	})
	s.mu.Unlock()
	if oldest != nil {
		oldest.refuse(wire.Refusef(wire.Introduced, "%d connections wait for admission", pendingMax))
	}
	if s.identity == nil {
		return g, connInfo{conn: g}, nil
	}
	t, name, err := s.identity.Accept(g)
	if err != nil {
		if first, _ := g.leavePending(); first {
			if !errors.As(err, new(*identity.Refused)) {
				err = wire.Refusef(wire.Introduced, "it ended without an introduction: %w", err)
			}
			g.refuse(err)
		}
		return nil, nil, err
	}
	g.name = name
	return t, connInfo{conn: g}, nil
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
		err := wire.Refusef(wire.Introduced, "more than %d bytes arrived before its admission",
			introductionMax)
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

// introduce notes that the stream has introduced itself.
func (g *conn) introduce() {
	g.admission.mu.Lock()
	defer g.admission.mu.Unlock()
	g.introduced = true
}

// refuse closes a connection that is no longer pending.
func (g *conn) refuse(reason error) {
	g.admission.refuse(g.host(), reason)
	// An error means that it is closed already.
	_ = g.Conn.Close()
}

// leavePending removes the connection from the pending ones. It returns false if it was removed before, and
// whether its stream has introduced itself.
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

// remove removes a connection from the pending ones. The caller holds s.mu.
func (s *admission) remove(g *conn) {
	g.left = true
	g.timer.Stop()
	s.pending = slices.DeleteFunc(s.pending, func(p *conn) bool { return p == g })
}

// close closes all pending connections and admits no further one.
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
