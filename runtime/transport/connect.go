package transport

import (
	"context"
	"errors"
	"fmt"
	"net"

	"slices"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"tandem/algo/protocol/msg"
	"tandem/runtime/grpcnet"
)

// Connect opens a stream to the process of every role of peers, given by HOST:PORT, except those of this
// process. It waits for processes that listen and have not begun until ctx ends, and for those that do not
// listen at most reachTimeout. It returns nil when all processes have admitted this one. Connect must be
// called once, after Begin.
//
// The error names the first role of a process that cannot be reached (an *UnreachableError), that has other
// roles, or that works on another job, build or run. In that case nothing is connected, and processes that
// had admitted this one lose it.
func (n *Endpoint) Connect(ctx context.Context, peers map[msg.Address]string) error {
	n.mu.Lock()
	begun := n.begun
	n.mu.Unlock()
	if !begun {
		return errors.New("transport: Connect was called before Begin")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		link *outStream
		err  error
	}
	processes := n.processes(peers)
	results := make(chan result, len(processes))
	for address, roles := range processes {
		go func() {
			l, err := n.dial(ctx, address, roles)
			results <- result{l, err}
		}()
	}
	var links []*outStream
	var failed error
	for range processes {
		r := <-results
		if r.err == nil {
			links = append(links, r.link)
		} else if failed == nil {
			failed = r.err
			cancel()
		}
	}
	if failed == nil {
		failed = n.addStreams(links)
	}
	if failed != nil {
		for _, l := range links {
			l.close()
		}
	}
	return failed
}

// processes returns the remote roles, sorted, by the HOST:PORT of their process.
func (n *Endpoint) processes(peers map[msg.Address]string) map[string][]msg.Address {
	processes := map[string][]msg.Address{}
	for role, address := range peers {
		if !slices.Contains(n.options.Roles, role) {
			processes[address] = append(processes[address], role)
		}
	}
	for _, roles := range processes {
		slices.SortFunc(roles, msg.Address.Compare)
	}
	return processes
}

// addStreams puts streams into use.
func (n *Endpoint) addStreams(links []*outStream) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ending() {
		return errClosed
	}
	for _, l := range links {
		for _, role := range l.roles {
			if n.peer(role).fence.Incarnation != l.incarnation {
				return fmt.Errorf("transport: %v has been replaced while it was being reached", role)
			}
		}
	}
	for _, l := range links {
		for _, role := range l.roles {
			n.out[role] = l
		}
		n.goroutines.Go(l.send)
		n.goroutines.Go(l.watch)
	}
	return nil
}

var errClosed = errors.New("transport: the endpoint is closed")

// reachTimeout is how long the network may refuse to reach a process. A process listens before others learn
// its address, so it is dead, or the address is wrong. If it listens it may be slow, and is waited for.
const reachTimeout = 5 * time.Second

// dial opens a stream to the process at address, which must have these roles.
func (n *Endpoint) dial(ctx context.Context, address string, roles []msg.Address) (*outStream, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(n.running, cancel)()
	begun := time.Now()
	unreachable := func() {
		if time.Since(begun) > reachTimeout {
			cancel()
		}
	}
	for {
		l, err := n.dialOnce(ctx, address, roles, unreachable)
		if err == nil || status.Code(errors.Unwrap(err)) != codes.Unavailable || ctx.Err() != nil {
			return l, err
		}
		// The process ended before it admitted this one, or too many connections waited there.
		select {
		case <-ctx.Done():
		case <-time.After(retries.BaseDelay):
		}
	}
}

