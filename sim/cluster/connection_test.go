package cluster

import (
	"fmt"
	"testing"

	"tandem/algo/exec"
	"tandem/algo/job"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/quantity"
	"tandem/algo/unit"
	"tandem/sim/cost"
)

// connected gives hardware a number of connections for each pair of processes, and each a window; 0: none.
func connected(h *cost.Hardware, count int, window unit.Bytes) *cost.Hardware {
	const source, date = "test", "2026"
	m := &h.System.Messages
	m.Connections = quantity.Value[int]{Mid: count, Kind: quantity.Default, Source: source, Date: date}
	if window > 0 {
		m.Window = quantity.Value[unit.Bytes]{Mid: window, Kind: quantity.Default, Source: source, Date: date}
	}
	return h
}

// slowCluster has hosts with cards of 1 MB/s, on which nothing but transfers takes time: work and latencies
// of a message are below 1 ms.
func slowCluster() job.Cluster {
	s := small()
	s.EmbeddingWorkers.PerHost, s.EmbeddingPSs.PerHost, s.NetworkRate, s.Unfold = 1, 1, 1e6, true
	return s
}

// arrivals is a role that does nothing but record when messages arrive, and the critical path to them.
type arrivals struct {
	role.Role
	simulation *simulation
	list       *[]string
}

// HandleInput implements role.Role.
func (a arrivals) HandleInput(now unit.Tick, in role.Input, _ *role.Outputs) {
	if in.Kind == role.Received {
		*a.list = append(*a.list, fmt.Sprintf("%v %d at %.1f s, of %.1f s on wires", in.Message.Kind,
			in.Message.Step, now.Seconds(), a.simulation.cause[bandwidth].Seconds()))
	}
}

// deliver sends messages at one instant, with a card of 1 MB/s that reaches its whole rate, and returns their
// arrivals in order. Step numbers the messages.
func deliver(t *testing.T, h *cost.Hardware, list ...msg.Message) (log []string) {
	t.Helper()
	h.Network.Share.Mid = 1
	j, layout, w := training(job.Sync, 2), tower(t), clicks()
	p := cost.NewPrices(h.Resolve(), &j, layout, &w, false)
	j.Roles.EmbeddingWorkers, j.Roles.EmbeddingPSs = p.EWHostCount, p.PSStates
	cfg, err := j.RoleConfig(layout, 0, 30)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSimulation(p, cfg, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.measurement = newMeasurement(span{10, 10, 1, 30}, cfg)
	for i := range s.instances {
		s.instances[i].role = arrivals{s.instances[i].role, s, &log}
	}
	for i, m := range list {
		m.Step = int32(i + 1)
		s.send(s.roleIndex(m.From), fault.Parcel[exec.Payload]{Message: m}, false)
	}
	s.Settle(0)
	s.clock.Run(unit.Forever-1, s)
	if s.openTasks != 0 || s.net.Flows() != 0 {
		t.Errorf("%d tasks and %d flows are left", s.openTasks, s.net.Flows())
	}
	return log
}

var (
	firstPS  = msg.Address{Role: msg.EmbeddingPS}
	firstEW  = msg.Address{Role: msg.EmbeddingWorker}
	secondEW = msg.Address{Role: msg.EmbeddingWorker, Index: 1}
)

// A PS sends 1, 2 and 0.5 MB to one EW, with an acknowledgement behind them. On one connection they arrive
// after 1, 3, 3.5 and 3.5 s, the acknowledgement a little earlier than what the receiver has to copy, and
// the wires are on the critical path of each for as long. With a connection for each message, the three share
// the card: the third ends after 3 · 0.5 s, the first after 0.5 s · 2 more, the second at 3.5 s; the
// acknowledgement waits for none. Two connections share the card, too: of the first two messages 1 MB each
// has left after 2 s; the third then ends after 1 s more, as does the acknowledgement's wait.
func TestMessagesOfAConnectionGoOneAfterTheOther(t *testing.T) {
	list := []msg.Message{
		{Kind: msg.Rows, From: firstPS, To: firstEW, Bytes: 1e6},
		{Kind: msg.Rows, From: firstPS, To: firstEW, Bytes: 2e6},
		{Kind: msg.Rows, From: firstPS, To: firstEW, Bytes: 5e5},
		{Kind: msg.PutAck, From: firstPS, To: firstEW, Bytes: msg.HeaderBytes},
	}
	check(t, "one connection", deliver(t, connected(hardwareOf(t, slowCluster()), 1, 0), list...),
		"Rows 1 at 1.0 s, of 1.0 s on wires", "Rows 2 at 3.0 s, of 3.0 s on wires",
		"PutAck 4 at 3.5 s, of 3.5 s on wires", "Rows 3 at 3.5 s, of 3.5 s on wires")
	check(t, "two connections", deliver(t, connected(hardwareOf(t, slowCluster()), 2, 0), list...),
		"Rows 1 at 2.0 s, of 2.0 s on wires", "PutAck 4 at 3.0 s, of 3.0 s on wires",
		"Rows 3 at 3.0 s, of 3.0 s on wires", "Rows 2 at 3.5 s, of 3.5 s on wires")
	check(t, "a connection for each", deliver(t, hardwareOf(t, slowCluster()), list...),
		"PutAck 4 at 0.0 s, of 0.0 s on wires", "Rows 3 at 1.5 s, of 1.5 s on wires",
		"Rows 1 at 2.5 s, of 2.5 s on wires", "Rows 2 at 3.5 s, of 3.5 s on wires")
}

// A core takes 1 s for 1 MB at each end. An acknowledgement behind rows waits until they have left the core
// of the PS, after 1 s, and its card, after 2 s, but not for the core of the EW.
func TestMessagesLeaveInTheOrderOfSending(t *testing.T) {
	h := connected(hardwareOf(t, slowCluster()), 1, 0)
	h.System.Messages.ByteTime.Mid = 1000
	h.EmbeddingWorkers.Host.CoreSpeed.Mid, h.EmbeddingPSs.Host.CoreSpeed.Mid = 1, 1
	check(t, "busy cores", deliver(t, h,
		msg.Message{Kind: msg.Rows, From: firstPS, To: firstEW, Bytes: 1e6},
		msg.Message{Kind: msg.PutAck, From: firstPS, To: firstEW, Bytes: msg.HeaderBytes}),
		"PutAck 2 at 2.0 s, of 1.0 s on wires", "Rows 1 at 3.0 s, of 1.0 s on wires")
}

// A PS sends two messages of 1 MB to one EW and one to another. The two connections share its card: the first
// messages of both end after 2 s, and the last has the card alone for 1 s.
func TestConnectionsShareFairly(t *testing.T) {
	check(t, "two receivers", deliver(t, connected(hardwareOf(t, slowCluster()), 1, 0),
		msg.Message{Kind: msg.Rows, From: firstPS, To: firstEW, Bytes: 1e6},
		msg.Message{Kind: msg.Rows, From: firstPS, To: firstEW, Bytes: 1e6},
		msg.Message{Kind: msg.Rows, From: firstPS, To: secondEW, Bytes: 1e6}),
		"Rows 1 at 2.0 s, of 2.0 s on wires", "Rows 3 at 2.0 s, of 2.0 s on wires",
		"Rows 2 at 3.0 s, of 3.0 s on wires")
}

// A window of 20 kB and a latency of 100 ms each way allow 100 kB/s, a tenth of the card: 1 MB takes 10 s and
// the latency. On another connection the card has its rate left.
func TestWindowBoundsTheRateOfAConnection(t *testing.T) {
	h := connected(hardwareOf(t, slowCluster()), 1, 20e3)
	h.Network.Latency.Mid = 100 * unit.Millisecond
	check(t, "windows", deliver(t, h,
		msg.Message{Kind: msg.Rows, From: firstPS, To: firstEW, Bytes: 1e6},
		msg.Message{Kind: msg.Rows, From: firstPS, To: secondEW, Bytes: 5e5}),
		"Rows 2 at 5.1 s, of 5.0 s on wires", "Rows 1 at 10.1 s, of 10.0 s on wires")
}

func check(t *testing.T, name string, got []string, want ...string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s:\n%q, want\n%q", name, got, want)
	}
}

