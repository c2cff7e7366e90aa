package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/metadata"

	"tandem/algo/exec"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/runtime/ring"
	"tandem/runtime/wire"
)

// needRings skips a test where there are no rings.
func needRings(t *testing.T) {
	t.Helper()
	w, err := ring.New(ring.DefaultSize)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
}

// usesRing reports whether frames from one NN worker to another travel in a ring.
func usesRing(n *Endpoint, to int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.out[worker(to)].ring != nil
}

// Processes of one machine use rings, unless one of them must not.
func TestRingsAreUsed(t *testing.T) {
	needRings(t)
	for _, c := range []struct{ tcp [2]bool }{{}, {[2]bool{true, false}}, {[2]bool{false, true}}} {
		var nodes []*Endpoint
		mailboxes := []*mailbox{newMailbox(), newMailbox()}
		for i, in := range mailboxes {
			nodes = append(nodes, listenAs(t,
				Options{Roles: []msg.Address{worker(i)}, Handler: in, TCP: c.tcp[i]}, 0))
		}
		connect(t, nodes)
		for i, n := range nodes {
			if got, want := usesRing(n, 1-i), c.tcp == [2]bool{}; got != want {
				t.Errorf("TCP %v: ring %t, want %t", c.tcp, got, want)
			}
			if err := n.Send(rows(i, 1-i, 3), make(exec.DenseShard, 2*ring.DefaultSize)); err != nil {
				t.Fatal(err)
			}
		}
		for _, in := range mailboxes {
			if m := in.next(t).m; m.Step != 3 {
				t.Error(m)
			}
		}
		closeAll(t, nodes)
	}
}

// A ring frees a payload once, when it has a copy. A stream frees none, because gRPC may still need it.
func TestRingsFreePayloads(t *testing.T) {
	needRings(t)
	for _, tcp := range []bool{false, true} {
		var nodes []*Endpoint
		mailboxes := []*mailbox{newMailbox(), newMailbox()}
		for i, in := range mailboxes {
			nodes = append(nodes, listenAs(t,
				Options{Roles: []msg.Address{worker(i)}, Handler: in, TCP: tcp}, 0))
		}
		connect(t, nodes)
		sizes := []int{1, 1000, 2 * ring.DefaultSize}
		freed := make([]atomic.Int32, len(sizes))
		for i, size := range sizes {
			payload := make(exec.DenseShard, size)
			payload[size-1] = 7
			free := func() {
				clear(payload)
				freed[i].Add(1)
			}
			if err := nodes[0].SendAll([]exec.Letter{{Message: rows(0, 1, i), Payload: payload,
				Free: free}}); err != nil {
				t.Fatal(err)
			}
		}
		for _, size := range sizes {
			if got := mailboxes[1].next(t).payload.(exec.DenseShard); got[size-1] != 7 {
				t.Errorf("TCP %t: a payload of %d values was freed too early", tcp, size)
			}
		}
		closeAll(t, nodes)
		for i := range freed {
			if n := freed[i].Load(); n != 1 && !tcp || n != 0 && tcp {
				t.Errorf("TCP %t: a payload of %d values is freed %d times", tcp, sizes[i], n)
			}
		}
	}
}

// Endpoints leave no file open and no memory mapped.
func TestRingsAreFreed(t *testing.T) {
	needRings(t)
	rings := func() (open int) {
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("this system does not tell which files a process has open")
		}
		for _, f := range files {
			if name, err := os.Readlink("/proc/self/fd/" + f.Name()); err == nil &&
				(strings.Contains(name, "tandem-ring") || strings.HasPrefix(name, "pipe:")) {
				open++
			}
		}
		maps, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Fatal(err)
		}
		return open + strings.Count(string(maps), "tandem-ring")
	}
	before := rings()
	for range 3 {
		closeAll(t, cluster(t, newMailbox(), newMailbox()))
		nodes := cluster(t, newMailbox(), newMailbox())
		nodes[0].Abort()
		nodes[1].Abort()
	}
	if after := rings(); after != before {
		t.Errorf("%d rings and pipes are open or mapped, %d before", after, before)
	}
}

