package member

import (
	"context"
	"fmt"

	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/msg"
	"tandem/runtime/grpcnet"
	"tandem/runtime/member/control"
)

// Hello is how a process introduces itself.
type Hello struct {
	Process job.Process
	Address string // where others reach it, HOST:PORT; without a host, that of its connection to the host
	Job     []byte // fingerprint of its resolved job
	Data    []byte // fingerprint of its data files; nil unless it has the data loader
	Run     []byte // id of its run; nil: whichever run the host serves
}

// Peer is where a process is reached.
type Peer struct {
	Process     job.Process
	Address     string // HOST:PORT; "" while it is away
	Incarnation uint32
}

// Welcome is what a process learns of the run when every process has joined, or when it
// comes back.
type Welcome struct {
	Run         [16]byte
	Incarnation uint32 // how often the process has died before
	View        uint32 // rises with every process that comes back
	Peers       []Peer // all processes, this one too
	Schema      *batch.Schema
	Steps       int
}

// Change is a process that has come back.
type Change struct {
	Peer
	View uint32
}

// ModelReader is what a process can be asked for by the host.
type ModelReader interface {
	// Rows returns the values of rows of an embedding PS, one after another.
	ReadRows(server int, signs []uint64) ([]float32, error)
	// Network returns what an NN worker or dense PS has of the dense network.
	ReadDense(at msg.Address) (model.Values, error)
}

// Member is one process's end of its stream to the host. Its methods may be called
// by several goroutines.
type Member struct {
	host    string // its address
	process job.Process
	limit   time.Duration
	conn    *grpc.ClientConn
	stream  *grpc.GenericClientStream[control.FromRole, control.ToRole]
	silenceDetector

	sending     sync.Mutex
	ctx         context.Context // of the run; its cause is why it failed
	fail        context.CancelCauseFunc
	closeStream context.CancelFunc // breaks the stream, and ends a send that the host does not take
	closed      chan struct{}      // closed when nothing more comes from the host
	reason      error              // of the host, once dead is closed; nil if it gave none
	welcome     chan *control.Welcome
	started     chan time.Time
	proceed     chan struct{}
	changes     chan Change
	stop        chan struct{}    // closed when every rank has finished
	exit        chan struct{}    // closed when the run is over
	model       chan ModelReader // one, once the process is ready
}

// changesMax is how many processes that came back may wait to be handled.
const changesMax = 1024

// Join introduces a process to the host at address, trying for timeout if there is
// no host yet. The run's context, Context, ends with ctx, when the host says so
// or when the host is gone.
func Join(ctx context.Context, address string, hello Hello, timeout time.Duration) (*Member, error) {
	m, err := joinAs(ctx, address, &control.Hello{
		Roles: toRoles(hello.Process), Address: hello.Address, Protocol: protocol, Build: Build(),
		Job: hello.Job, Data: hello.Data, Run: hello.Run,
	}, timeout)
	if err != nil {
		return nil, err
	}
	m.process = hello.Process
	return m, nil
}

func joinAs(ctx context.Context, address string, hello *control.Hello, timeout time.Duration) (*Member, error) {
	conn, err := grpcnet.NewClient(address, limits(0))
	if err != nil {
		return nil, fmt.Errorf("cannot reach the host at %s: %w", address, err)
	}
	m := &Member{
		host: address, conn: conn, closed: make(chan struct{}), welcome: make(chan *control.Welcome, 1),
		started: make(chan time.Time, 1), proceed: make(chan struct{}, 1), changes: make(chan Change, changesMax),
		stop: make(chan struct{}), exit: make(chan struct{}), model: make(chan ModelReader, 1),
	}
	m.ctx, m.fail = context.WithCancelCause(ctx)
	// The stream outlives a failure, to report it.
	life, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	m.closeStream = hangUp
	if err := m.open(ctx, life, hello, timeout); err != nil {
		hangUp()
		conn.Close()
		return nil, err
	}
	gone := m.ctx.Done()
	go m.receive()
	go m.watch(m.limit, gone, func() {
		m.fail(fmt.Errorf("the host at %s hangs: it has not answered for %v", m.host, m.limit))
		m.closeStream()
	})
	go heartbeat(m.limit, gone, func() {
		// listen notices a host that is gone.
		_ = m.send(&control.FromRole{What: &control.FromRole_Heartbeat{Heartbeat: &control.Heartbeat{}}})
	})
	return m, nil
}

