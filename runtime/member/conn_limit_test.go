package member

import (
	"net"
	"testing"
)

// The listener accepts connections up to its limit, and one more for each that is closed.
func TestLimitListener(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	d := limitConnections(listener, 2)
	accepted := make(chan net.Conn)
	go func() {
		defer close(accepted)
		for {
			conn, err := d.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	var inside net.Conn
	for range extraConnections + 2 {
		dial()
		inside = <-accepted
	}
	if _, err := dial().Read(make([]byte, 1)); err == nil {
		t.Error("one connection too many is not closed")
	}
	inside.Close()
	inside.Close() // counts once
	dial()
	(<-accepted).Close()
	dial()
	<-accepted
	if _, err := dial().Read(make([]byte, 1)); err == nil {
		t.Error("one connection too many is not closed")
	}
}
