package member

import (
	"context"
	"errors"
	"fmt"
	"io"

	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"tandem/algo/exec"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/msg"
	"tandem/runtime/driver"
	"tandem/runtime/grpcnet"
	"tandem/runtime/identity"
	"tandem/runtime/member/control"
)

// Hello is how a process introduces itself to the host.
type Hello struct {
	Process job.Process
	// Address is where other processes reach this one, HOST:PORT. An empty HOST stands for its machine.
	Address string
	Job     []byte // fingerprint of its resolved job
	Data    []byte // fingerprint of its data files; nil unless it has the data loader
	Run     []byte // id of its run; nil accepts the run that the host serves
	Held    []byte // id of the run whose end it holds; nil: none
	// Identity, if not nil, makes the connection one of TLS, to the host of its run alone.
	Identity *identity.Identity
}

// Peer is the address of one process of the run.
type Peer struct {
	Process     job.Process
	Address     string // HOST:PORT; "" while the process is away
	Incarnation uint32
}

// Welcome describes the run to a process, when every process has joined or when the process comes back.
type Welcome struct {
	Run         [16]byte
	Incarnation uint32      // number of deaths of the process so far
	View        uint32      // number of processes that have come back so far
	Peers       []Peer      // all processes, including this one
	Roles       job.Process // of this process in the run, which may be others than those in its Hello
	Schema      *batch.Schema
	Steps       int // of this run
	Origin      driver.Origin
	Kept        bool   // the process goes on with what it holds, and does not read the model
	Redo        string // folder for the redo logs of the process; empty: it keeps none
	Draining    bool   // the run is to end as soon as possible
}

// Processes returns the roles of all processes.
func (w *Welcome) Processes() (all []job.Process) {
	for _, peer := range w.Peers {
		all = append(all, peer.Process)
	}
	return all
}

// Change announces a process that has come back.
type Change struct {
	Peer
	View uint32
}

// ModelReader reads the part of the model that a process holds. The host's ReadRows, ReadDense, Digests and
// Export end here.
type ModelReader interface {
	// ReadRows returns the values of rows of an embedding PS of the process, one row after another.
	ReadRows(server int, signs []uint64) ([]float32, error)
	// ReadDense returns the part of the dense network that an NN worker or dense PS of the process holds.
	ReadDense(at msg.Address) (model.Values, error)
	// RankSteps returns how many steps the ranks of the process have made, and CopyRank what all ranks have
	// in common.
	RankSteps() int
	CopyRank() (exec.RankState, error)
	// Digests returns the digests of what the process holds after training.
	Digests() (driver.Digests, error)
	// Export begins to write the process's part of the trained model into a folder, all but the rows to a
	// file of this name. Member.Saved reports when it is written, to the host of this part of the run or of a
	// later one. Of fullEvery exports one has all rows.
	Export(folder, name string, fullEvery int) error
}

// Member is one process's end of its stream to the host. Its methods may be called from any goroutine.
type Member struct {
	host    string      // address of the host
	process job.Process // its roles: those of its Hello, and those of the run from Welcome on
	limit   time.Duration
	conn    *grpc.ClientConn
	refused atomic.Pointer[error] // why there was no connection with certificates; see package identity
	hint    string                // how else a host may come to answer
	stream  *grpc.GenericClientStream[control.FromMember, control.ToMember]
	silenceDetector

	sending     sync.Mutex
	ctx         context.Context // ends when the run fails, with the reason as its cause
	fail        context.CancelCauseFunc
	closeStream context.CancelFunc // breaks the stream, which also ends a blocked send
	closed      chan struct{}      // closed when the host sends nothing more
	reason      error              // the host's, set before closed is closed; nil if it gave none
	welcome     chan *control.Welcome
	started     chan *control.Start
	proceed     chan struct{}
	changes     chan Change
	drain       chan struct{}    // closed when the run is to end as soon as possible
	stop        chan struct{}    // closed when every rank has finished
	exit        chan struct{}    // closed when the run is over
	continues   atomic.Bool      // see Continues
	model       chan ModelReader // holds one item once the process is ready
	reads       sync.WaitGroup   // of the model, by the goroutines of answerRead
}

// changesMax is the number of Changes that may wait to be handled.
const changesMax = 1024

