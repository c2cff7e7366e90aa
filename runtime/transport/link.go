package transport

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc"

	"tandem/algo/protocol/msg"
)

// link is the way to one process: a stream, and the frames that wait for it.
type outStream struct {
	node  *Endpoint
	name  string
	roles []msg.Address
	// incarnation is that of the process.
	incarnation uint32
	conn        *grpc.ClientConn
	stream      grpc.ClientStream
	cancel      context.CancelFunc
	outbox      *outbox

	replaced atomic.Bool // a later incarnation has been announced: the end of the stream is no loss

	ended    chan struct{} // closed when the stream has ended
	err      error         // then: why, nil if the other end has taken everything
	reported bool          // then: whoever asks knows of err
}

// send is the goroutine that writes what is in the box.
func (l *outStream) send() {
	for {
		p, ok := l.outbox.next()
		if !ok {
			// An error here and below is one of the stream, which watch gets to know.
			_ = l.stream.CloseSend()
			return
		}
		if l.stream.SendMsg(p) != nil {
			return
		}
	}
}

// watch is the goroutine that waits for the other end's one word, or for the
// stream to break.
func (l *outStream) watch() {
	err := l.stream.RecvMsg(&packet{})
	l.outbox.closeNow()
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
	// A connection can only be closed already.
	_ = l.conn.Close()
}
