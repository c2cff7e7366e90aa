package transport

import (
	"strings"
	"testing"
	"time"

	"tandem/algo/protocol/msg"
	"tandem/runtime/wire"
)

// restartable is the options of an endpoint to which all roles may come back.
func restartable(i int, h Handler) Options {
	return Options{Roles: []msg.Address{worker(i)}, Handler: h,
		Restartable: func(msg.Address) bool { return true }}
}

// A stream that arrives before Begin waits for it.
func TestStreamsWaitForBegin(t *testing.T) {
	mustLeaveNothing(t)
	in := newMailbox()
	late, err := Listen("127.0.0.1:0", Options{Roles: []msg.Address{worker(0)}, Job: "a job", Handler: in})
	if err != nil {
		t.Fatal(err)
	}
	n := listen(t, 1, newMailbox())
	connected := make(chan error, 1)
	go func() { connected <- n.Connect(t.Context(), map[msg.Address]string{worker(0): late.Address()}) }()
	for !hasIntroduced(late) {
		time.Sleep(time.Millisecond)
	}
	select {
	case err := <-connected:
		t.Fatal("admitted before Begin:", err)
	default:
	}
	if err := late.Begin(run, 0, 0); err != nil {
		t.Fatal(err)
	}
	if err := <-connected; err != nil {
		t.Fatal(err)
	}
	if err := n.Send(rows(1, 0, 5), nil); err != nil {
		t.Fatal(err)
	}
	if m := in.next(t).m; m.Step != 5 {
		t.Error(m)
	}
	if err := late.Begin(run, 0, 0); err == nil {
		t.Error("Begin succeeds twice")
	}
	closeAll(t, []*Endpoint{n, late})
}

// hasIntroduced reports whether a stream waits for admission.
func hasIntroduced(n *Endpoint) bool {
	n.admission.mu.Lock()
	defer n.admission.mu.Unlock()
	return len(n.admission.pending) > 0 && n.admission.pending[0].introduced
}

func TestConnectNeedsBegin(t *testing.T) {
	n, err := Listen("127.0.0.1:0", Options{Roles: []msg.Address{worker(0)}, Handler: newMailbox()})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Abort()
	if err := n.Connect(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "before Begin") {
		t.Error(err)
	}
}

// Processes of two runs of one job do not mix.
func TestOtherRunIsRefused(t *testing.T) {
	n := listen(t, 0, newMailbox())
	defer n.Abort()
	stray, err := Listen("127.0.0.1:0", Options{Roles: []msg.Address{worker(1)}, Job: "a job",
		Handler: newMailbox()})
	if err != nil {
		t.Fatal(err)
	}
	defer stray.Abort()
	if err := stray.Begin(wire.RunID{9}, 0, 0); err != nil {
		t.Fatal(err)
	}
	err = stray.Connect(t.Context(), map[msg.Address]string{worker(0): n.Address()})
	if err == nil || !strings.Contains(err.Error(), "other run: run: it belongs to run 09") {
		t.Error(err)
	}
	if c := refusalsOf(n, wire.OtherRun); c != 1 {
		t.Errorf("%d refusals are counted", c)
	}
}

// A second process that claims a live role is refused, with any introduction, and the first goes on.
func TestSecondClaimantIsRefused(t *testing.T) {
	mustLeaveNothing(t)
	in := newMailbox()
	nodes := cluster(t, in, newMailbox())
	for _, incarnation := range []uint32{0, 1} {
		impostor := listenAs(t, Options{Roles: []msg.Address{worker(1)}, Handler: newMailbox()}, incarnation)
		err := impostor.Connect(within(t, 300*time.Millisecond),
			map[msg.Address]string{worker(0): nodes[0].Address()})
		want := map[uint32]string{0: "claimed: role: nn-worker 1 is connected",
			1: "cannot reach nn-worker 0"}[incarnation]
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
		impostor.Abort()
	}
	if err := nodes[1].Send(rows(1, 0, 3), nil); err != nil {
		t.Error(err)
	}
	if m := in.next(t).m; m.Step != 3 {
		t.Error(m)
	}
	closeAll(t, nodes)
}

// A role that has died comes back as the next incarnation. It waits until the host has announced it, and then
// messages travel in both directions. Messages that were sent to it in between are discarded.
func TestReplace(t *testing.T) { overEach(t, testReplace) }

