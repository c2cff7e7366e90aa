package member

import (
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"tandem/algo/exec"
	"tandem/algo/exec/dense"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/table"
	"tandem/runtime/member/control"
)

// receive is the goroutine that reads the host's messages.
func (m *Member) receive() {
	stop, drain := sync.OnceFunc(func() { close(m.stop) }), sync.OnceFunc(func() { close(m.drain) })
	var exit sync.Once
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
		case *control.ToMember_Welcome:
			offer(m.welcome, what.Welcome)
		case *control.ToMember_Start:
			offer(m.started, what.Start)
		case *control.ToMember_Proceed:
			offer(m.proceed, struct{}{})
		case *control.ToMember_PeerChanged:
			m.peerChanged(what.PeerChanged)
		case *control.ToMember_Drain:
			drain()
		case *control.ToMember_Stop:
			stop()
		case *control.ToMember_ReadRows:
			m.answerRead(func(n ModelReader) (*control.FromMember, error) {
				return readRows(n, what.ReadRows)
			})
		case *control.ToMember_ReadDense:
			m.answerRead(func(n ModelReader) (*control.FromMember, error) {
				return readDense(n, what.ReadDense)
			})
		case *control.ToMember_ReadRank:
			m.answerRead(func(n ModelReader) (*control.FromMember, error) {
				return readRank(n, what.ReadRank.GetAll())
			})
		case *control.ToMember_ReadDigests:
			m.answerRead(m.readDigests)
		case *control.ToMember_Export:
			m.answerRead(func(n ModelReader) (*control.FromMember, error) {
				return export(n, what.Export)
			})
		case *control.ToMember_Exit:
			exit.Do(func() {
				m.continues.Store(what.Exit.GetContinues())
				close(m.exit)
			})
		case *control.ToMember_Abort:
			m.reason = errors.New(what.Abort.Reason)
			m.continues.Store(what.Abort.GetContinues())
			close(m.closed)
			m.fail(m.reason)
			return
		}
	}
}

// streamError returns why the stream has ended, in the host's words if it gave a reason.
func (m *Member) streamError(err error) error {
	if status.Code(err) != codes.Aborted {
		return m.errHostGone()
	}
	m.reason = errors.New(status.Convert(err).Message())
	return m.reason
}

// offer sends a value unless an earlier one still waits in the channel; then it drops the value.
func offer[T any](to chan<- T, value T) {
	select {
	case to <- value:
	default:
	}
}

// toMonotonic converts the time of tick 0, which another process has sent as Unix time in ns, to this
// process's monotonic clock. The conversion happens once, so that setting the machine's clock moves no tick.
func toMonotonic(unixNano int64) time.Time {
	now := time.Now()
	return now.Add(-now.Sub(time.Unix(0, unixNano)))
}

// peerChanged passes on the announcement of a process that has come back.
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

// ReadsEnd waits until nothing that the host has asked for is read from the model, and reports whether that
// was so in time. The host must have ended the run.
func (m *Member) ReadsEnd(timeout time.Duration) bool {
	ended := make(chan struct{})
	go func() {
		<-m.closed // the host asks for nothing more
		m.reads.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return true
	case <-time.After(timeout):
		return false
	}
}

// answerRead reads from the model and sends the result to the host, in a goroutine of its own, because a read
// may wait for work in progress and must not delay the host's next messages.
func (m *Member) answerRead(read func(ModelReader) (*control.FromMember, error)) {
	m.reads.Go(func() {
		n, err := wait(m, m.model)
		if err != nil {
			return // the run has failed
		}
		m.model <- n
		message, err := read(n)
		if err == nil {
			err = m.send(message)
		}
		if err != nil {
			m.fail(err)
		}
	})
}

func readRows(n ModelReader, p *control.ReadRows) (*control.FromMember, error) {
	values, err := n.ReadRows(int(p.Server), p.Signs)
	return &control.FromMember{What: &control.FromMember_Values{Values: &control.Values{Values: values}}}, err
}

func readDense(n ModelReader, p *control.ReadDense) (*control.FromMember, error) {
	at, _ := fromRole(p.Role)
	d, err := n.ReadDense(at)
	network := &control.Dense{Params: d.Params, Running: d.Running}
	return &control.FromMember{What: &control.FromMember_Dense{Dense: network}}, err
}

func readRank(n ModelReader, all bool) (*control.FromMember, error) {
	answer := &control.Rank{Steps: int32(n.RankSteps())}
	if all {
		state, err := n.CopyRank()
		if err != nil {
			return nil, err
		}
		answer = toRank(&state)
	}
	return &control.FromMember{What: &control.FromMember_Rank{Rank: answer}}, nil
}

func toRank(s *exec.RankState) *control.Rank {
	r := &control.Rank{Steps: int32(s.Steps), All: true, Params: s.Dense.Params, Running: s.Dense.Running,
		Optimizer: s.Dense.Optimizer, OptimizerSteps: int32(s.Dense.Steps), PerStep: int32(s.Dense.PerStep)}
	if h := s.Hot; h != nil {
		r.Hot, r.Signs, r.Updates, r.Read, r.Embeddings, r.States = true, h.Signs, h.Updates, h.Read,
			h.Embeddings, h.States
	}
	return r
}

// fromRank is the reverse of toRank. The values are checked when they are used.
func fromRank(r *control.Rank) *exec.RankState {
	s := &exec.RankState{Steps: int(r.Steps), Dense: dense.Part{PerStep: int(r.PerStep)}}
	s.Dense.State = model.State{Values: model.Values{Params: r.Params, Running: r.Running},
		Optimizer: r.Optimizer, Steps: int(r.OptimizerSteps)}
	if r.Hot {
		s.Hot = &table.Columns{Signs: r.Signs, Updates: r.Updates, Read: r.Read, Embeddings: r.Embeddings,
			States: r.States}
	}
	return s
}

func (m *Member) readDigests(n ModelReader) (*control.FromMember, error) {
	d, err := n.Digests()
	digests := &control.Digests{Hot: d.Hot}
	for _, at := range m.process {
		digests.Roles = append(digests.Roles, d.Roles[at])
	}
	return &control.FromMember{What: &control.FromMember_Digests{Digests: digests}}, err
}

func export(n ModelReader, p *control.Export) (*control.FromMember, error) {
	return &control.FromMember{What: &control.FromMember_Exported{Exported: &control.Exported{}}},
		n.Export(p.Folder, p.Name, int(p.FullEvery))
}