// An offer that cannot be opened, though it comes from this machine, is refused and logged once. One of
// another machine is not logged.
func TestOffersThatCannotBeOpened(t *testing.T) {
	needRings(t)
	w, err := ring.New(ring.DefaultSize)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	machine, _, _ := strings.Cut(w.Offer(), "/")
	var mu sync.Mutex
	var lines []string
	n := listenAs(t, Options{Roles: []msg.Address{worker(0)}, Handler: newMailbox(), Log: func(line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}}, 0)
	defer n.Abort()
	offer := func(text string) *ring.Reader {
		return n.openRing(metadata.NewIncomingContext(context.Background(), metadata.Pairs(ringKey, text)))
	}
	if offer("elsewhere/1/2/"+strings.Repeat("00", 16)) != nil || len(lines) > 0 {
		t.Error(lines)
	}
	for range 2 {
		if offer(machine+"/1/999999/"+strings.Repeat("00", 16)) != nil {
			t.Error("it is open")
		}
	}
	if len(lines) != 1 || !strings.HasPrefix(lines[0], "transport: messages to processes of this machine "+
		"travel by TCP: ring: cannot reach the memory of process 1: ") {
		t.Errorf("%q", lines)
	}
}

// Frames on a stream whose frames travel in a ring drop the peer: they would have no order.
func TestFramesBesideTheRing(t *testing.T) {
	needRings(t)
	in := newMailbox()
	victim := listen(t, 0, in)
	defer victim.Abort()
	n, _ := hostile(t, 2, victim)
	l := n.out[worker(0)]
	frame := encoded(t, n.identity, rows(2, 0, 1), nil)
	if err := l.stream.SendMsg(&packet{segments: [][]byte{frame}}); err != nil {
		t.Fatal(err)
	}
	if err := in.dropped(t); !strings.Contains(err.Error(),
		"packet on a stream whose frames travel in a ring") {
		t.Error(err)
	}
}

// A ring whose positions are false ends the membership of the peer, and not as a loss.
func TestRingErrorsAreRefusals(t *testing.T) {
	refusal := new(wire.Refusal)
	if err := ringError(ring.ErrCorrupt, false); !errors.As(err, &refusal) ||
		refusal.Reason != wire.Malformed {
		t.Error(err)
	}
	if err := ringError(io.EOF, false); err != io.EOF {
		t.Error(err)
	}
}

// Send does not wait while the ring is full and the receiver handles nothing. Heartbeats may wait: a receiver
// that handles nothing does not wait for any.
func TestFullRingDoesNotStopSend(t *testing.T) {
	needRings(t)
	in := newMailbox()
	victim := listenAs(t, Options{Roles: []msg.Address{worker(0)}, Handler: in,
		Inbox: Credit{Bytes: unit.Bytes(ring.DefaultSize)}}, 0)
	n := listen(t, 1, newMailbox())
	connect(t, []*Endpoint{victim, n})
	payload := make(exec.DenseShard, ring.DefaultSize/8) // half of the ring
	const count = 20
	for step := range count {
		if err := n.Send(rows(1, 0, step), payload); err != nil {
			t.Fatal(err)
		}
	}
	for step := range count {
		m := in.next(t).m
		if m.Step != int32(step) {
			t.Fatalf("%v, want step %d", m, step)
		}
		victim.Handled(m)
	}
	closeAll(t, []*Endpoint{n, victim})
}

// counting is a handler that counts what it receives.
type counting struct{ messages *int }

func (c counting) Deliver(msg.Message, exec.Payload, func()) { *c.messages++ }
func (counting) Lost(string, error)                          {}
func (counting) Dropped(string, []msg.Address, error)        {}

// FuzzRing delivers any bytes that a ring may hold. This must not panic, and frames that arrive whole before
// the first that is refused are delivered.
func FuzzRing(f *testing.F) {
	id := wire.Identity{Run: run}
	small := encoded(f, id, rows(1, 0, 1), exec.DenseShard{1, 2, 3})
	large := encoded(f, id, rows(1, 0, 2), make(exec.DenseShard, packetSize))
	f.Add(small)
	f.Add(slices.Concat(small, large, small))
	f.Add(slices.Concat(small, large[:1000]))
	f.Add(make([]byte, wire.HeaderSize))
	f.Fuzz(func(t *testing.T, data []byte) {
		delivered, whole := 0, 0
		n := &Endpoint{options: Options{Roles: []msg.Address{worker(0)}, Handler: counting{&delivered}}}
		c := &inStream{introduction: introduction{Identity: id, roles: []msg.Address{worker(1)}}}
		for rest := data; ; whole++ {
			h, _, more, err := wire.Decode(rest)
			if err != nil || n.check(c, &h) != nil {
				break
			}
			rest = more
		}
		err := n.receiveRing(c, bytes.NewReader(data))
		if refusal := (*wire.Refusal)(nil); err != io.EOF && !errors.As(err, &refusal) {
			t.Fatal(err)
		}
		if delivered != whole {
			t.Errorf("%d messages, want %d: %v", delivered, whole, err)
		}
	})
}
