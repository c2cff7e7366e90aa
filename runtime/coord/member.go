package coord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"

	"tandem/algo/batch"
	"tandem/algo/event"
	"tandem/algo/msg"
	"tandem/algo/work"
	"tandem/runtime/coord/control"
	"tandem/runtime/train"
)

// Hello is how a role introduces itself.
type Hello struct {
	Role    msg.Address
	Address string // where others reach it, HOST:PORT; without a host, that of its connection to the host
	Job     []byte // fingerprint of its resolved job
	Data    []byte // fingerprint of its data files; nil unless it is the data loader
}

// Welcome is what a role learns of the run when every role has joined.
type Welcome struct {
	Peers  map[msg.Address]string // where every role is reached, HOST:PORT
	Schema *batch.Schema
	Steps  int
}

// Numbers is what a role can be asked for by the host.
type Numbers interface {
	// Rows returns the values of rows of an embedding PS, one after another.
	Rows(signs []uint64) ([]float32, error)
	// Network returns what an NN worker or dense PS has of the dense network.
	Network() (work.DenseValues, error)
}

// Lost says that another role cannot be reached any more.
type Lost struct {
	Role string // its name
	Err  error
}

// Error implements error.
func (l *Lost) Error() string { return l.Err.Error() }

// Unwrap returns the reason.
func (l *Lost) Unwrap() error { return l.Err }

// Member is one role's end of its stream to the host. Its methods may be called
// by several goroutines.
type Member struct {
	conn   *grpc.ClientConn
	stream *grpc.GenericClientStream[control.FromRole, control.ToRole]

	sending sync.Mutex
	ctx     context.Context // of the run; its cause is why it failed
	end     context.CancelCauseFunc
	hangUp  context.CancelFunc // breaks the stream, and ends a send that the host does not take
	dead    chan struct{}      // closed when there is nothing to hear from the host any more
	verdict error              // of the host, once dead is closed; nil if it gave none
	heard   chan struct{}      // a message has come
	welcome chan *control.Welcome
	started chan time.Time
	proceed chan struct{}
	stop    chan struct{} // closed when every rank has finished
	exit    chan struct{} // closed when the run is over
	numbers chan Numbers  // one, once the role is ready
}

// errSilent is why a role leaves by itself.
var errSilent = errors.New("the coordinator is gone")

// Join introduces a role to the host at address, trying for patience if there is
// no host yet. The run's context, Context, ends with ctx, when the host says so
// or when the host is gone.
func Join(ctx context.Context, address string, hello Hello, patience time.Duration) (*Member, error) {
	return joinAs(ctx, address, &control.Hello{
		Role: toRole(hello.Role), Address: hello.Address, Protocol: protocol, Build: Build(), Job: hello.Job, Data: hello.Data,
	}, patience)
}

func joinAs(ctx context.Context, address string, hello *control.Hello, patience time.Duration) (*Member, error) {
	conn, err := dial(address)
	if err != nil {
		return nil, fmt.Errorf("cannot reach the coordinator at %s: %w", address, err)
	}
	if err := connect(ctx, conn, address, patience); err != nil {
		conn.Close()
		return nil, err
	}
	m := &Member{
		conn: conn, dead: make(chan struct{}), heard: make(chan struct{}, 1), welcome: make(chan *control.Welcome, 1), started: make(chan time.Time, 1),
		proceed: make(chan struct{}, 1), stop: make(chan struct{}), exit: make(chan struct{}), numbers: make(chan Numbers, 1),
	}
	m.ctx, m.end = context.WithCancelCause(ctx)
	// The stream outlives a failure, to report it.
	life, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	m.hangUp = hangUp
	stream, err := conn.NewStream(life, &joinStream, joinName)
	if err != nil {
		hangUp()
		conn.Close()
		return nil, fmt.Errorf("cannot join the coordinator at %s: %w", address, err)
	}
	m.stream = &grpc.GenericClientStream[control.FromRole, control.ToRole]{ClientStream: stream}
	go m.listen()
	go m.watch()
	if err := m.send(&control.FromRole{What: &control.FromRole_Hello{Hello: hello}}); err != nil {
		hangUp()
		conn.Close()
		return nil, err
	}
	return m, nil
}

