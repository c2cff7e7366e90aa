// Package grpcnet sets up the gRPC connections between the processes of a run, for the control messages of
// package member and the messages of roles of package transport.
//
// Both need the same things: a listener whose error says what to do, a server that bounds what a stranger can
// make it read and keep, a client that resolves no names through gRPC and retries nothing by itself, and a
// count of what was refused. Connections are not encrypted unless an option of gRPC says so: see package
// identity.
package grpcnet

import (
	"errors"
	"fmt"
	"math"
	"net"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

// Limits bound what one connection can use. Client and server of a protocol share a Limits.
type Limits struct {
	// Message is the size of the largest message, in bytes.
	Message int
	// Headers is the size of the largest list of HTTP/2 headers, in bytes.
	Headers uint32
	// Window is how much a stream may have under way to the server, in bytes. It is fixed, because gRPC's
	// estimate begins at 64 KiB and grows by sending pings.
	Window int32
	// Handshake is how long a connection may take to be set up.
	Handshake time.Duration
	// Idle is how long a connection may exist without a stream; 0 is no limit.
	Idle time.Duration
}

// Listen listens on address, HOST:PORT; port 0 is any free port.
func Listen(address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("cannot listen on %s: %w; stop the process that holds the port "+
			"(`ss -ltnp` names it), or choose another port", address, syscall.EADDRINUSE)
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	return listener, nil
}

// NewServer returns a server that lets each connection have one stream. gRPC's own detection of silent peers
// is off: it compares wall-clock times, so a pause of this process would count as silence of the peer.
func NewServer(l Limits, more ...grpc.ServerOption) *grpc.Server {
	return grpc.NewServer(append([]grpc.ServerOption{
		grpc.MaxRecvMsgSize(l.Message), grpc.MaxSendMsgSize(l.Message),
		grpc.MaxHeaderListSize(l.Headers),
		grpc.StaticStreamWindowSize(l.Window), grpc.StaticConnWindowSize(l.Window),
		grpc.MaxConcurrentStreams(1),
		grpc.ConnectionTimeout(l.Handshake),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: math.MaxInt64, MaxConnectionIdle: l.Idle}),
	}, more...)...)
}

// NewClient returns a client for the server at address, HOST:PORT, or for the first of several that answers,
// with commas between them. It connects when the first stream is opened.
func NewClient(address string, l Limits, more ...grpc.DialOption) (*grpc.ClientConn, error) {
	addresses := manual.NewBuilderWithScheme("listed")
	var listed resolver.State
	for one := range strings.SplitSeq(address, ",") {
		listed.Addresses = append(listed.Addresses, resolver.Address{Addr: strings.TrimSpace(one)})
	}
	addresses.InitialState(listed)
	return grpc.NewClient("listed:///"+listed.Addresses[0].Addr, append([]grpc.DialOption{
		grpc.WithResolvers(addresses),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(l.Message), grpc.MaxCallSendMsgSize(l.Message)),
		grpc.WithMaxHeaderListSize(l.Headers),
		grpc.WithIdleTimeout(0), grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(),
	}, more...)...)
}
