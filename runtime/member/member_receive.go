package member

import (
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"tandem/runtime/member/control"
)

// receive is the goroutine that reads what the host sends.
func (m *Member) receive() {
	stop, exit := sync.OnceFunc(func() { close(m.stop) }), sync.OnceFunc(func() { close(m.exit) })
	for {
		message, err := m.stream.Recv()
		if err != nil {
			err = m.streamError(err)
			close(m.closed)
			m.fail(err)
			return
		}
		m.received.Store(true)
		switch what := message.What.(type) {
		case *control.ToRole_Welcome:
			offer(m.welcome, what.Welcome)
		case *control.ToRole_Go:
			offer(m.started, toMonotonic(what.Go.GetStart()))
		case *control.ToRole_Proceed:
			offer(m.proceed, struct{}{})
		case *control.ToRole_PeerChanged:
			m.peerChanged(what.PeerChanged)
		case *control.ToRole_Stop:
			stop()
		case *control.ToRole_PeekRows:
			go m.answerRead(func(n ModelReader) (*control.FromRole, error) { return readRows(n, what.PeekRows) })
		case *control.ToRole_PeekNetwork:
			go m.answerRead(func(n ModelReader) (*control.FromRole, error) { return readDense(n, what.PeekNetwork) })
		case *control.ToRole_Exit:
			exit()
		case *control.ToRole_Abort:
			m.reason = errors.New(what.Abort.Reason)
			close(m.closed)
			m.fail(m.reason)
			return
		}
	}
}

// streamError returns why the stream has ended. The host may have said it.
func (m *Member) streamError(err error) error {
	if status.Code(err) != codes.Aborted {
		return m.errHostGone()
	}
	m.reason = errors.New(status.Convert(err).Message())
	return m.reason
}

// offer hands a value to a waiter. One that repeats what waits already is dropped.
func offer[T any](to chan<- T, value T) {
	select {
	case to <- value:
	default:
	}
}

// toMonotonic returns the time of tick 0, which another process gives in ns of Unix time. It
// is converted to this process's monotonic clock once, so that setting the clock of the
// machine moves no tick.
func toMonotonic(unixNano int64) time.Time {
	now := time.Now()
	return now.Add(-now.Sub(time.Unix(0, unixNano)))
}

// peerChanged hands on a process that has come back.
func (m *Member) peerChanged(c *control.PeerChanged) {
	peer, err := toPeer(c.Peer)
	if err != nil {
		m.fail(err)
		return
	}
	select {
	case m.changes <- Change{peer, c.View}:
	case <-m.ctx.Done():
	}
}

// answerRead looks at the numbers for the host. It must not hold up what the host
// says next, because a look may wait for the work at hand.
func (m *Member) answerRead(look func(ModelReader) (*control.FromRole, error)) {
	n, err := wait(m, m.model)
	if err != nil {
		return // the run has failed
	}
	m.model <- n
	message, err := look(n)
	if err == nil {
		err = m.send(message)
	}
	if err != nil {
		m.fail(err)
	}
}

func readRows(n ModelReader, p *control.PeekRows) (*control.FromRole, error) {
	values, err := n.ReadRows(int(p.Server), p.Signs)
	return &control.FromRole{What: &control.FromRole_Values{Values: &control.Values{Values: values}}}, err
}

func readDense(n ModelReader, p *control.PeekNetwork) (*control.FromRole, error) {
	at, _ := fromRole(p.Role)
	d, err := n.ReadDense(at)
	network := &control.Network{Params: d.Params, Running: d.Running}
	return &control.FromRole{What: &control.FromRole_Network{Network: network}}, err
}