// dialOnce tries once to open a stream. It calls unreachable whenever the network does not reach the address.
func (n *Endpoint) dialOnce(ctx context.Context, address string, roles []msg.Address,
	unreachable func()) (*outStream, error) {
	var refusal atomic.Pointer[error] // the last error of the network: see noteRefusal
	options := []grpc.DialOption{
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			c, err := n.dialer().DialContext(ctx, "tcp", address)
			if err != nil && noteRefusal(&refusal, err) {
				unreachable()
			}
			return c, err
		}),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: retries, MinConnectTimeout: time.Second}),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec{})),
	}
	if own := n.options.Identity; own != nil {
		options = append(options, grpc.WithTransportCredentials(own.Client(roles, func(err error) {
			refusal.Store(&err)
			unreachable()
		})))
	}
	conn, err := grpcnet.NewClient(address, limits, options...)
	if err != nil {
		return nil, fmt.Errorf("transport: %v at %q: %w", roles[0], address, err)
	}
	l := &outStream{node: n, conn: conn, roles: roles, outbox: newOutbox(), ended: make(chan struct{})}
	if err := l.open(ctx); err != nil {
		l.close()
		if n.ending() {
			return nil, errClosed
		}
		if ctx.Err() != nil {
			reason := errors.New("something listens, but does not answer")
			if r := refusal.Load(); r != nil {
				reason = *r
			}
			return nil, &UnreachableError{roles[0], address, reason}
		}
		if status.Code(err) != codes.Unavailable {
			err = plainError(err)
		}
		return nil, fmt.Errorf("transport: %v at %s: %w", roles[0], address, err)
	}
	return l, nil
}

// noteRefusal keeps the error of a dial, and reports whether it is the network's. That of a dial which this
// end has given up says nothing about the network: it is kept only where there is no other.
func noteRefusal(refusal *atomic.Pointer[error], err error) bool {
	if errors.Is(err, context.Canceled) {
		refusal.CompareAndSwap(nil, &err)
		return false
	}
	refusal.Store(&err)
	return true
}

// UnreachableError is the error of a process that does not answer at its address.
type UnreachableError struct {
	Role    msg.Address // a role of the process
	Address string
	Reason  error
}

// Error implements error.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("transport: cannot reach %v at %s: %v; is it running there?", e.Role, e.Address,
		e.Reason)
}

// Unwrap returns the reason.
func (e *UnreachableError) Unwrap() error { return e.Reason }

// retries are short, because the processes of a job start together.
var retries = backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.5, Jitter: 0.2,
	MaxDelay: 500 * time.Millisecond}

// dialer returns a dialer whose connections notice as soon as Options.Silence demands that a machine is gone.
func (n *Endpoint) dialer() *net.Dialer {
	interval := max(n.options.Silence/3, time.Second)
	return &net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 2 * interval,
		Interval: interval, Count: 2}}
}

// open opens the stream and waits until the process has admitted this one. ctx bounds the wait, not the
// stream.
func (l *outStream) open(ctx context.Context) error {
	life, cancel := context.WithCancel(metadata.NewOutgoingContext(context.Background(),
		l.offerRing(l.node.introduce())))
	l.cancel = cancel
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	desc := &grpc.StreamDesc{StreamName: methodName, ClientStreams: true}
	stream, err := l.conn.NewStream(life, desc, "/"+serviceName+"/"+methodName, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	header, err := stream.Header()
	if err != nil {
		return err
	}
	if len(header.Get(roleKey)) == 0 {
		// The process says whether it admits this one before it ends the stream.
		if err := stream.RecvMsg(&packet{}); err != nil {
			return err
		}
		return errors.New("the process there is not one of Tandem")
	}
	there, err := parseIntroduction(header)
	if err == nil {
		err = l.node.checkPeer(there, l.roles)
	}
	if err != nil {
		return err
	}
	l.name, l.incarnation, l.stream = there.name(), there.Incarnation, stream
	l.useRing(header)
	return nil
}

// checkPeer checks that the process that was reached has these roles.
func (n *Endpoint) checkPeer(there *introduction, roles []msg.Address) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range roles {
		if !slices.Contains(there.roles, r) {
			return fmt.Errorf("that process has %s, not %v; check the addresses", names(there.roles), r)
		}
		fence := n.peer(r).fence
		fence.Run = n.identity.Run
		if err := fence.Check(&there.Identity); err != nil {
			return err
		}
	}
	return nil
}

// names returns a list of roles for messages.
func names(roles []msg.Address) string {
	var all []string
	for _, r := range roles {
		all = append(all, r.String())
	}
	return strings.Join(all, ", ")
}