// open opens the stream and waits for the host's headers. Life is that of the stream.
func (m *Member) open(ctx, life context.Context, hello *control.Hello, timeout time.Duration) error {
	if err := connect(ctx, m.conn, m.host, timeout); err != nil {
		return err
	}
	text, err := proto.Marshal(hello)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, m.closeStream)()
	defer time.AfterFunc(max(timeout, DefaultHangLimit), m.closeStream).Stop()
	life = metadata.AppendToOutgoingContext(life, helloKey, string(text))
	stream, err := m.conn.NewStream(life, &joinStream, joinName)
	if err != nil {
		return fmt.Errorf("cannot join the host at %s: %w", m.host, err)
	}
	header, err := stream.Header()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("cannot join the host at %s: %w", m.host, err)
	}
	version, limit := header.Get(protocolKey), header.Get(hangKey)
	if len(version) != 1 || version[0] != strconv.Itoa(protocol) || len(limit) != 1 {
		return fmt.Errorf("the host at %s does not speak version %d of the protocol: %s", m.host, protocol, oneBuild)
	}
	if m.limit, err = time.ParseDuration(limit[0]); err != nil || m.limit < time.Millisecond {
		return fmt.Errorf("the host at %s has %q as its limit for silence: %s", m.host, limit[0], oneBuild)
	}
	m.stream = &grpc.GenericClientStream[control.FromRole, control.ToRole]{ClientStream: stream}
	return nil
}

// connectEvery is how often a host that does not answer is tried.
const connectEvery = 250 * time.Millisecond

// connect waits until there is a connection.
func connect(ctx context.Context, conn *grpc.ClientConn, address string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout,
		fmt.Errorf("no host answers at %s within %v: start it first, or correct --host", address, timeout))
	defer cancel()
	for {
		conn.Connect()
		at := conn.GetState()
		if at == connectivity.Ready {
			return nil
		}
		if at == connectivity.TransientFailure {
			conn.ResetConnectBackoff() // processes start at about the same time
		}
		short, stop := context.WithTimeout(ctx, connectEvery)
		conn.WaitForStateChange(short, at)
		stop()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// Context ends when the run has failed; its cause says why.
func (m *Member) Context() context.Context { return m.ctx }

// HangLimit returns how long the host, or another process, may be silent.
func (m *Member) HangLimit() time.Duration { return m.limit }

// Changes has the processes that come back, in their order.
func (m *Member) Changes() <-chan Change { return m.changes }

// Fail fails the run for a reason that this process has found, unless it has failed.
func (m *Member) Fail(reason error) { m.fail(reason) }

func (m *Member) send(message *control.FromRole) error {
	m.sending.Lock()
	defer m.sending.Unlock()
	if err := m.stream.Send(message); err != nil {
		return cause(m.ctx, m.errHostGone())
	}
	return nil
}

// errHostGone is why a process leaves by itself.
func (m *Member) errHostGone() error {
	return fmt.Errorf("the host at %s is gone: its connection broke", m.host)
}

// cause returns why ctx has ended, or err if it has not.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// leaveTimeout is how long a process that failed waits for the host's answer.
const leaveTimeout = time.Second / 2

// Leave ends the membership, with the reason if the run has failed. It returns
// the reason, in the words of the host if the host has one: it knows of all roles.
func (m *Member) Leave(failed error) error {
	defer m.closeStream()
	defer time.AfterFunc(2*leaveTimeout, m.closeStream).Stop() // a host that takes nothing holds up no process
	select {
	case <-m.closed: // the host is why
	default:
		if failed != nil {
			m.reportFailure(failed)
		}
	}
	m.sending.Lock()
	_ = m.stream.CloseSend() // the connection is closed next
	m.sending.Unlock()
	// The last word of the host, or the end of its side.
	select {
	case <-m.closed:
		if failed != nil && m.reason != nil {
			failed = m.reason
		}
	case <-time.After(leaveTimeout):
	}
	m.conn.Close()
	return failed
}

// reportFailure sends the host why the run fails here, and waits for its answer.
func (m *Member) reportFailure(reason error) {
	failure := &control.Failure{Reason: truncate(reason.Error())}
	if m.send(&control.FromRole{What: &control.FromRole_Failure{Failure: failure}}) == nil {
		select {
		case <-m.closed:
		case <-time.After(leaveTimeout):
		}
	}
}