// ErrSpare says that the run has ended, or a part of it, in which the process had no role.
var ErrSpare = errors.New("the process has no role in the run, which has ended")

// HostError is the error of a member that has lost its host: the host is gone, or hangs.
type HostError struct{ reason string }

// Error implements error.
func (e *HostError) Error() string { return e.reason }

// Join introduces a process to the host at address. If no host answers, it tries again until timeout has
// passed.
//
// Member.Context ends with ctx, when the run fails, and when the host is gone.
func Join(ctx context.Context, address string, hello Hello, timeout time.Duration) (*Member, error) {
	m, err := joinAs(ctx, address, &control.Hello{
		Roles: toRoles(hello.Process), Address: hello.Address, Protocol: protocol, Build: Build(),
		Job: hello.Job, Data: hello.Data, Run: hello.Run, Held: hello.Held,
	}, hello.Identity, timeout)
	if err != nil {
		return nil, err
	}
	m.process = hello.Process
	return m, nil
}

func joinAs(ctx context.Context, address string, hello *control.Hello, own *identity.Identity,
	timeout time.Duration) (*Member, error) {
	m := &Member{
		host: address, closed: make(chan struct{}), welcome: make(chan *control.Welcome, 1),
		started: make(chan *control.Start, 1), proceed: make(chan struct{}, 1),
		changes: make(chan Change, changesMax),
		drain:   make(chan struct{}),
		stop:    make(chan struct{}), exit: make(chan struct{}), model: make(chan ModelReader, 1),
	}
	var options []grpc.DialOption
	if own != nil {
		options = append(options, grpc.WithTransportCredentials(own.Client(nil, func(err error) {
			m.refused.Store(&err)
		})))
		m.hint = ", or give it --tls, as this process"
	}
	conn, err := grpcnet.NewClient(address, limits(0), options...)
	if err != nil {
		return nil, fmt.Errorf("cannot reach the host at %s: %w", address, err)
	}
	m.conn = conn
	m.ctx, m.fail = context.WithCancelCause(ctx)
	// The stream outlives the run's failure, so that the failure can be reported.
	life, closeStream := context.WithCancel(context.WithoutCancel(ctx))
	m.closeStream = closeStream
	if err := m.open(ctx, life, hello, timeout); err != nil {
		closeStream()
		conn.Close()
		return nil, err
	}
	gone := m.ctx.Done()
	go m.receive()
	go m.watch(m.limit, gone, func() {
		m.fail(&HostError{fmt.Sprintf("the host at %s hangs: it has not answered for %v", m.host, m.limit)})
		m.closeStream()
	})
	go heartbeat(m.limit, gone, func() {
		// An error means that the host is gone, which receive notices.
		_ = m.send(&control.FromMember{What: &control.FromMember_Heartbeat{Heartbeat: &control.Heartbeat{}}})
	})
	return m, nil
}

// open opens the stream and waits for the host's headers. The stream ends with life.
func (m *Member) open(ctx, life context.Context, hello *control.Hello, timeout time.Duration) error {
	if err := m.connect(ctx, timeout); err != nil {
		return err
	}
	text, err := proto.Marshal(hello)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, m.closeStream)()
	defer time.AfterFunc(max(timeout, DefaultHangLimit), m.closeStream).Stop()
	life = metadata.AppendToOutgoingContext(life, helloKey, string(text))
	stream, header, err := m.call(life)
	for try := 1; try < joinTries && status.Code(err) == codes.Unavailable && ctx.Err() == nil; try++ {
		stream, header, err = m.call(life) // the connection was lost before the host had answered
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("cannot join the host at %s: %w", m.host, err)
	}
	version, limit := header.Get(protocolKey), header.Get(hangKey)
	if len(version) != 1 || version[0] != strconv.Itoa(protocol) || len(limit) != 1 {
		return fmt.Errorf("the host at %s does not speak version %d of the protocol: %s", m.host, protocol,
			oneBuild)
	}
	if m.limit, err = time.ParseDuration(limit[0]); err != nil || m.limit < time.Millisecond {
		return fmt.Errorf("the host at %s has %q as its limit for silence: %s", m.host, limit[0], oneBuild)
	}
	m.stream = &grpc.GenericClientStream[control.FromMember, control.ToMember]{ClientStream: stream}
	return nil
}

