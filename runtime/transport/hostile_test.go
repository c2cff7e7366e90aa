package transport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"tandem/algo/exec"
	"tandem/algo/numeric/compress"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/runtime/wire"
)

const (
	// growthMax is by how much the resident memory of a victim may grow without a race detector.
	growthMax = 64 << 20
	// heapGrowthMax is by how much its heap may grow, garbage included: less than a frame that is announced.
	heapGrowthMax = 256 << 20
)

// encoded returns a frame in one piece.
func encoded(t testing.TB, id wire.Identity, m msg.Message, payload exec.Payload) []byte {
	t.Helper()
	f, err := wire.Encode(id, m, payload)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(f.Segments...)
}

// resident returns the resident memory of this process in bytes.
func resident(t testing.TB) int {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("this system does not tell the resident memory of a process")
	}
	var total, pages int
	if _, err := fmt.Sscan(string(text), &total, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// heap returns the bytes of the heap that objects hold, those reserved and not yet written included.
func heap() int {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int(sample[0].Value.Uint64())
}

// mustStayBounded fails the test if its memory grows by more than its bounds until stop is called.
func mustStayBounded(t *testing.T) (stop func()) {
	debug.FreeOSMemory()
	before, most := resident(t), 0
	heapBefore, heapMost := heap(), 0
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			most = max(most, resident(t)-before)
			heapMost = max(heapMost, heap()-heapBefore)
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	})
	return func() {
		close(done)
		wait.Wait()
		t.Logf("resident memory grew by %d KiB, the heap by %d KiB", most>>10, heapMost>>10)
		if most > shadow*growthMax {
			t.Errorf("resident memory grew by %d MiB, want at most %d", most>>20, shadow*growthMax>>20)
		}
		if heapMost > heapGrowthMax {
			t.Errorf("the heap grew by %d MiB, want at most %d", heapMost>>20, heapGrowthMax>>20)
		}
	}
}

// undisturbed makes worker 1 send to worker 0 until stop is called. Then every message must have arrived, in
// order.
func undisturbed(t *testing.T, from *Endpoint, in *mailbox) (stop func()) {
	done := make(chan struct{})
	sent := 0
	var wait sync.WaitGroup
	wait.Go(func() {
		payload := exec.Values{Values: compress.Pack(compress.FP32, make([]float32, 1000))}
		for ; ; sent++ {
			select {
			case <-done:
				return
			case <-time.After(100 * time.Microsecond):
			}
			if err := from.Send(rows(1, 0, sent), payload); err != nil {
				t.Error(err)
				return
			}
		}
	})
	return func() {
		close(done)
		wait.Wait()
		for step := range sent {
			if m := in.next(t).m; m.Step != int32(step) || m.From != worker(1) {
				t.Fatalf("%v, want step %d of worker 1", m, step)
			}
		}
		if sent == 0 {
			t.Error("the good peer sent nothing")
		}
	}
}

