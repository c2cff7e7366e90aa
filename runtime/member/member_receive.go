package member

import (
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"tandem/runtime/member/control"
)

// listen is the goroutine that reads what the host sends.
func (m *Member) listen() {
	stop, exit := sync.OnceFunc(func() { close(m.stop) }), sync.OnceFunc(func() { close(m.exit) })
	for {
		message, err := m.stream.Recv()
		if err != nil {
			err = m.ending(err)
			close(m.dead)
			m.end(err)
			return
		}
		m.received.Store(true)
		switch what := message.What.(type) {
		case *control.ToRole_Welcome:
			offer(m.welcome, what.Welcome)
		case *control.ToRole_Go:
			offer(m.started, tickZero(what.Go.GetStart()))
		case *control.ToRole_Proceed:
			offer(m.proceed, struct{}{})
		case *control.ToRole_PeerChanged:
			m.changed(what.PeerChanged)
		case *control.ToRole_Stop:
			stop()
		case *control.ToRole_PeekRows:
			go m.answer(func(n Numbers) (*control.FromRole, error) { return peekRows(n, what.PeekRows) })
		case *control.ToRole_PeekNetwork:
			go m.answer(func(n Numbers) (*control.FromRole, error) { return peekNetwork(n, what.PeekNetwork) })
		case *control.ToRole_Exit:
			exit()
		case *control.ToRole_Abort:
			m.reason = errors.New(what.Abort.Reason)
			close(m.dead)
			m.end(m.reason)
			return
		}
	}
}

// ending returns why the stream has ended. The host may have said it.
func (m *Member) ending(err error) error {
	if status.Code(err) != codes.Aborted {
		return m.broken()
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

// tickZero returns the time of tick 0, which another process gives in ns of Unix time. It
// is converted to this process's monotonic clock once, so that setting the clock of the
// machine moves no tick.
func tickZero(unixNano int64) time.Time {
	now := time.Now()
	return now.Add(-now.Sub(time.Unix(0, unixNano)))
}

// changed hands on a process that has come back.
func (m *Member) changed(c *control.PeerChanged) {
	peer, err := toPeer(c.Peer)
	if err != nil {
		m.end(err)
		return
	}
	select {
	case m.changes <- Change{peer, c.View}:
	case <-m.ctx.Done():
	}
}

// answer looks at the numbers for the host. It must not hold up what the host
// says next, because a look may wait for the work at hand.
func (m *Member) answer(look func(Numbers) (*control.FromRole, error)) {
	n, err := wait(m, m.numbers)
	if err != nil {
		return // the run has failed
	}
	m.numbers <- n
	message, err := look(n)
	if err == nil {
		err = m.send(message)
	}
	if err != nil {
		m.end(err)
	}
}

func peekRows(n Numbers, p *control.PeekRows) (*control.FromRole, error) {
	values, err := n.Rows(int(p.Server), p.Signs)
	return &control.FromRole{What: &control.FromRole_Values{Values: &control.Values{Values: values}}}, err
}

func peekNetwork(n Numbers, p *control.PeekNetwork) (*control.FromRole, error) {
	at, _ := fromRole(p.Role)
	d, err := n.Network(at)
	network := &control.Network{Params: d.Params, Running: d.Running}
	return &control.FromRole{What: &control.FromRole_Network{Network: network}}, err
}