// joinTries is how often a process calls a host whose connection is lost before the first answer.
const joinTries = 3

// call opens a stream to the host and waits for its headers.
func (m *Member) call(life context.Context) (grpc.ClientStream, metadata.MD, error) {
	stream, err := m.conn.NewStream(life, &joinStream, joinName, grpc.WaitForReady(true))
	if err != nil {
		return nil, nil, err
	}
	header, err := stream.Header()
	if err == nil && header == nil { // gRPC keeps the error for the first receive
		if err = stream.RecvMsg(&control.ToMember{}); err == io.EOF {
			err = nil // a server of something else has ended the stream
		}
	}
	return stream, header, err
}

// connectEvery is the interval at which connect tries to reach a host that does not answer.
const connectEvery = 50 * time.Millisecond

// connect waits until there is a connection. It does not wait for a host with the wrong certificate.
func (m *Member) connect(ctx context.Context, timeout time.Duration) error {
	m.refused.Store(nil)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout,
		fmt.Errorf("no host answers at %s within %v: start it first, or correct --host%s", m.host, timeout,
			m.hint))
	defer cancel()
	for {
		m.conn.Connect()
		at := m.conn.GetState()
		if at == connectivity.Ready {
			return nil
		}
		if at == connectivity.TransientFailure { // at every address
			if why := m.refused.Load(); why != nil {
				return fmt.Errorf("cannot join the host at %s: %w", m.host, *why)
			}
			m.conn.ResetConnectBackoff() // processes start at about the same time
		}
		short, stop := context.WithTimeout(ctx, connectEvery)
		m.conn.WaitForStateChange(short, at)
		stop()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// Context ends when the run has failed; its cause is the reason.
func (m *Member) Context() context.Context { return m.ctx }

// HangLimit returns how long the host or another process may be silent before it counts as dead.
func (m *Member) HangLimit() time.Duration { return m.limit }

// Changes returns the channel of processes that come back, in order.
func (m *Member) Changes() <-chan Change { return m.changes }

// Draining returns a channel that is closed when the run is to end as soon as possible.
func (m *Member) Draining() <-chan struct{} { return m.drain }

// Continues reports, after Report has returned nil or Context has ended, whether the run goes on: after it
// was saved, or from a saved model after another process was lost. The process then joins the host again,
// which serves the next part of the run at the same address.
func (m *Member) Continues() bool { return m.continues.Load() }

// Fail ends the run's context with a reason, unless it has ended.
func (m *Member) Fail(reason error) { m.fail(reason) }

func (m *Member) send(message *control.FromMember) error {
	m.sending.Lock()
	defer m.sending.Unlock()
	if err := m.stream.Send(message); err != nil {
		return cause(m.ctx, m.errHostGone())
	}
	return nil
}

// errHostGone returns the error for a host that is gone.
func (m *Member) errHostGone() error {
	return &HostError{fmt.Sprintf("the host at %s is gone: its connection broke", m.host)}
}

// cause returns why ctx has ended, or err if it has not.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// leaveTimeout is how long a process that leaves waits for the host's answer.
const leaveTimeout = time.Second / 2

// Leave ends the membership. If the run has failed in this process, failed is the reason, which Leave reports
// to the host. Leave returns why the run failed: the host's reason if it gives one, because the host knows
// about all processes, else failed.
func (m *Member) Leave(failed error) error {
	defer m.closeStream()
	defer time.AfterFunc(2*leaveTimeout, m.closeStream).Stop() // do not wait for a host that does not read
	select {
	case <-m.closed: // the host has ended the run
	default:
		if failed != nil {
			m.reportFailure(failed)
		}
	}
	m.sending.Lock()
	_ = m.stream.CloseSend() // the connection is closed next
	m.sending.Unlock()
	// The host answers with a last message or ends the stream.
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

// reportFailure sends the host the reason why the run fails in this process, and waits for its answer.
func (m *Member) reportFailure(reason error) {
	failure := &control.Failure{
		Reason: truncate(reason.Error()), Model: errors.As(reason, new(*driver.ModelError)),
		Lost: errors.As(reason, new(*driver.LostError)),
	}
	if m.send(&control.FromMember{What: &control.FromMember_Failure{Failure: failure}}) == nil {
		select {
		case <-m.closed:
		case <-time.After(leaveTimeout):
		}
	}
}