// hostile returns a function that sends bytes to worker 0 from a process that was admitted as incarnation 2.
func hostile(t *testing.T, i int, to *Endpoint) (n *Endpoint, send func(frame []byte)) {
	n = listenAs(t, Options{Roles: []msg.Address{worker(i)}, Handler: newMailbox()}, 2)
	if err := to.Fence([]msg.Address{worker(i)}, 2, 2); err != nil {
		t.Fatal(err)
	}
	if err := n.Connect(t.Context(), map[msg.Address]string{worker(0): to.Address()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Abort)
	return n, func(frame []byte) {
		n.out[worker(0)].outbox.add(outFrame{Frame: wire.Frame{Segments: [][]byte{frame}, Size: len(frame)}})
	}
}

// A member that sends an invalid frame, such as one of another run or from before its process was replaced,
// is dropped, for the right reason, which the log names and the metrics count. No other member is.
func TestMisbehaviourDropsThePeer(t *testing.T) { overEach(t, testMisbehaviourDropsThePeer) }

func testMisbehaviourDropsThePeer(t *testing.T) {
	in, counted, logged := newMailbox(), &journal{}, &journal{}
	victim := listenAs(t, Options{
		Roles: []msg.Address{worker(0)}, Handler: in, Refused: counted.add, Log: logged.add,
		Admit: func(m msg.Message, _ exec.Payload) error {
			if m.Step < 0 {
				return errors.New("step: below 0")
			}
			return nil
		},
		Limit: func(wire.Header) unit.Bytes { return 4 << 20 },
	}, 0)
	friend := listen(t, 1, newMailbox())
	connect(t, []*Endpoint{victim, friend})
	bounded, good := mustStayBounded(t), undisturbed(t, friend, in)
	number := func(at int, v uint32) func(b []byte) {
		return func(b []byte) { binary.LittleEndian.PutUint32(b[at:], v) }
	}
	for i, c := range []struct {
		field  string
		change func(frame []byte)
		reason wire.Reason
	}{
		{"frame of version 1", func(b []byte) { b[0] = 1 }, wire.Malformed},
		{"unknown code", func(b []byte) { b[1] = 77 }, wire.Malformed},
		{"unknown kind 200", func(b []byte) { b[2] = 200 }, wire.Malformed},
		{"invalid address", number(12, 1<<31), wire.Malformed},
		{"frame length 7", number(8, 7), wire.Malformed},
		{"length: frame of 1073741824 bytes, want at most 4194304", number(8, 1<<30), wire.Inadmissible},
		{"10000 × 4 bytes announced", nil, wire.Malformed},
		{"run: it belongs to run 00", func(b []byte) { b[48] ^= 1 }, wire.OtherRun},
		{"incarnation: 7, but the host has announced 2", number(64, 7), wire.Unannounced},
		{"incarnation: 1 was replaced by 2", number(64, 1), wire.Stale},
		{"view: 1, before view 2", number(68, 1), wire.Stale},
		{"from: the stream belongs to nn-worker", number(12, 1), wire.Forged},
		{"to: nn-worker 9 is not in this process", number(16, 9), wire.Forged},
		{"step: below 0", number(24, 1<<31), wire.Inadmissible},
	} {
		before := refusalsOf(victim, c.reason)
		n, send := hostile(t, 100+i, victim)
		frame := encoded(t, n.identity, rows(100+i, 0, 1),
			exec.Values{Values: compress.Pack(compress.FP32, []float32{1, 2})})
		if c.change == nil {
			frame = encoded(t, n.identity, rows(100+i, 0, 1),
				exec.Values{Values: compress.Values{Form: compress.FP32, Floats: []float32{1, 2}}})
			binary.LittleEndian.PutUint64(frame[wire.HeaderSize+8:], 10000)
		} else {
			c.change(frame)
		}
		send(frame)
		err := in.dropped(t)
		if !strings.Contains(err.Error(), fmt.Sprintf("dropped nn-worker %d: %s: ", 100+i, c.reason)) ||
			!strings.Contains(err.Error(), c.field) {
			t.Errorf("%v\nwant %s, %s", err, c.reason, c.field)
		}
		if refusalsOf(victim, c.reason) != before+1 || counted.last() != string(c.reason) {
			t.Errorf("%s: not counted as %s", c.field, c.reason)
		}
		want := fmt.Sprintf("transport: refused nn-worker %d: %s: ", 100+i, c.reason)
		if line := logged.last(); !strings.HasPrefix(line, want) || !strings.Contains(line, c.field) {
			t.Errorf("logged %q, want %q and %q", line, want, c.field)
		}
	}
	good()
	bounded()
	closeAll(t, []*Endpoint{victim, friend})
}

// A frame that announces 1 GiB costs no memory if this size is not allowed, and no more than has arrived if
// it is.
func TestGiantFrames(t *testing.T) { overEach(t, testGiantFrames) }

func testGiantFrames(t *testing.T) {
	for name, limit := range map[string]unit.Bytes{"refused": 4 << 20, "admitted": wire.MaxFrame} {
		t.Run(name, func(t *testing.T) {
			in := newMailbox()
			victim := listenAs(t, Options{
				Roles: []msg.Address{worker(0)}, Handler: in,
				Limit: func(wire.Header) unit.Bytes { return limit },
			}, 0)
			n, send := hostile(t, 2, victim)
			frame := append(encoded(t, n.identity, rows(2, 0, 1), nil),
				make([]byte, packetMax-wire.HeaderSize)...)
			binary.LittleEndian.PutUint32(frame[8:], 1<<30)
			bounded := mustStayBounded(t)
			send(frame)
			if name == "refused" {
				if err := in.dropped(t); !strings.Contains(err.Error(),
					"length: frame of 1073741824 bytes, want at most 4194304") {
					t.Error(err)
				}
			} else {
				for range 8 {
					send(make([]byte, packetMax))
				}
				send(make([]byte, packetMax/2))
				n.Close() // within the frame
				if err := in.dropped(t); !strings.Contains(err.Error(), "the stream ends within a frame") {
					t.Error(err)
				}
			}
			bounded()
			victim.Abort()
		})
	}
}

// A message that repeats an unhandled one is discarded; after that one is handled the message may come again.
func TestRepeatedMessagesAreDiscarded(t *testing.T) {
	n := listenAs(t, Options{Roles: []msg.Address{worker(0)}, Handler: newMailbox(),
		Inbox: Credit{Messages: 2}}, 0)
	defer n.Abort()
	for i, want := range []bool{true, false, false} {
		if kept, err := n.inbox.add(rows(1, 0, 5), 100); kept != want || err != nil {
			t.Errorf("%d: %t, %v", i, kept, err)
		}
	}
	n.Handled(rows(1, 0, 5))
	if kept, err := n.inbox.add(rows(1, 0, 5), 100); !kept || err != nil {
		t.Errorf("%t, %v", kept, err)
	}
}

// A peer that sends more messages than its credit allows is dropped; more bytes wait.
func TestInboxIsBounded(t *testing.T) { overEach(t, testInboxIsBounded) }

func testInboxIsBounded(t *testing.T) {
	in := newMailbox()
	victim := listenAs(t, Options{
		Roles: []msg.Address{worker(0)}, Handler: in, Inbox: Credit{Messages: 50, Bytes: 4 << 20},
	}, 0)
	defer victim.Abort()
	n, _ := hostile(t, 2, victim)
	payload := exec.Values{Values: compress.Pack(compress.FP32, make([]float32, 256<<10))} // 1 MiB
	bounded := mustStayBounded(t)
	for step := range 20 {
		if err := n.Send(rows(2, 0, step), payload); err != nil {
			t.Fatal(err)
		}
	}
	for step := range 20 {
		m := in.next(t).m
		if m.Step != int32(step) {
			t.Fatalf("%v, want step %d", m, step)
		}
		if waiting := len(in.messages); waiting > 4 {
			t.Fatalf("%d messages of 1 MiB wait", waiting)
		}
		victim.Handled(m)
	}
	bounded()
	for step := range 60 {
		m := rows(2, 0, step)
		m.Kind = msg.PutAck
		if n.Send(m, nil) != nil {
			break // it has been dropped
		}
	}
	if err := in.dropped(t); !strings.Contains(err.Error(), "flood: PutAck") ||
		!strings.Contains(err.Error(), "messages of nn-worker 2 are not handled yet, want at most 50") {
		t.Error(err)
	}
}

// A packet that is larger than any that an endpoint sends drops its peer.
func TestOversizedPacket(t *testing.T) {
	in := newMailbox()
	victim := listen(t, 0, in)
	defer victim.Abort()
	n := listen(t, 2, newMailbox())
	defer n.Abort()
	conn, err := grpc.NewClient("passthrough:///"+victim.Address(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec{}), grpc.MaxCallSendMsgSize(1<<30)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx := metadata.NewOutgoingContext(t.Context(), n.introduce())
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, "/"+serviceName+"/"+methodName)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Header(); err != nil { // it was admitted
		t.Fatal(err)
	}
	if err := s.SendMsg(&packet{segments: [][]byte{make([]byte, packetMax+1)}}); err != nil {
		t.Fatal(err)
	}
	if err := in.dropped(t); !strings.Contains(err.Error(),
		"malformed: grpc: received message larger than max") {
		t.Error(err)
	}
}

// An endpoint whose inbox a peer has filled closes at once.
func TestCloseWithAFullInbox(t *testing.T) { overEach(t, testCloseWithAFullInbox) }

func testCloseWithAFullInbox(t *testing.T) {
	mustLeaveNothing(t)
	in := newMailbox()
	victim := listenAs(t, Options{Roles: []msg.Address{worker(0)}, Handler: in,
		Inbox: Credit{Bytes: 1 << 20}}, 0)
	n := listen(t, 1, newMailbox())
	connect(t, []*Endpoint{victim, n})
	payload := exec.Values{Values: compress.Pack(compress.FP32, make([]float32, 200<<10))}
	for step := range 10 {
		if err := n.Send(rows(1, 0, step), payload); err != nil {
			t.Fatal(err)
		}
	}
	in.next(t) // and it is never handled
	closeAll(t, []*Endpoint{n, victim})
}

// journal keeps lines. It is safe for concurrent use.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

// all returns the lines so far.
func (j *journal) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.lines)
}

// last returns the newest line, or "".
func (j *journal) last() string {
	all := j.all()
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// The first refusal of a peer and reason is logged at once, and the number of refusals at the end.
func TestRefusalsAreLoggedOnce(t *testing.T) {
	logged := &journal{}
	victim := listenAs(t, Options{Roles: []msg.Address{worker(0)}, Handler: newMailbox(), Log: logged.add}, 0)
	for range 3 {
		c := dialRaw(t, victim)
		if _, err := io.WriteString(c, strings.Repeat("garbage ", 100)); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, c) // until the node closes it
	}
	for refusalsOf(victim, wire.Introduced) < 3 {
		time.Sleep(time.Millisecond)
	}
	victim.Abort()
	want := []string{
		"transport: refused 127.0.0.1: introduction: it ended without an introduction",
		"transport: refused 127.0.0.1 3 times: introduction",
	}
	if lines := logged.all(); !slices.Equal(lines, want) {
		t.Errorf("%q\nwant %q", lines, want)
	}
}