// connect waits until there is a connection.
func connect(ctx context.Context, conn *grpc.ClientConn, address string, patience time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no coordinator answers at %s within %v: start it first, or correct --coordinator", address, patience))
	defer cancel()
	for {
		conn.Connect()
		at := conn.GetState()
		if at == connectivity.Ready {
			return nil
		}
		if at == connectivity.TransientFailure {
			conn.ResetConnectBackoff() // roles start at about the same time
		}
		short, stop := context.WithTimeout(ctx, beat/4)
		conn.WaitForStateChange(short, at)
		stop()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// Context ends when the run has failed; its cause says why.
func (m *Member) Context() context.Context { return m.ctx }

// Fail fails the run for a reason that this role has found, unless it has failed.
func (m *Member) Fail(reason error) { m.end(reason) }

// listen is the goroutine that hears the host.
func (m *Member) listen() {
	for {
		message, err := m.stream.Recv()
		if err != nil {
			close(m.dead)
			m.end(errSilent)
			return
		}
		select {
		case m.heard <- struct{}{}:
		default: // it has been seen to
		}
		switch what := message.What.(type) {
		case *control.ToRole_Welcome:
			m.welcome <- what.Welcome
		case *control.ToRole_Go:
			m.started <- time.Unix(0, what.Go.Start)
		case *control.ToRole_Proceed:
			m.proceed <- struct{}{}
		case *control.ToRole_Stop:
			close(m.stop)
		case *control.ToRole_PeekRows:
			go m.answer(func(n Numbers) (*control.FromRole, error) { return peekRows(n, what.PeekRows.Signs) })
		case *control.ToRole_PeekNetwork:
			go m.answer(peekNetwork)
		case *control.ToRole_Exit:
			close(m.exit)
		case *control.ToRole_Abort:
			m.verdict = errors.New(what.Abort.Reason)
			close(m.dead)
			m.end(m.verdict)
			return
		}
	}
}

// watch is the goroutine that notices a silent host.
func (m *Member) watch() {
	limit := time.NewTimer(silence)
	defer limit.Stop()
	for {
		select {
		case <-m.heard:
			limit.Reset(silence)
		case <-limit.C:
			m.end(errSilent)
			m.hangUp()
			return
		case <-m.ctx.Done():
			return
		}
	}
}

func (m *Member) send(message *control.FromRole) error {
	m.sending.Lock()
	defer m.sending.Unlock()
	if err := m.stream.Send(message); err != nil {
		return cause(m.ctx, errSilent)
	}
	return nil
}

// cause returns why ctx has ended, or err if it has not.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// wait returns what comes, or why the run has failed.
func wait[T any](m *Member, from <-chan T) (value T, err error) {
	select {
	case value = <-from:
		return value, nil
	case <-m.ctx.Done():
		return value, context.Cause(m.ctx)
	}
}

// Welcome waits until every role has joined.
func (m *Member) Welcome() (*Welcome, error) {
	message, err := wait(m, m.welcome)
	if err != nil {
		return nil, err
	}
	w := &Welcome{Peers: map[msg.Address]string{}, Schema: &batch.Schema{}, Steps: int(message.Steps)}
	for _, p := range message.Peers {
		w.Peers[fromRole(p.Role)] = p.Address
	}
	if err := json.Unmarshal(message.Schema, w.Schema); err != nil {
		return nil, fmt.Errorf("the coordinator's schema: %w", err)
	}
	return w, nil
}

// Ready says that the role can begin and gives its numbers, for the host to look
// at. It returns when training begins, with the time of tick 0.
func (m *Member) Ready(n Numbers) (time.Time, error) {
	m.numbers <- n
	if err := m.send(&control.FromRole{What: &control.FromRole_Ready{Ready: &control.Ready{}}}); err != nil {
		return time.Time{}, err
	}
	return wait(m, m.started)
}

// Progress tells how many steps are trained.
func (m *Member) Progress(steps int) error {
	return m.send(&control.FromRole{What: &control.FromRole_Progress{Progress: &control.Progress{Steps: int32(steps)}}})
}

// BeforeStep asks whether a step may begin: the host may want to look first.
func (m *Member) BeforeStep(step int) error {
	if err := m.send(&control.FromRole{What: &control.FromRole_Due{Due: &control.Due{Step: int32(step)}}}); err != nil {
		return err
	}
	_, err := wait(m, m.proceed)
	return err
}

// Finished says that every rank here, if there is one, has trained every step,
// and waits until all ranks have.
func (m *Member) Finished() error {
	if err := m.send(&control.FromRole{What: &control.FromRole_Finished{Finished: &control.Finished{}}}); err != nil {
		return err
	}
	_, err := wait(m, m.stop)
	return err
}

// recordsMax is the number of records of one message.
const recordsMax = 4096

// Report tells the host what the role has done and holds, and waits until the run
// is over. From now on the host looks at n.
func (m *Member) Report(r train.Report, records []event.Record, n Numbers) error {
	<-m.numbers
	m.numbers <- n
	for len(records) > 0 {
		n := min(len(records), recordsMax)
		message := &control.Records{}
		for _, r := range records[:n] {
			message.Records = append(message.Records, &control.Record{
				At: int64(r.At), Kind: uint32(r.Kind), Rank: r.Rank, Step: r.Step, Rows: r.Rows,
			})
		}
		if err := m.send(&control.FromRole{What: &control.FromRole_Records{Records: message}}); err != nil {
			return err
		}
		records = records[n:]
	}
	missed, err := r.Missed.MarshalBinary()
	if err != nil {
		return err
	}
	if err := m.send(&control.FromRole{What: &control.FromRole_Report{Report: &control.Report{
		Digest: r.Digest, Rows: int64(r.Rows), Missed: missed,
	}}}); err != nil {
		return err
	}
	_, err = wait(m, m.exit)
	return err
}

// partingWait is how long a role that failed waits to be heard.
const partingWait = time.Second / 2

// Leave ends the membership, with the reason if the run has failed. It returns
// the reason, in the words of the host if that knows better: it hears from all.
func (m *Member) Leave(failed error) error {
	defer m.hangUp()
	defer time.AfterFunc(2*partingWait, m.hangUp).Stop() // a host that takes nothing holds up nobody
	select {
	case <-m.dead: // the host is why
	default:
		if failed != nil {
			m.sayFailure(failed)
		}
	}
	m.sending.Lock()
	_ = m.stream.CloseSend() // the connection is closed next
	m.sending.Unlock()
	// The last word of the host, or the end of its side.
	select {
	case <-m.dead:
		if failed != nil && m.verdict != nil {
			failed = m.verdict
		}
	case <-time.After(partingWait):
	}
	m.conn.Close()
	return failed
}

// sayFailure tells the host why the run fails here, and waits for its verdict.
func (m *Member) sayFailure(reason error) {
	f := &control.Failure{Reason: reason.Error()}
	var lost *Lost
	if errors.As(reason, &lost) {
		f.Lost = lost.Role
	}
	if m.send(&control.FromRole{What: &control.FromRole_Failure{Failure: f}}) == nil {
		select {
		case <-m.dead:
		case <-time.After(partingWait):
		}
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

func peekRows(n Numbers, signs []uint64) (*control.FromRole, error) {
	values, err := n.Rows(signs)
	return &control.FromRole{What: &control.FromRole_Values{Values: &control.Values{Values: values}}}, err
}

func peekNetwork(n Numbers) (*control.FromRole, error) {
	d, err := n.Network()
	return &control.FromRole{What: &control.FromRole_Network{Network: &control.Network{Params: d.Params, Running: d.Running}}}, err
}