func testReplace(t *testing.T) {
	mustLeaveNothing(t)
	in, first, second := newMailbox(), newMailbox(), newMailbox()
	n := listenAs(t, restartable(0, in), 0)
	old := listen(t, 1, first)
	connect(t, []*Endpoint{n, old})
	old.Abort()
	in.loss(t, 5*time.Second)
	if err := n.Send(rows(0, 1, 1), nil); err != nil {
		t.Error("a role that may return is away:", err)
	}

	fresh := listenAs(t, Options{Roles: []msg.Address{worker(1)}, Handler: second}, 1)
	connected := make(chan error, 1)
	go func() { connected <- fresh.Connect(t.Context(), map[msg.Address]string{worker(0): n.Address()}) }()
	for !hasIntroduced(n) {
		time.Sleep(time.Millisecond)
	}
	if err := n.Replace(t.Context(), []msg.Address{worker(1)}, fresh.Address(), 1, 1); err != nil {
		t.Fatal(err)
	}
	if err := <-connected; err != nil {
		t.Fatal(err)
	}
	for _, send := range []error{n.Send(rows(0, 1, 2), nil), fresh.Send(rows(1, 0, 3), nil)} {
		if send != nil {
			t.Error(send)
		}
	}
	if m := second.next(t).m; m.Step != 2 {
		t.Error(m)
	}
	if m := in.next(t).m; m.Step != 3 {
		t.Error(m)
	}
	if err := n.Fence([]msg.Address{worker(1)}, 0, 1); err == nil ||
		!strings.Contains(err.Error(), "incarnation 0 of nn-worker 1 in view 1, after incarnation 1") {
		t.Error(err)
	}
	fresh.Abort() // a role that dies twice is lost twice
	in.loss(t, 5*time.Second)
	closeAll(t, []*Endpoint{n})
}

// A process of several roles comes back with all of them at once: no role waits for a fence of its own, and
// one stream in each direction carries the messages of all.
func TestReplaceOfSeveralRoles(t *testing.T) { overEach(t, testReplaceOfSeveralRoles) }

func testReplaceOfSeveralRoles(t *testing.T) {
	mustLeaveNothing(t)
	in, second := newMailbox(), newMailbox()
	n := listenAs(t, restartable(0, in), 0)
	roles := []msg.Address{worker(1), worker(2)}
	old := listenAs(t, Options{Roles: roles, Handler: newMailbox()}, 0)
	if err := n.Connect(t.Context(), map[msg.Address]string{worker(1): old.Address(),
		worker(2): old.Address()}); err != nil {
		t.Fatal(err)
	}
	old.Abort()
	in.loss(t, 5*time.Second)

	fresh := listenAs(t, Options{Roles: roles, Handler: second}, 1)
	connected := make(chan error, 1)
	go func() { connected <- fresh.Connect(t.Context(), map[msg.Address]string{worker(0): n.Address()}) }()
	if err := n.Replace(within(t, 5*time.Second), roles, fresh.Address(), 1, 1); err != nil {
		t.Fatal(err)
	}
	if err := <-connected; err != nil {
		t.Fatal(err)
	}
	for role := 1; role <= 2; role++ {
		if err := n.Send(rows(0, role, role), nil); err != nil {
			t.Error(err)
		}
		if m := second.next(t).m; m.To != worker(role) {
			t.Error(m)
		}
		if err := fresh.Send(rows(role, 0, role), nil); err != nil {
			t.Error(err)
		}
		if m := in.next(t).m; m.From != worker(role) {
			t.Error(m)
		}
	}
	if err := n.Fence(roles[1:], 0, 1); err == nil ||
		!strings.Contains(err.Error(), "incarnation 0 of nn-worker 2 in view 1, after incarnation 1") {
		t.Error(err)
	}
	closeAll(t, []*Endpoint{n, fresh})
}

// The streams of an old incarnation that is still alive are closed by the fence, and their end is no loss.
func TestFenceClosesOldStreams(t *testing.T) { overEach(t, testFenceClosesOldStreams) }

func testFenceClosesOldStreams(t *testing.T) {
	mustLeaveNothing(t)
	in, alive := newMailbox(), newMailbox()
	n := listenAs(t, restartable(0, in), 0)
	old := listen(t, 1, alive)
	connect(t, []*Endpoint{n, old})
	if err := n.Fence([]msg.Address{worker(1)}, 1, 1); err != nil {
		t.Fatal(err)
	}
	alive.loss(t, 5*time.Second)
	if err := old.Connect(within(t, 300*time.Millisecond),
		map[msg.Address]string{worker(0): n.Address()}); err == nil ||
		!strings.Contains(err.Error(), "stale: incarnation: 0 was replaced by 1") {
		t.Error(err)
	}
	old.Abort()
	closeAll(t, []*Endpoint{n}) // without waiting for a role that is away
	if len(in.losses) > 0 {
		t.Error(<-in.losses)
	}
}

// Frames of an incarnation that was replaced are discarded and counted, and their sender is not dropped.
func TestStaleFramesAreDiscarded(t *testing.T) {
	in := newMailbox()
	n := listenAs(t, restartable(0, in), 0)
	defer n.Abort()
	c := &inStream{introduction: introduction{Identity: wire.Identity{Run: run},
		roles: []msg.Address{worker(1)}}}
	frame := encoded(t, wire.Identity{Run: run}, rows(1, 0, 1), nil)
	if err := n.deliver(c, frame); err != nil || len(in.messages) != 1 {
		t.Fatalf("%v, %d messages", err, len(in.messages))
	}
	c.stale.Store(true)
	if err := n.deliver(c, append(frame, frame...)); err != nil || len(in.messages) != 1 ||
		refusalsOf(n, wire.Stale) != 2 {
		t.Errorf("%v, %d messages, %d counted as stale", err, len(in.messages), refusalsOf(n, wire.Stale))
	}
}

