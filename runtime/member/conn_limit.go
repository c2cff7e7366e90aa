package member

import (
	"net"
	"sync/atomic"
)

// strangersMax is how many connections there may be beside one for each process.
const strangersMax = 64

// door is a listener that lets few connections in at a time and closes further ones
// at once, so that a flood of them takes little memory.
type door struct {
	net.Listener
	max  int64
	open atomic.Int64
}

func newDoor(l net.Listener, processes int) *door {
	return &door{Listener: l, max: int64(processes) + strangersMax}
}

// Accept implements net.Listener.
func (d *door) Accept() (net.Conn, error) {
	for {
		conn, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if d.open.Add(1) <= d.max {
			return &visitor{Conn: conn, door: d}, nil
		}
		d.open.Add(-1)
		_ = conn.Close() // its other end may try again
	}
}

// visitor is a connection that was let in.
type visitor struct {
	net.Conn
	door *door
	left atomic.Bool
}

// Close implements net.Conn.
func (v *visitor) Close() error {
	if !v.left.Swap(true) {
		v.door.open.Add(-1)
	}
	return v.Conn.Close()
}
