package transport

import (
	"cmp"
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tandem/algo/protocol/msg"
)

// Processes start in any order.
func TestConnectWaitsForLateProcesses(t *testing.T) {
	mustLeaveNothing(t)
	address := unused(t)
	first := listen(t, 0, newMailbox())
	connected := make(chan error, 1)
	go func() {
		connected <- first.Connect(t.Context(),
			map[msg.Address]string{worker(0): first.Address(), worker(1): address})
	}()
	time.Sleep(200 * time.Millisecond)
	second, err := Listen(address, Options{Roles: []msg.Address{worker(1), worker(2)}, Job: "a job",
		Handler: newMailbox()})
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Begin(run, 0, 0); err != nil {
		t.Fatal(err)
	}
	if err := <-connected; err != nil {
		t.Error(err)
	}
	closeAll(t, []*Endpoint{first, second})
}

func TestConnectNamesTheRole(t *testing.T) {
	t.Parallel()
	other, err := Listen("127.0.0.1:0", Options{Roles: []msg.Address{worker(3), worker(4)},
		Job: "another job", Handler: newMailbox()})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Abort()
	nobody := unused(t)
	server := msg.Address{Role: msg.EmbeddingPS, Index: 2}
	for _, c := range []struct {
		role    msg.Address
		address string // "": that of nn-worker 5
		want    string
	}{
		{server, nobody, "transport: cannot reach embedding-ps 2 at " + nobody + ": dial tcp " + nobody +
			": connect: connection refused; is it running there?"},
		{server, "no port",
			`transport: cannot reach embedding-ps 2 at no port: dial tcp: address no port: ` +
				`missing port in address`},
		{server, "", "transport: embedding-ps 2 at SAME: that process has nn-worker 5, not embedding-ps 2; " +
			"check the addresses"},
		{worker(3), other.Address(), "transport: nn-worker 3 at " + other.Address() +
			": it works on job another job, nn-worker 0 on job a job; run the same build with the same job " +
			"file everywhere"},
	} {
		same, n := listen(t, 5, newMailbox()), listen(t, 0, newMailbox())
		address := cmp.Or(c.address, same.Address())
		c.want = strings.ReplaceAll(c.want, "SAME", address)
		start := time.Now()
		err := n.Connect(within(t, time.Second),
			map[msg.Address]string{c.role: address, worker(5): same.Address()})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v\nwant %s", err, c.want)
		}
		if unreachable := strings.Contains(c.want, "cannot reach"); unreachable !=
			errors.As(err, new(*UnreachableError)) {
			t.Errorf("%v: unreachable is %v", err, unreachable)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%v took %v", err, took)
		}
		n.Abort()
		same.Abort()
	}
}

// A dial that is given up does not hide what the network said before, and the network may say something else.
func TestDialThatIsGivenUpHidesNoRefusal(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, givenUp := new(net.Dialer).DialContext(ended, "tcp", unused(t))
	var refusal atomic.Pointer[error]
	refused, reset := errors.New("connection refused"), errors.New("connection reset")
	for i, c := range []struct {
		err, kept error
		network   bool
	}{{givenUp, givenUp, false}, {refused, refused, true}, {givenUp, refused, false}, {reset, reset, true}} {
		if network := noteRefusal(&refusal, c.err); network != c.network || *refusal.Load() != c.kept {
			t.Errorf("dial %d: %v is kept, of the network: %v", i, *refusal.Load(), network)
		}
	}
}

// Connect does not wait forever for a listener that sends nothing.
func TestConnectToSilentListener(t *testing.T) {
	mustLeaveNothing(t)
	stranger, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stranger.Close(); err != nil {
			t.Error(err)
		}
	}()
	n := listen(t, 0, newMailbox())
	defer n.Abort()
	err = n.Connect(within(t, 300*time.Millisecond),
		map[msg.Address]string{worker(1): stranger.Addr().String()})
	want := "transport: cannot reach nn-worker 1 at " + stranger.Addr().String() +
		": something listens, but does not answer"
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v\nwant %s", err, want)
	}
}

func TestConnectAfterClose(t *testing.T) {
	mustLeaveNothing(t)
	a, b := listen(t, 0, newMailbox()), listen(t, 1, newMailbox())
	closeAll(t, []*Endpoint{a})
	if err := a.Connect(t.Context(), map[msg.Address]string{worker(1): b.Address()}); err == nil ||
		!strings.Contains(err.Error(), "closed") {
		t.Error(err)
	}
	b.Abort()
}
