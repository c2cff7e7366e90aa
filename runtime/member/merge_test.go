package member

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tandem/algo/job"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/unit"
	"tandem/runtime/member/control"
)

// story is the records of one role, written as (time, kind, step) of rank 0.
func story(at msg.Address, events ...any) (records []event.Record) {
	for i := 0; i < len(events); i += 3 {
		r := event.Record{
			At: unit.Tick(events[i].(int)), Role: at, Kind: events[i+1].(event.Kind),
			Step: int32(events[i+2].(int)),
		}
		if r.Kind == event.BatchRouted {
			r.Rows = []int32{3, 0}
		}
		records = append(records, r)
	}
	return records
}

var (
	worker  = msg.Address{Role: msg.EmbeddingWorker}
	server1 = msg.Address{Role: msg.EmbeddingPS, Index: 1}
)

func texts(records []event.Record) (all []string) {
	for _, r := range records {
		all = append(all, r.String())
	}
	return all
}

// mergeAll merges the records of roles of a run with 2 PSs, which arrive at its end.
func mergeAll(roles [][]event.Record) (all []event.Record) {
	m := newMerger(len(roles), 1, 2, func(r event.Record) { all = append(all, r) })
	for i, records := range roles {
		for _, r := range records {
			m.add(i, r)
		}
	}
	m.merge(true)
	return all
}

// Records are merged by time, but a batch is routed and its lookup issued before a PS reads rows for it, also
// if the PS's clock is behind.
func TestMergeRespectsCausality(t *testing.T) {
	got := mergeAll([][]event.Record{
		story(worker, 20, event.BatchRouted, 1),
		story(server, 5, event.LookupServed, 1, 6, event.PutApplied, 1),
		story(trainer, 10, event.LookupIssued, 1, 50, event.BatchDone, 1),
	})
	if diff := cmp.Diff([]string{
		"nn-worker 0: lookup-issued rank 0 step 1", "embedding-worker 0: batch-routed rank 0 step 1",
		"embedding-ps 0: lookup-served rank 0 step 1", "embedding-ps 0: put-applied rank 0 step 1",
		"nn-worker 0: batch-done rank 0 step 1",
	}, texts(got)); diff != "" {
		t.Error(diff)
	}
}

// An embedding worker that died has sent no record of batch 0, and its next incarnation routes batch 1 a
// second time, after it was applied. A meter sees what happened: batch 2 reads without batch 1 on PS 0, and
// misses nothing else.
func TestLostRecordsAreDerived(t *testing.T) {
	roles := [][]event.Record{
		story(worker, 20, event.BatchRouted, 1, 100, event.BatchRouted, 1, 110, event.BatchRouted, 2),
		story(server, 5, event.LookupServed, 0, 6, event.PutApplied, 0, 25, event.LookupServed, 1, 40,
			event.LookupServed, 2,
			41, event.PutApplied, 1, 120, event.PutApplied, 2),
		story(server1, 5, event.LookupServed, 0, 6, event.PutApplied, 0),
		story(trainer, 1, event.LookupIssued, 0, 8, event.BatchDone, 0, 10, event.LookupIssued, 1, 30,
			event.LookupIssued, 2,
			50, event.BatchDone, 1, 130, event.BatchDone, 2),
	}
	meter := pace.NewMeter(1, 2)
	for _, r := range mergeAll(roles) {
		meter.Observe(r)
	}
	s := meter.Staleness()
	// Reads: batch 0 on both PSs, batches 1 and 2 on PS 0.
	if s.Own.Count() != 4 || s.Own.Max() != 1 || s.Own.Summary().Mean != 0.25 {
		t.Errorf("%+v, want 4 reads, one of which misses one batch", s.Own.Summary())
	}
}

