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
	refused := make(chan net.Addr, 2)
	d := limitConnections(listener, 2, func(from net.Addr) { refused <- from })
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
	excess := func() {
		t.Helper()
		conn := dial()
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Error("one connection too many is not closed")
		}
		if from := <-refused; from.String() != conn.LocalAddr().String() {
			t.Errorf("%v is refused, want %v", from, conn.LocalAddr())
		}
	}
	excess()
	inside.Close()
	inside.Close() // counts once
	dial()
	(<-accepted).Close()
	dial()
	<-accepted
	excess()
}
