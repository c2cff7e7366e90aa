package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"tandem/algo/msg"
)

// Connect opens a stream to the process of every role of peers, by host:port,
// except those of this process. It waits for processes that are not up yet until
// ctx ends, and returns when all have let this one in.
//
// The error names the first role of a process that cannot be reached, that has
// other roles, or that works on another job or build. Nothing is connected then,
// and processes that had let this one in lose it. Connect is called once.
func (n *Node) Connect(ctx context.Context, peers map[msg.Address]string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		link *link
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
	var links []*link
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
		failed = n.adopt(links)
	}
	if failed != nil {
		for _, l := range links {
			l.close()
		}
	}
	return failed
}

// processes returns the roles elsewhere, in order, by host:port.
func (n *Node) processes(peers map[msg.Address]string) map[string][]msg.Address {
	processes := map[string][]msg.Address{}
	for role, address := range peers {
		if !slices.Contains(n.options.Roles, role) {
			processes[address] = append(processes[address], role)
		}
	}
	for _, roles := range processes {
		slices.SortFunc(roles, func(a, b msg.Address) int {
			return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.Index, b.Index))
		})
	}
	return processes
}

// adopt puts links into use.
func (n *Node) adopt(links []*link) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ending {
		return errors.New("transport: connecting a node that is closed")
	}
	for _, l := range links {
		for _, role := range l.roles {
			n.links[role] = l
		}
		n.goroutines.Go(l.send)
		n.goroutines.Go(l.watch)
	}
	return nil
}

// dial opens a stream to the process at an address, which is to have some
// roles.
func (n *Node) dial(ctx context.Context, address string, roles []msg.Address) (*link, error) {
	var refusal atomic.Pointer[error] // the last one of the network
	conn, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, "tcp", address)
			if err != nil {
				refusal.Store(&err)
			}
			return c, err
		}),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: retries, MinConnectTimeout: time.Second}),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec{}), grpc.MaxCallSendMsgSize(math.MaxInt32)),
		grpc.WithIdleTimeout(0), grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(),
	)
	if err != nil {
		return nil, fmt.Errorf("transport: %v at %q: %w", roles[0], address, err)
	}
	l := &link{node: n, conn: conn, roles: roles, box: newOutbox(), ended: make(chan struct{})}
	if err := l.open(ctx); err != nil {
		l.close()
		if ctx.Err() != nil {
			reason := errors.New("something listens, but does not answer")
			if r := refusal.Load(); r != nil {
				reason = *r
			}
			return nil, fmt.Errorf("transport: cannot reach %v at %s: %w; is it running there?", roles[0], address, reason)
		}
		return nil, fmt.Errorf("transport: %v at %s: %w", roles[0], address, plain(err))
	}
	return l, nil
}

var (
	// dialer finds out within 5 seconds that a machine is gone.
	dialer = net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: pingAfter, Interval: time.Second, Count: 2}}
	// retries are short, because the processes of a job start together.
	retries = backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.5, Jitter: 0.2, MaxDelay: 500 * time.Millisecond}
)

// open starts the stream and waits until the other end lets this one in. ctx
// bounds the wait, not the stream.
func (l *link) open(ctx context.Context) error {
	life, cancel := context.WithCancel(metadata.NewOutgoingContext(context.Background(), l.node.introduction()))
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
	there := header.Get(roleKey)
	if len(there) == 0 {
		// Let in or not, the other end says so before it ends the stream.
		if err := stream.RecvMsg(&packet{}); err != nil {
			return err
		}
		return errors.New("what answers there is no role of ours")
	}
	for _, r := range l.roles {
		if !slices.Contains(there, r.String()) {
			return fmt.Errorf("that process has %s, not %v; check the addresses", strings.Join(there, ", "), r)
		}
	}
	l.name, l.stream = there[0], stream
	return nil
}