// An embedding worker, which has routed batch 0 of rank 1, and rank 0 die with their last records: that batch
// 0 of rank 0 is done, and that its lookup of step 3 is issued. While PS 0 waits for the route, the rank that
// is back does too. Else its batch 0 would be outstanding beside those that it issues again.
func TestRankThatIsBackWaitsForEarlierPuts(t *testing.T) {
	other := msg.Address{Role: msg.NNWorker, Index: 1}
	ofRank1 := func(records []event.Record) []event.Record {
		for i := range records {
			records[i].Rank = 1
		}
		return records
	}
	served := story(server, 2, event.LookupServed, 0)
	served = append(served, ofRank1(story(server, 20, event.LookupServed, 0, 25, event.PutApplied, 0))...)
	served = append(served, story(server, 30, event.PutApplied, 0, 41, event.LookupServed, 3)...)
	routed := story(worker, 1, event.BatchRouted, 0, 40, event.BatchRouted, 3, 65, event.BatchRouted, 1)
	routed[2].Rows = []int32{0, 3}
	roles := [][]event.Record{routed, served, story(server1, 70, event.LookupServed, 1),
		story(trainer, 1, event.LookupIssued, 0, 50, event.RankReturned, 1, 60, event.LookupIssued, 1),
		ofRank1(story(other, 3, event.LookupIssued, 0))}
	meter, back := pace.NewMeter(2, 2), false
	m := newMerger(len(roles), 2, 2, func(r event.Record) {
		back = back || r.Kind == event.RankReturned
		meter.Observe(r)
	})
	for i, records := range roles {
		for _, r := range records {
			m.add(i, r)
		}
		m.sent(i, 100)
	}
	m.merge(false)
	if back {
		t.Error("the rank is back before the route is known")
	}
	m.add(4, ofRank1(story(other, 200, event.BatchDone, 0))[0])
	for i := range roles {
		m.sent(i, 300)
	}
	m.merge(false)
	// The last read is beside batch 0 of rank 1 alone.
	if s := meter.Staleness().Inflight; m.waiting > 0 || s.Count() != 4 || s.Max() != 1 {
		t.Errorf("%d records wait; batches in flight at reads: %+v, want 4 reads and at most 1", m.waiting,
			s.Summary())
	}
}

// longStory returns the records of an embedding worker, two PSs and a rank over a number of steps, with up
// to four batches in flight. Each step takes 100 ticks.
func longStory(steps int) [][]event.Record {
	var routed, served0, served1, rank []any
	for step := range steps {
		at := 100 * step
		rank = append(rank, at, event.LookupIssued, step)
		if step >= 3 {
			rank = append(rank, at+60, event.BatchDone, step-3)
		}
		routed = append(routed, at+10, event.BatchRouted, step)
		served0 = append(served0, at+20, event.LookupServed, step)
		if step >= 3 {
			served0 = append(served0, at+50, event.PutApplied, step-3)
		}
		served1 = append(served1, at+25, event.LookupServed, step)
		if step >= 3 {
			served1 = append(served1, at+55, event.PutApplied, step-3)
		}
	}
	routes := story(worker, routed...)
	for i := range routes {
		routes[i].Rows = []int32{3, 1}
	}
	return [][]event.Record{routes, story(server, served0...), story(server1, served1...),
		story(trainer, rank...)}
}

// send passes records to a merger as processes send them: those of every round of a time, the roles one after
// another in a random order, some of them several rounds late. lost, if not nil, says which are never sent.
// After every message it calls check.
func send(m *merger, roles [][]event.Record, random *rand.Rand, lost func(event.Record) bool, check func()) {
	const round = 250
	next, last := make([]int, len(roles)), 0
	for _, records := range roles {
		last = max(last, int(records[len(records)-1].At))
	}
	for now := 0; now <= last+5*round; now += round {
		for _, i := range random.Perm(len(roles)) {
			late := round * random.IntN(4)
			for next[i] < len(roles[i]) && roles[i][next[i]].At <= unit.Tick(now-late) {
				if r := roles[i][next[i]]; lost == nil || !lost(r) {
					m.add(i, r)
				}
				next[i]++
			}
			m.sent(i, unit.Tick(now-late))
			m.merge(false)
			check()
		}
	}
	m.merge(true)
}

// The order does not depend on when records arrive, and what waits does not depend on the number of steps.
func TestRecordsAreMergedAsTheyArrive(t *testing.T) {
	waited := map[int]int{}
	for _, steps := range []int{300, 3000} {
		roles := longStory(steps)
		var got []event.Record
		m := newMerger(len(roles), 1, 2, func(r event.Record) { got = append(got, r) })
		kept := 0
		send(m, roles, rand.New(rand.NewPCG(1, 2)), nil, func() {
			kept = max(kept, m.size())
		})
		if diff := cmp.Diff(texts(mergeAll(roles)), texts(got)); diff != "" {
			t.Errorf("%d steps: %s", steps, diff)
		}
		if m.size() > 10 {
			t.Errorf("%d steps: the merger keeps %d records and batches at the end", steps, m.size())
		}
		waited[steps] = kept
	}
	if waited[3000] > waited[300]+waited[300]/2 {
		t.Errorf("most records and batches kept, by steps: %v; want about as many for any number", waited)
	}
}