// A frame that waits for room in the inbox while its role is replaced is discarded, and uses no room.
func TestWaitingFrameOfReplacedRoleIsDiscarded(t *testing.T) {
	overEach(t, testWaitingFrameOfReplacedRoleIsDiscarded)
}

func testWaitingFrameOfReplacedRoleIsDiscarded(t *testing.T) {
	in := newMailbox()
	o := restartable(0, in)
	o.Inbox = Credit{Messages: 10, Bytes: 100}
	n := listenAs(t, o, 0)
	defer n.Abort()
	c := &inStream{introduction: introduction{Identity: wire.Identity{Run: run},
		roles: []msg.Address{worker(1)}}}
	h := wire.Header{Message: rows(1, 0, 1), Size: 80}
	if kept, err := n.inbox.add(rows(1, 0, 0), 80); !kept || err != nil {
		t.Fatal(kept, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- n.admitMessage(c, &h, nil, nil) }() // 160 bytes do not fit
	c.stale.Store(true)
	n.inbox.reset(worker(1))
	if err := <-ended; err != nil || len(in.messages) != 0 || refusalsOf(n, wire.Stale) != 1 {
		t.Errorf("%v, %d messages, %d counted as stale", err, len(in.messages), refusalsOf(n, wire.Stale))
	}
	if kept, err := n.inbox.add(rows(1, 0, 1), 80); !kept || err != nil {
		t.Errorf("the place is not free: %t, %v", kept, err)
	}
}

// A fence of the incarnation that is already connected, as Replace sets one after Fence, keeps its messages
// counted.
func TestFenceOfSameIncarnationKeepsCount(t *testing.T) {
	o := restartable(0, newMailbox())
	o.Inbox = Credit{Messages: 2}
	n := listenAs(t, o, 0)
	defer n.Abort()
	for step := range 2 {
		if err := n.Fence([]msg.Address{worker(1)}, 1, 1); err != nil {
			t.Fatal(err)
		}
		if kept, err := n.inbox.add(rows(1, 0, step), 80); !kept || err != nil {
			t.Fatal(kept, err)
		}
	}
	if err := n.Fence([]msg.Address{worker(1)}, 1, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := n.inbox.add(rows(1, 0, 2), 80); err == nil {
		t.Error("a third message is kept, and the inbox holds two")
	}
}

// Replace connects to the announced incarnation only, and ends with its context or endpoint.
func TestReplaceRefuses(t *testing.T) {
	mustLeaveNothing(t)
	n := listenAs(t, restartable(0, newMailbox()), 0)
	other := listenAs(t, Options{Roles: []msg.Address{worker(1)}, Handler: newMailbox()}, 1)
	err := n.Replace(within(t, 5*time.Second), []msg.Address{worker(1)}, other.Address(), 2, 2)
	if err == nil || !strings.Contains(err.Error(), "stale: incarnation: 1 was replaced by 2") {
		t.Error(err)
	}
	away := unused(t)
	if err := n.Replace(within(t, 200*time.Millisecond), []msg.Address{worker(1)}, away, 3, 3); err == nil ||
		!strings.Contains(err.Error(), "cannot reach nn-worker 1") {
		t.Error(err)
	}
	replaced := make(chan error, 1)
	go func() { replaced <- n.Replace(t.Context(), []msg.Address{worker(1)}, away, 4, 4) }()
	closeAll(t, []*Endpoint{n})
	if err := <-replaced; err == nil || !strings.Contains(err.Error(), "closed") {
		t.Error(err)
	}
	other.Abort()
}

// A process that joins later learns of earlier replacements by Fence.
func TestConnectToAnIncarnation(t *testing.T) {
	mustLeaveNothing(t)
	third := listenAs(t, restartable(1, newMailbox()), 3)
	n := listen(t, 0, newMailbox())
	peers := map[msg.Address]string{worker(1): third.Address()}
	if err := n.Connect(within(t, 5*time.Second), peers); err == nil ||
		!strings.Contains(err.Error(), "unannounced: incarnation: 3, but the host has announced 0") {
		t.Error(err)
	}
	n.Abort()
	third.Abort()

	third = listenAs(t, restartable(1, newMailbox()), 3)
	n = listen(t, 0, newMailbox())
	if err := n.Fence([]msg.Address{worker(1)}, 3, 3); err != nil {
		t.Fatal(err)
	}
	if err := n.Connect(within(t, 5*time.Second),
		map[msg.Address]string{worker(1): third.Address()}); err != nil {
		t.Error(err)
	}
	closeAll(t, []*Endpoint{n, third})
}