// lookups records when ranks have the embeddings of a step.
type lookups struct {
	step int32
	at   map[int32]unit.Tick // by rank
}

// Observe implements event.Observer.
func (l lookups) Observe(r event.Record) {
	if r.Kind == event.EmbeddingsArrived && r.Step == l.step {
		l.at[r.Rank] = r.At
	}
}

// Two ranks, one EW and one PS on a slow network: the rows of the first rank's batch reach the EW before
// those of the second begin, so its embeddings are on their way while those rows are. With a connection for
// every message both ranks' rows arrive together. Sync waits for the last rank, which has its embeddings
// earlier, too, so a step is shorter.
func TestFirstRankIsServedEarlierOnOneConnection(t *testing.T) {
	s := slowCluster()
	s.EmbeddingWorkers.Count, s.EmbeddingPSs.Count = 1, 1
	steps := map[bool]unit.Tick{} // by whether there is one connection
	for _, one := range []bool{false, true} {
		h := hardwareOf(t, s)
		if one {
			h = connected(h, 1, 0)
		}
		seen := lookups{11, map[int32]unit.Tick{}}
		a := runOn(t, h, training(job.Sync, 2), Options{check: true, Observer: seen, WarmUp: 8, Measured: 8})
		first, second := seen.at[0], seen.at[1]
		if one != (first < second-second/1000) {
			t.Errorf("one connection %v: the ranks have their embeddings at %v and %v", one, first, second)
		}
		steps[one] = a.StepTime
	}
	if steps[true] >= steps[false] {
		t.Errorf("a step takes %v on one connection, %v with one for each message", steps[true], steps[false])
	}
}

// One connection for each pair of processes changes when messages arrive, but neither how many there are nor
// their bytes; folded PSs have as many connections as single ones.
func TestFoldedPSsHaveAConnectionEach(t *testing.T) {
	for _, mode := range []string{job.Sync, job.Hybrid} {
		s := small()
		s.NetworkRate = 1e8
		of := func(unfold bool, connections int) Result {
			s.Unfold = unfold
			h := hardwareOf(t, s)
			if connections > 0 {
				h = connected(h, connections, 0)
			}
			return runOn(t, h, training(mode, 4), Options{check: true, WarmUp: 24, Measured: 24})
		}
		folded, single, pooled := of(false, 1), of(true, 1), of(true, 0)
		if q := float64(folded.StepTime) / float64(single.StepTime); q < 0.98 || q > 1.02 {
			t.Errorf("%s: a step takes %v with folded PSs, %v with single ones", mode, folded.StepTime,
				single.StepTime)
		}
		if mode == job.Sync && (single.Bytes != pooled.Bytes || single.Messages != pooled.Messages) {
			t.Errorf("%s: %v in %d messages on one connection, %v in %d without", mode, single.Bytes,
				single.Messages, pooled.Bytes, pooled.Messages)
		}
	}
}
