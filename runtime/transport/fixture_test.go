package transport

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tandem/algo/exec"
	"tandem/algo/protocol/msg"
	"tandem/runtime/wire"
)

// received is one message that a handler has received.
type received struct {
	m       msg.Message
	payload exec.Payload
}

// mailbox is a handler that stores what it receives.
type mailbox struct {
	messages chan received
	losses   chan error
	drops    chan error

	mu    sync.Mutex
	peers []string // lost, in order
}

func newMailbox() *mailbox {
	return &mailbox{messages: make(chan received, 1<<16), losses: make(chan error, 16),
		drops: make(chan error, 16)}
}

func (i *mailbox) Deliver(m msg.Message, payload exec.Payload, _ func()) {
	i.messages <- received{m, payload}
}

func (i *mailbox) Lost(peer string, err error) {
	i.mu.Lock()
	i.peers = append(i.peers, peer)
	i.mu.Unlock()
	i.losses <- err
}

func (i *mailbox) Dropped(_ string, _ []msg.Address, reason error) { i.drops <- reason }

// next waits for a message.
func (i *mailbox) next(t testing.TB) received {
	t.Helper()
	select {
	case r := <-i.messages:
		return r
	case err := <-i.losses:
		t.Fatal(err)
	case <-time.After(20 * time.Second):
		t.Fatal("no message came")
	}
	return received{}
}

// loss waits for the one loss.
func (i *mailbox) loss(t testing.TB, within time.Duration) error {
	t.Helper()
	select {
	case err := <-i.losses:
		return err
	case <-time.After(within):
		t.Fatal("nothing was lost")
		return nil
	}
}

// dropped waits for a process to be dropped.
func (i *mailbox) dropped(t testing.TB) error {
	t.Helper()
	select {
	case err := <-i.drops:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was dropped")
		return nil
	}
}

func worker(i int) msg.Address { return msg.Address{Role: msg.NNWorker, Index: int32(i)} }

// run is the run of all tests.
var run = wire.RunID{1, 2, 3}

// listen makes an endpoint of one NN worker, which has begun.
func listen(t testing.TB, i int, h Handler) *Endpoint {
	t.Helper()
	return listenAs(t, Options{Roles: []msg.Address{worker(i)}, Handler: h}, 0)
}

// overEach runs a test with endpoints that use rings, and with endpoints that use TCP only: see listenAs.
func overEach(t *testing.T, test func(t *testing.T)) {
	t.Run("ring", test)
	t.Run("tcp", test)
}

// overBoth is overEach for a test that waits: both run side by side, beside others that wait.
func overBoth(t *testing.T, test func(t *testing.T)) {
	t.Parallel()
	overEach(t, func(t *testing.T) {
		t.Parallel()
		test(t)
	})
}

// listenAs makes an endpoint, which has begun as an incarnation. It uses TCP only if a part of the test's
// name is "tcp".
func listenAs(t testing.TB, o Options, incarnation uint32) *Endpoint {
	t.Helper()
	o.Job, o.TCP = "a job", o.TCP || slices.Contains(strings.Split(t.Name(), "/"), "tcp")
	n, err := Listen("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Begin(run, incarnation, incarnation); err != nil {
		t.Fatal(err)
	}
	return n
}

// cluster makes endpoints of one NN worker each, all connected with each other.
func cluster(t testing.TB, mailboxes ...Handler) []*Endpoint {
	t.Helper()
	nodes := make([]*Endpoint, len(mailboxes))
	for i, h := range mailboxes {
		nodes[i] = listen(t, i, h)
	}
	connect(t, nodes)
	return nodes
}

// connect connects endpoints of one NN worker each with each other.
func connect(t testing.TB, nodes []*Endpoint) {
	t.Helper()
	addresses := map[msg.Address]string{}
	for i, n := range nodes {
		addresses[worker(i)] = n.Address()
	}
	for _, n := range nodes {
		if err := n.Connect(t.Context(), addresses); err != nil {
			t.Fatal(err)
		}
	}
}

// closeAll closes endpoints at the same time, as the processes of a job do.
func closeAll(t testing.TB, nodes []*Endpoint) {
	t.Helper()
	var wait sync.WaitGroup
	for _, n := range nodes {
		wait.Go(func() {
			if err := n.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
}

// mustLeaveNothing fails the test if goroutines of gRPC or of this package are left when everything else of
// the test is over. No other test may run beside it.
func mustLeaveNothing(t *testing.T) {
	t.Cleanup(func() {
		if left := leftAfter(2 * time.Second); left != "" {
			t.Errorf("goroutines are left:\n%s", left)
		}
	})
}

// leftAfter returns the stacks of goroutines of gRPC or of this package that do not end within a time.
func leftAfter(limit time.Duration) (left string) {
	for end := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
		if left = ours(); left == "" || time.Now().After(end) {
			return left
		}
	}
}

// ours returns the stacks of goroutines that an endpoint may have started.
func ours() string {
	buffer := make([]byte, 1<<20)
	var found []string
	for _, stack := range strings.Split(string(buffer[:runtime.Stack(buffer, true)]), "\n\n") {
		if strings.Contains(stack, "google.golang.org/grpc") ||
			strings.Contains(stack, "transport.(*Endpoint)") ||
			strings.Contains(stack, "transport.(*outStream)") {
			found = append(found, stack)
		}
	}
	return strings.Join(found, "\n\n")
}

// within returns a context for a connection that will fail.
func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// unused returns an address at which nothing listens. Its port is below those that the system gives to
// whoever asks for any, so that no other process takes it before the test does.
func unused(t *testing.T) string {
	for range 1000 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(10_000)))
		if err != nil {
			continue
		}
		if err = l.Close(); err != nil {
			t.Fatal(err)
		}
		return l.Addr().String()
	}
	t.Fatal("no port is free")
	return ""
}

// rows makes a message from one NN worker to another.
func rows(from, to, step int) msg.Message {
	return msg.Message{Kind: msg.Rows, From: worker(from), To: worker(to), Step: int32(step)}
}

func name(i int) string { return fmt.Sprint(worker(i)) }

// refusalsOf returns how often an endpoint has refused something for a reason.
func refusalsOf(n *Endpoint, reason wire.Reason) (times int) {
	for _, c := range n.refusals.Counts() {
		if c.Reason == string(reason) {
			times += c.Times
		}
	}
	return times
}

// Send sends one message.
func (n *Endpoint) Send(m msg.Message, payload exec.Payload) error {
	return n.SendAll([]exec.Letter{{Message: m, Payload: payload}})
}
