package transport

import (
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"tandem/runtime/wire"
)

const (
	serviceName = "tandem.Frames"
	methodName  = "Send"

	// A process is asked for a sign of life after pingAfter of silence and given
	// up after pingWait more.
	pingAfter = 2 * time.Second
	pingWait  = 2 * time.Second

	// windowSize is how much a stream may have under way, in bytes. It is fixed:
	// gRPC's estimate begins at 64 KiB and grows by pinging.
	windowSize = 4 << 20
	// packetMax is the largest packet that is let in.
	packetMax = int(wire.MaxFrame)
)

// newServer makes the gRPC server of a node. Its one method takes a stream of
// packets and answers once, when it has taken all of them.
func newServer(n *Node) *grpc.Server {
	s := grpc.NewServer(
		grpc.ForceServerCodecV2(codec{}),
		grpc.MaxRecvMsgSize(packetMax),
		grpc.StaticStreamWindowSize(windowSize), grpc.StaticConnWindowSize(windowSize),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingAfter, Timeout: pingWait}),
		grpc.WaitForHandlers(true),
	)
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: serviceName,
		HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{
			StreamName: methodName, ClientStreams: true,
			Handler: func(_ any, stream grpc.ServerStream) error { return n.receive(stream) },
		}},
	}, n)
	return s
}

// receive delivers what comes on one stream.
func (n *Node) receive(stream grpc.ServerStream) error {
	name, err := n.admit(stream.Context())
	if err != nil {
		return err
	}
	if err := stream.SendHeader(n.introduction()); err != nil {
		return err
	}
	for {
		var p packet
		err := stream.RecvMsg(&p)
		if err == io.EOF {
			n.left(name)
			return stream.SendMsg(&packet{})
		}
		if err == nil {
			err = n.deliver(p.data)
		}
		if err != nil {
			n.lost(name, err)
			return status.Error(codes.Aborted, plain(err).Error())
		}
	}
}
