package member

import (
	"net"
	"sync/atomic"
)

// extraConnections is how many connections there may be beside one for each process.
const extraConnections = 64

// door is a listener that lets few connections in at a time and closes further ones
// at once, so that a flood of them takes little memory.
type limitListener struct {
	net.Listener
	max  int64
	open atomic.Int64
}

func limitConnections(l net.Listener, processes int) *limitListener {
	return &limitListener{Listener: l, max: int64(processes) + extraConnections}
}

// Accept implements net.Listener.
func (d *limitListener) Accept() (net.Conn, error) {
	for {
		conn, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if d.open.Add(1) <= d.max {
			return &limitedConn{Conn: conn, door: d}, nil
		}
		d.open.Add(-1)
		_ = conn.Close() // its other end may try again
	}
}

// visitor is a connection that was let in.
type limitedConn struct {
	net.Conn
	door   *limitListener
	closed atomic.Bool
}

// Close implements net.Conn.
func (v *limitedConn) Close() error {
	if !v.closed.Swap(true) {
		v.door.open.Add(-1)
	}
	return v.Conn.Close()
}
