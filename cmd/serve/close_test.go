package main

import (
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"google.golang.org/grpc"
)

// To close the servers ends the connections of both, with the requests under way, and frees their ports.
func TestCloseEndsConnections(t *testing.T) {
	arrived := make(chan bool)
	all := servers{grpc: grpc.NewServer(), http: &http.Server{Handler: http.HandlerFunc(
		func(_ http.ResponseWriter, r *http.Request) {
			arrived <- true
			_, _ = io.ReadAll(r.Body)
		})}}
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	all.httpListener, all.grpcListener = listen(), listen()
	ended := make(chan error, 1)
	go func() { ended <- all.run(t.Context()) }()
	connections := map[string]net.Conn{}
	for name, x := range map[string]struct {
		listener net.Listener
		text     string
	}{
		"HTTP": {all.httpListener, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab"},
		"gRPC": {all.grpcListener, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"},
	} {
		c, err := net.Dial("tcp", x.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, x.text); err != nil {
			t.Fatal(err)
		}
		connections[name] = c
	}
	<-arrived
	if _, err := connections["gRPC"].Read(make([]byte, 9)); err != nil { // the server's settings
		t.Fatal(err)
	}
	all.close()
	if err := <-ended; err == nil {
		t.Error("the servers ended without an error")
	}
	for name, c := range connections {
		if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(c); err != nil {
			if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
				t.Errorf("%s: the connection is still there", name)
			}
		}
	}
	for _, l := range []net.Listener{all.httpListener, all.grpcListener} {
		if again, err := net.Listen("tcp", l.Addr().String()); err != nil {
			t.Errorf("the port is not free: %v", err)
		} else {
			again.Close()
		}
	}
}
