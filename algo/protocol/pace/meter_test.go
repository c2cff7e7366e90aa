package pace_test

import (
	"fmt"
	"testing"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
)

// story passes records to a meter.
type story struct{ meter *pace.Meter }

func (s story) record(k event.Kind, role msg.Role, index, rank, step int32, rows ...int32) {
	s.meter.Observe(event.Record{Kind: k, Role: msg.Address{Role: role, Index: index}, Rank: rank, Step: step,
		Rows: rows})
}

func (s story) issue(rank, step int32) { s.record(event.LookupIssued, msg.NNWorker, rank, rank, step) }
func (s story) done(rank, step int32)  { s.record(event.BatchDone, msg.NNWorker, rank, rank, step) }
func (s story) route(rank, step int32, rows ...int32) {
	s.record(event.BatchRouted, msg.EmbeddingWorker, 0, rank, step, rows...)
}
func (s story) read(server, rank, step int32) {
	s.record(event.LookupServed, msg.EmbeddingPS, server, rank, step)
}
func (s story) apply(server, rank, step int32) {
	s.record(event.PutApplied, msg.EmbeddingPS, server, rank, step)
}

// want compares the sums of the three histograms, and the number of reads.
func (s story) want(t *testing.T, reads, own, cross, inflight int) {
	t.Helper()
	got := s.meter.Staleness()
	sum := func(mean float64, count uint64) int { return int(mean*float64(count) + 0.5) }
	o, c, i := sum(got.Own.Mean(), got.Own.Count()), sum(got.Cross.Mean(), got.Cross.Count()),
		sum(got.Inflight.Mean(), got.Inflight.Count())
	if int(got.Own.Count()) != reads || o != own || c != cross || i != inflight {
		t.Errorf("%d reads, own %d, cross %d, inflight %d; want %d, %d, %d, %d",
			got.Own.Count(), o, c, i, reads, own, cross, inflight)
	}
}

// A rank that is back issues lookups again and finishes batches again: each counts once.
func TestMeterCountsABatchOfARankThatIsBackOnce(t *testing.T) {
	s := story{pace.NewMeter(1, 1)}
	for _, step := range []int32{0, 1, 0, 1} {
		s.issue(0, step)
	}
	s.route(0, 0, 1)
	s.route(0, 1, 1)
	s.read(0, 0, 0)
	s.want(t, 1, 0, 0, 1) // in flight: step 1
	s.done(0, 0)
	s.done(0, 0)
	s.read(0, 0, 1)
	s.want(t, 2, 1, 0, 1) // own: step 0, whose put is missing; in flight: none
}

// Two ranks, two PSs. Each comment gives the values that a read adds to the sums before it.
func TestMeterByHand(t *testing.T) {
	s := story{pace.NewMeter(2, 2)}
	s.issue(0, 0)
	s.route(0, 0, 3, 1)
	s.read(0, 0, 0)
	s.want(t, 1, 0, 0, 0) // the first read misses nothing

	s.issue(0, 1)
	s.route(0, 1, 3, 0)
	s.read(0, 0, 1) // own: step 0; in flight: step 0; of rank 1 step 0 is not routed
	s.want(t, 2, 1, 0, 1)
	s.read(1, 0, 1) // no rows there: no read
	s.want(t, 2, 1, 0, 1)
	s.read(0, 0, 1) // a repeated lookup is a read
	s.want(t, 3, 2, 0, 2)

	s.route(1, 0, 5, 0) // rank 1's step 0 has rows on PS 0, so both reads missed it
	s.want(t, 3, 2, 2, 2)
	s.route(1, 0, 5, 0) // routed again after a crash: no effect
	s.want(t, 3, 2, 2, 2)

	s.apply(0, 0, 0)
	s.issue(1, 0)
	s.route(1, 1, 1, 1)
	s.issue(1, 1)
	s.read(0, 1, 1) // own: step 0; cross: step 0 is applied here; in flight: three others
	s.want(t, 4, 3, 2, 5)
	s.read(1, 1, 1) // own: step 0 has no rows here; cross: step 0 is missing here; in flight: three
	s.want(t, 5, 3, 3, 8)

	s.apply(1, 0, 0)
	s.done(0, 0)
	s.apply(0, 0, 1)
	s.done(0, 1)
	s.read(1, 1, 1) // nothing is missing; in flight: rank 1's step 0
	s.want(t, 6, 3, 3, 9)
}

// A rank that reads a thousand steps ahead of another misses each routed step of that rank once.
func TestMeterOfRanksFarApart(t *testing.T) {
	s := story{pace.NewMeter(2, 1)}
	for step := range int32(1000) {
		s.issue(0, step)
		s.route(0, step, 1)
		s.apply(0, 0, step)
		s.done(0, step)
	}
	s.route(1, 0, 1)
	s.route(1, 5, 1)
	s.issue(0, 1000)
	s.route(0, 1000, 1)
	s.read(0, 0, 1000)
	s.want(t, 1, 0, 2, 0)
	for step := range int32(1000) {
		s.route(1, step, step%2) // steps 0 and 5 are routed already; of the others 499 are odd
	}
	s.want(t, 1, 0, 2+499, 0)
}

