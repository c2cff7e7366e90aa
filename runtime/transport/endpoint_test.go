package transport

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tandem/algo/exec"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/compress"
	"tandem/algo/protocol/msg"
)

// Payloads of every type arrive, and messages arrive in order.
func TestMessagesArriveInOrder(t *testing.T) { overEach(t, testMessagesArriveInOrder) }

func testMessagesArriveInOrder(t *testing.T) {
	mustLeaveNothing(t)
	in := newMailbox()
	nodes := cluster(t, newMailbox(), in)
	packets := []struct {
		kind    msg.Kind
		payload exec.Payload
	}{
		{msg.StepDone, nil},
		{msg.Params, exec.DenseShard{1, 2, 3}},
		{msg.Lookup, exec.Signs{Signs: compress.Signs{Plain: []uint64{4, 5}}}},
		{msg.Put, &exec.Put{Samples: 2, Signs: compress.Signs{Plain: []uint64{7}},
			Sums: compress.Pack(compress.FP16, []float32{8})}},
		{msg.Rows, exec.Values{Values: compress.Pack(compress.FP32, make([]float32, 100_000))}},
	}
	const count = 500
	sent := func(step int) (msg.Message, exec.Payload) {
		m := rows(0, 1, step)
		m.Kind = packets[step%len(packets)].kind
		return m, packets[step%len(packets)].payload
	}
	for step := range count {
		if err := nodes[0].Send(sent(step)); err != nil {
			t.Fatal(err)
		}
	}
	for step := range count {
		r := in.next(t)
		m, payload := sent(step)
		if r.m != m {
			t.Fatalf("%v, want %v", r.m, m)
		}
		if !reflect.DeepEqual(r.payload, payload) {
			t.Fatalf("step %d brings other values", step)
		}
	}
	closeAll(t, nodes)
}

// The two halves of a part of a batch arrive at their receivers.
func TestPartsTravelInHalves(t *testing.T) {
	in := newMailbox()
	nodes := cluster(t, newMailbox(), in)
	part := &batch.Cut(&batch.Batch{Samples: 1,
		Slots: []batch.Jagged{{Offsets: []int32{0, 1}, IDs: []uint64{9}}}, Labels: []float32{1}}, 1, 1)[0]
	for k, payload := range map[msg.Kind]exec.Payload{
		msg.IDFeatures: &exec.IDs{Samples: 1, Bounds: part.Bounds, Columns: part.Slots},
		msg.Samples:    exec.Samples{Part: part},
	} {
		if err := nodes[0].Send(msg.Message{Kind: k, From: worker(0), To: worker(1)}, payload); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		switch got := in.next(t).payload.(type) {
		case *exec.IDs:
			if len(got.Columns) != 1 || got.Columns[0].IDs[0] != 9 {
				t.Errorf("%+v", got)
			}
		case exec.Samples:
			if len(got.Slots) != 0 || len(got.Labels) != 1 {
				t.Errorf("%+v", got.Batch)
			}
		default:
			t.Errorf("%T", got)
		}
	}
	closeAll(t, nodes)
}

// Four processes send each other far more than all buffers between them hold, all at once, before any of them
// handles a message.
func TestFullStreamsDoNotDeadlock(t *testing.T) { overEach(t, testFullStreamsDoNotDeadlock) }

