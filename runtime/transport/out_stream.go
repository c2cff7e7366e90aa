package transport

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc"

	"tandem/algo/protocol/msg"
	"tandem/runtime/ring"
)

// outStream is the stream to one process, with the frames that wait to be sent.
type outStream struct {
	node  *Endpoint
	name  string // of the process
	roles []msg.Address
	// incarnation is the incarnation of the process.
	incarnation uint32
	conn        *grpc.ClientConn
	stream      grpc.ClientStream
	cancel      context.CancelFunc
	outbox      *outbox
	ring        *ring.Writer // carries the frames; nil if the stream does

	replaced atomic.Bool // a later incarnation was announced, so the end of the stream is no loss

	ended    chan struct{} // closed when the stream has ended
	err      error         // set then: why the stream ended, nil if everything was received
	reported bool          // set then: err was reported or needs no report
}

// send is the goroutine that sends the frames of the outbox.
func (l *outStream) send() {
	if l.ring != nil {
		l.sendByRing()
		return
	}
	for {
		p, ok := l.outbox.next()
		if !ok {
			// An error here or below is an error of the stream, which watch receives.
			_ = l.stream.CloseSend()
			return
		}
		if l.stream.SendMsg(p) != nil {
			return
		}
	}
}

// watch is the goroutine that waits for the other end's only answer, or for the stream to break.
func (l *outStream) watch() {
	err := l.stream.RecvMsg(&packet{})
	l.outbox.closeNow()
	if l.ring != nil {
		l.ring.Close() // which ends a wait for room
	}
	switch {
	case err == nil:
	case l.replaced.Load():
		l.reported = true
	default:
		l.reported = l.node.lost(l.name, err)
	}
	l.err = err
	close(l.ended)
}

// close ends the stream, if it has not ended, and the connection.
func (l *outStream) close() {
	l.cancel()
	if l.ring != nil {
		l.ring.Close()
	}
	// An error means that it is closed already.
	_ = l.conn.Close()
}