// A meter reuses the memory of steps that are over: in a long run it stops allocating.
func TestMeterStopsAllocating(t *testing.T) {
	const ranks, servers = 3, 2
	s := story{pace.NewMeter(ranks, servers)}
	step := int32(0)
	rows := []int32{1, 1}
	one := func() {
		for rank := range int32(ranks) {
			s.issue(rank, step)
			s.route(rank, step, rows...)
			for p := range int32(servers) {
				s.read(p, rank, step)
			}
		}
		for rank := range int32(ranks) {
			for p := range int32(servers) {
				s.apply(p, rank, step)
			}
			s.done(rank, step)
		}
		step++
	}
	for range 100 {
		one()
	}
	if n := testing.AllocsPerRun(10_000, one); n != 0 {
		t.Errorf("%g allocations a step, want none", n)
	}
	got := s.meter.Staleness()
	if got.Own.Max() != 0 || got.Cross.Max() != 0 || got.Inflight.Max() != ranks-1 {
		t.Errorf("own %d, cross %d, inflight %d; want 0, 0, %d", got.Own.Max(), got.Cross.Max(),
			got.Inflight.Max(), ranks-1)
	}
}

// The result of Staleness shares no memory with the meter.
func TestMeterStalenessIsACopy(t *testing.T) {
	s := story{pace.NewMeter(1, 1)}
	s.issue(0, 0)
	s.route(0, 0, 1)
	s.read(0, 0, 0)
	before := s.meter.Staleness()
	s.read(0, 0, 0)
	if before.Own.Count() != 1 {
		t.Errorf("a later read changed an earlier result: %d reads", before.Own.Count())
	}
	before.Own.Add(7)
	s.want(t, 2, 0, 0, 0)
}

func TestNewMeterPanics(t *testing.T) {
	for _, size := range [][2]int{{0, 1}, {1, 0}} {
		func() {
			defer func() {
				want := fmt.Sprintf("pace: meter for %d ranks and %d embedding PSs; want at least 1",
					size[0], size[1])
				if got := recover(); got != want {
					t.Errorf("panic %v, want %s", got, want)
				}
			}()
			pace.NewMeter(size[0], size[1])
		}()
	}
}

// BenchmarkMeterRead measures one read in a cluster as large as Persia's largest run: 64 ranks and 120 PSs,
// every batch has rows on all PSs, and 6 batches of each rank are missing.
func BenchmarkMeterRead(b *testing.B) {
	const ranks, servers, missing = 64, 120, 6
	s := story{pace.NewMeter(ranks, servers)}
	rows := make([]int32, servers)
	for p := range rows {
		rows[p] = 1
	}
	for rank := range int32(ranks) {
		for step := range int32(missing + 1) {
			s.issue(rank, step)
			s.route(rank, step, rows...)
		}
	}
	read := event.Record{Kind: event.LookupServed, Role: msg.Address{Role: msg.EmbeddingPS}, Step: missing}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		read.Role.Index, read.Rank = int32(i%servers), int32(i%ranks)
		s.meter.Observe(read)
	}
}

// No read misses a gradient that its PS has dropped, or whose step its PS has closed, whether its batch is
// routed before or later. Dropped has the number of these gradients. The read of a dropped batch counts as a
// read, before and after the decision to drop the batch.
func TestNoReadMissesADroppedGradient(t *testing.T) {
	dropped := func(s story) { s.record(event.BatchDropped, msg.Coordinator, 0, 1, 0) }
	closed := func(s story) { s.record(event.StepClosed, msg.EmbeddingPS, 0, event.NoRank, 0) }
	for name, c := range map[string]struct {
		play  func(s story)
		reads int
	}{
		"routed":       {func(s story) { s.route(1, 0, 1, 1); dropped(s); closed(s) }, 1},
		"routed later": {func(s story) { dropped(s); closed(s); s.route(1, 0, 1, 1) }, 1},
		"read, then dropped": {func(s story) {
			s.route(1, 0, 1, 1)
			s.read(0, 1, 0)
			dropped(s)
			closed(s)
		}, 2},
		"dropped, then read": {func(s story) {
			s.route(1, 0, 1, 1)
			dropped(s)
			s.read(0, 1, 0)
			closed(s)
		}, 2},
		"dropped after the close": {func(s story) { s.route(1, 0, 1, 1); closed(s); dropped(s) }, 1},
		"dropped by the PS": {func(s story) {
			s.route(1, 0, 1, 1)
			s.record(event.PutDropped, msg.EmbeddingPS, 0, 1, 0)
		}, 1},
	} {
		s := story{pace.NewMeter(2, 2)}
		s.issue(0, 0)
		s.route(0, 0, 1, 1)
		s.apply(0, 0, 0)
		c.play(s)
		s.issue(0, 1)
		s.route(0, 1, 1, 1)
		s.read(0, 0, 1)
		got := s.meter.Staleness()
		if got.Own.Max() != 0 || got.Cross.Max() != 0 || int(got.Own.Count()) != c.reads || got.Dropped != 1 {
			t.Errorf("%s: own %v, cross %v, %d dropped; want %d reads that miss nothing, 1 dropped",
				name, got.Own.Summary(), got.Cross.Summary(), got.Dropped, c.reads)
		}
	}
	// A dropped push has no staleness.
	s := story{pace.NewMeter(1, 1)}
	s.record(event.PullServed, msg.DensePS, 0, 0, 0)
	s.record(event.PushDropped, msg.DensePS, 0, 0, 0)
	if got := s.meter.Staleness(); got.Dense.Count() != 0 || got.Dropped != 1 {
		t.Errorf("%d pushes, %d dropped; want 0 and 1", got.Dense.Count(), got.Dropped)
	}
}