func testFullStreamsDoNotDeadlock(t *testing.T) {
	mustLeaveNothing(t)
	const count = 12
	mailboxes := []*mailbox{newMailbox(), newMailbox(), newMailbox(), newMailbox()}
	nodes := cluster(t, mailboxes[0], mailboxes[1], mailboxes[2], mailboxes[3])
	payload := make(exec.DenseShard, 1<<19) // 2 MiB
	var wait sync.WaitGroup
	for from, n := range nodes {
		wait.Go(func() {
			for step := range count {
				for to := range nodes {
					if to == from {
						continue
					}
					if err := n.Send(rows(from, to, step), payload); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wait.Wait()
	for _, in := range mailboxes {
		steps := map[msg.Address]int32{}
		for range count * (len(nodes) - 1) {
			m := in.next(t).m
			if m.Step != steps[m.From] {
				t.Fatalf("%v, want step %d", m, steps[m.From])
			}
			steps[m.From]++
		}
	}
	closeAll(t, nodes)
}

// echo answers every message from within Deliver.
type echo struct {
	*mailbox
	node chan *Endpoint
}

func (e echo) Deliver(m msg.Message, payload exec.Payload, _ func()) {
	n := <-e.node
	e.node <- n
	m.From, m.To = m.To, m.From
	if err := n.Send(m, payload); err != nil {
		e.mailbox.Lost("echo", err)
	}
}

// A handler may send messages, because Send never waits for the stream.
func TestHandlerMaySend(t *testing.T) { overEach(t, testHandlerMaySend) }

func testHandlerMaySend(t *testing.T) {
	in, e := newMailbox(), echo{newMailbox(), make(chan *Endpoint, 1)}
	nodes := cluster(t, in, e)
	e.node <- nodes[1]
	payload := make(exec.DenseShard, 1<<18)
	for step := range 40 {
		if err := nodes[0].Send(rows(0, 1, step), payload); err != nil {
			t.Fatal(err)
		}
	}
	for step := range 40 {
		if m := in.next(t).m; m.Step != int32(step) {
			t.Fatalf("%v, want step %d", m, step)
		}
	}
	closeAll(t, nodes)
}

// Close waits until everything that was sent has arrived, also when both ends close at once.
func TestCloseWhileSending(t *testing.T) { overEach(t, testCloseWhileSending) }

func testCloseWhileSending(t *testing.T) {
	mustLeaveNothing(t)
	mailboxes := []*mailbox{newMailbox(), newMailbox()}
	nodes := cluster(t, mailboxes[0], mailboxes[1])
	sent := make([]int, 2)
	payload := make(exec.DenseShard, 10_000)
	var wait, begun sync.WaitGroup
	begun.Add(2)
	for from, n := range nodes {
		wait.Go(func() {
			for sent[from] < 2000 && n.Send(rows(from, 1-from, sent[from]), payload) == nil {
				if sent[from]++; sent[from] == 1 {
					begun.Done()
				}
			}
		})
	}
	begun.Wait()
	closeAll(t, nodes)
	wait.Wait()
	for from, count := range sent {
		if got := len(mailboxes[1-from].messages); got != count {
			t.Errorf("%d of %d messages from %d arrived", got, count, from)
		}
		if len(mailboxes[from].losses) > 0 {
			t.Error(<-mailboxes[from].losses)
		}
	}
	if err := nodes[0].Close(); err != nil {
		t.Error("again:", err)
	}
}

// A process that closes its endpoint is not lost, and nothing can be sent to it.
func TestLeavingIsNoLoss(t *testing.T) { overBoth(t, testLeavingIsNoLoss) }

func testLeavingIsNoLoss(t *testing.T) {
	in := newMailbox()
	nodes := cluster(t, newMailbox(), in)
	closeAll(t, nodes[:1]) // without waiting for the other for ever
	for nodes[1].Send(rows(1, 0, 0), nil) == nil {
		time.Sleep(time.Millisecond)
	}
	if err := nodes[1].Send(rows(1, 0, 0), nil); err == nil ||
		!strings.Contains(err.Error(), "nn-worker 0 is gone") {
		t.Error(err)
	}
	nodes[1].Abort()
	if len(in.losses) > 0 {
		t.Error(<-in.losses)
	}
}

// All other processes lose a process that dies, once, by its name, within 5 s, and can still talk to each
// other.
func TestDeathIsNoticed(t *testing.T) { overEach(t, testDeathIsNoticed) }

func testDeathIsNoticed(t *testing.T) {
	mustLeaveNothing(t)
	mailboxes := []*mailbox{newMailbox(), newMailbox(), newMailbox()}
	nodes := cluster(t, mailboxes[0], mailboxes[1], mailboxes[2])
	nodes[2].Abort()
	for _, in := range mailboxes[:2] {
		if err := in.loss(t, 5*time.Second); !strings.Contains(err.Error(),
			"transport: lost nn-worker 2: its connection broke") {
			t.Error(err)
		}
	}
	if err := nodes[0].Send(rows(0, 1, 7), nil); err != nil {
		t.Error(err)
	}
	if m := mailboxes[1].next(t).m; m.Step != 7 {
		t.Error(m)
	}
	closeAll(t, nodes[:2])
	for i, in := range mailboxes {
		if want := []string{name(2)}; i < 2 && !slices.Equal(in.peers, want) || i == 2 && len(in.peers) > 0 {
			t.Errorf("%s lost %v", name(i), in.peers)
		}
	}
}

// Frames that were queued for a dead process are dropped, and Close does not wait for it.
func TestCloseAfterDeathMidStream(t *testing.T) { overEach(t, testCloseAfterDeathMidStream) }

func testCloseAfterDeathMidStream(t *testing.T) {
	mustLeaveNothing(t)
	in := newMailbox()
	nodes := cluster(t, in, newMailbox())
	payload := make(exec.DenseShard, 1<<20)
	for step := range 30 {
		if err := nodes[0].Send(rows(0, 1, step), payload); err != nil {
			t.Fatal(err)
		}
	}
	nodes[1].Abort()
	in.loss(t, 5*time.Second)
	start := time.Now()
	closeAll(t, nodes[:1]) // the loss was reported and is not an error again
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("closing took %v", took)
	}
}

// A process that sends a message for a role of another process is dropped.
func TestMessageForAnotherProcess(t *testing.T) { overEach(t, testMessageForAnotherProcess) }

func testMessageForAnotherProcess(t *testing.T) {
	in := newMailbox()
	nodes := cluster(t, in, newMailbox())
	nodes[1].mu.Lock()
	nodes[1].out[worker(9)] = nodes[1].out[worker(0)]
	nodes[1].mu.Unlock()
	if err := nodes[1].Send(rows(1, 9, 0), nil); err != nil {
		t.Fatal(err)
	}
	if err := in.dropped(t); !strings.Contains(err.Error(),
		"nn-worker 1 → nn-worker 9: to: nn-worker 9 is not in this process, which is nn-worker 0") {
		t.Error(err)
	}
	for _, n := range nodes {
		n.Abort()
	}
}

func TestSendRefuses(t *testing.T) {
	nodes := cluster(t, newMailbox(), newMailbox())
	defer closeAll(t, nodes)
	if err := nodes[0].Send(rows(0, 5, 0), nil); err == nil ||
		!strings.Contains(err.Error(), "nn-worker 5: no process with this role is connected") {
		t.Error(err)
	}
	if err := nodes[0].Send(rows(0, 1, 0), exec.Travels{}); err == nil ||
		!strings.Contains(err.Error(), "has no encoding") {
		t.Error(err)
	}
}

func TestPortInUse(t *testing.T) {
	n := listen(t, 0, newMailbox())
	defer n.Abort()
	_, err := Listen(n.Address(), Options{Roles: []msg.Address{worker(1)}, Handler: newMailbox()})
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), n.Address()+": address "+
		"already in use; stop the process that holds the port") {
		t.Error(err)
	}
	if _, err := Listen("127.0.0.1:0", Options{Handler: newMailbox()}); err == nil {
		t.Error("an endpoint without roles")
	}
}