// size returns the number of records and batches that are kept.
func (m *merger) size() int {
	n := len(m.routes) + len(m.done)
	for i := range m.roles {
		n += len(m.roles[i].records)
	}
	for i := range m.routed {
		n += len(m.routed[i].above)
	}
	return n
}

// The records of an embedding worker that died are lost: each of its batches is derived when it is done, and
// before it is merged nothing else changes. A PS that pauses makes records wait, up to a limit.
func TestLossAndPauseWhileRecordsArrive(t *testing.T) {
	roles := longStory(500)
	meter, whole := pace.NewMeter(1, 2), pace.NewMeter(1, 2)
	for _, r := range mergeAll(roles) {
		whole.Observe(r)
	}
	m := newMerger(len(roles), 1, 2, meter.Observe)
	isLost := func(r event.Record) bool {
		return r.Kind == event.BatchRouted && r.Step >= 100 && r.Step < 140
	}
	kept := 0
	send(m, roles, rand.New(rand.NewPCG(3, 4)), isLost, func() { kept = max(kept, m.size()) })
	got, want := meter.Staleness(), whole.Staleness()
	if diff := cmp.Diff(want.Own.Summary(), got.Own.Summary()); diff != "" {
		t.Error(diff)
	}
	if kept > 500 {
		t.Errorf("%d records and batches were kept", kept)
	}
	passed := 0
	m = newMerger(2, 1, 1, func(event.Record) { passed++ })
	for i := range waitingMax + 1000 {
		m.add(0, event.Record{At: unit.Tick(i), Role: trainer, Kind: event.ForwardStarted})
		m.merge(false)
	}
	if passed != 1000 || m.waiting != waitingMax {
		t.Errorf("%d records are passed on and %d wait", passed, m.waiting)
	}
}

// Steps that are never added count as in the set after a while.
func TestStepSetIsBounded(t *testing.T) {
	var s stepSet
	for step := range int32(10 * aboveMax) {
		if step != 5 && step%10_000 != 7 {
			s.add(step)
		}
		if len(s.above) > aboveMax {
			t.Fatalf("step %d: %d steps are kept", step, len(s.above))
		}
	}
	if !s.has(5) || !s.has(4) || s.has(10*aboveMax) {
		t.Errorf("%+v", s.floor)
	}
}

// What the host keeps of the records that its members send does not depend on the number of steps.
func TestHostKeepsNoRecords(t *testing.T) {
	for _, steps := range []int{100, 3000} {
		observed := 0
		h, err := newHost(Plan{Processes: []job.Process{{worker}, {server}, {server1}, {trainer}}, Ranks: 1,
			Steps: steps})
		if err != nil {
			t.Fatal(err)
		}
		h.callbacks.Observe = func(event.Record) { observed++ }
		h.phase = training
		roles, sent := longStory(steps), 0
		next := make([]int, len(roles))
		for now := 0; now < 100*steps+1000; now += 500 {
			for i, s := range h.processes {
				message := &control.Records{Through: int64(now)}
				for ; next[i] < len(roles[i]) && roles[i][next[i]].At <= unit.Tick(now); next[i]++ {
					r := roles[i][next[i]]
					message.Records = append(message.Records, &control.Record{At: int64(r.At),
						Kind: uint32(r.Kind), Rank: r.Rank, Step: r.Step, Rows: r.Rows})
				}
				if err := h.addRecords(s, message); err != nil {
					t.Fatal(err)
				}
				sent += len(message.Records)
			}
			if kept := h.merger.size(); kept > 100 {
				t.Fatalf("%d of %d steps: the host keeps %d records and batches", now/100, steps, kept)
			}
		}
		if observed != sent {
			t.Errorf("%d steps: %d of %d records were observed", steps, observed, sent)
		}
	}
}
