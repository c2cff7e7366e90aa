package member

import (
	"net"
	"sync/atomic"
)

// extraConnections is the number of connections that may be open beside one for each process.
const extraConnections = 64

// limitListener is a listener that keeps a limited number of connections open. It closes further connections
// at once, so that a flood of connections uses little memory.
type limitListener struct {
	net.Listener
	max     int64
	open    atomic.Int64
	refused func(from net.Addr) // receives connections that are too many
}

func limitConnections(l net.Listener, processes int, refused func(from net.Addr)) *limitListener {
	return &limitListener{Listener: l, max: int64(processes) + extraConnections, refused: refused}
}

// Accept implements net.Listener.
func (l *limitListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= l.max {
			return &limitedConn{Conn: conn, listener: l}, nil
		}
		l.open.Add(-1)
		_ = conn.Close() // the client may try again
		l.refused(conn.RemoteAddr())
	}
}

// limitedConn is a connection that a limitListener has accepted.
type limitedConn struct {
	net.Conn
	listener *limitListener
	closed   atomic.Bool
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	if !c.closed.Swap(true) {
		c.listener.open.Add(-1)
	}
	return c.Conn.Close()
}
