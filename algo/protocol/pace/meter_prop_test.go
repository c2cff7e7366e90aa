package pace_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/protocol/search"
	"tandem/algo/rng"
	"tandem/algo/unit"
)

// tap is a role that passes its records to observers.
type tap struct {
	role.Role
	observers []event.Observer
}

func (t tap) HandleInput(now unit.Tick, in role.Input, out *role.Outputs) {
	t.Role.HandleInput(now, in, out)
	for _, o := range out.List {
		if o.Kind == role.Record {
			for _, observer := range t.observers {
				observer.Observe(o.Event)
			}
		}
	}
}

// tapped returns a constructor of the roles of a run that pass their records to observers.
func tapped(observers ...event.Observer) func(*role.Config) []role.Role {
	return func(cfg *role.Config) []role.Role {
		roles := role.New(cfg)
		for i, r := range roles {
			roles[i] = tap{r, observers}
		}
		return roles
	}
}

// drawRule draws a rule of modes sync and hybrid.
func drawRule(t *rapid.T) pace.Rule {
	staleness := rapid.IntRange(0, 4).Draw(t, "staleness")
	return rapid.SampledFrom([]pace.Rule{
		pace.Sync{Overlap: pace.OverlapNone}, pace.Sync{Overlap: pace.OverlapIDs},
		pace.Sync{Overlap: pace.OverlapIDsDS},
		pace.Hybrid{Staleness: staleness, Overlap: pace.HybridNaive},
		pace.Hybrid{Staleness: staleness, Overlap: pace.HybridDS},
	}).Draw(t, "rule")
}

// On random walks through random clusters, with faults, the meter measures the same staleness as the
// reference and the search, within the bounds of the rule.
func TestMeterOnWalks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := drawRule(t)
		count := func(name string, most int32) int32 { return rapid.Int32Range(1, most).Draw(t, name) }
		cfg := role.Config{
			Ranks: count("ranks", 3), EmbeddingWorkers: count("EWs", 3), EmbeddingPSs: count("PSs", 3),
			Steps: count("steps", 6), Rule: rule, Prefetch: count("prefetch", 6),
			EdgeWindow: count("window", 3),
			Buckets:    make([]unit.Bytes, count("buckets", 2)),
		}
		faults := rapid.IntRange(0, 4).Draw(t, "faults")
		if faults > 0 {
			cfg.Retry = unit.Second
		}
		seed := rapid.Uint64().Draw(t, "seed")
		meter := pace.NewMeter(int(cfg.Ranks), int(cfg.EmbeddingPSs))
		want := &reference{ranks: cfg.Ranks}
		report, err := search.Walk(search.Setting{
			Config: cfg, Faults: faults, Roles: tapped(meter, want),
			// A role that comes back by a redo log makes its records again, which a driver sorts out.
			Crashes: func(at msg.Address) bool { return role.CanRestart(at.Role) },
			Touches: func(rank, step, shard int32) bool {
				return rng.Unit(rng.Key(seed, "touch", uint64(rank), uint64(step)), int(shard)) < 0.6
			},
		}, rng.New(seed, "walk"))
		if err != nil {
			t.Fatal(err)
		}
		got := meter.Staleness()
		compareMeters(t, got, want.Staleness())
		b := rule.Bounds(int(cfg.Ranks))
		if got.Own.Max() > b.Own || got.Cross.Max() > b.Cross || got.Inflight.Max() > b.Inflight {
			t.Fatalf("own %d, cross %d, inflight %d; bounds %+v",
				got.Own.Max(), got.Cross.Max(), got.Inflight.Max(), b)
		}
		// In sync the search also counts lookups without rows.
		seen := search.Seen{
			Own: got.Own.Max(), Cross: got.Cross.Max(), Inflight: got.Inflight.Max(),
			Reads: int(got.Own.Count()),
		}
		if !rule.EveryPS() && seen != report.Seen {
			t.Fatalf("the meter has %+v, the search %+v", seen, report.Seen)
		}
	})
}

// For records in any legal order, also of ranks that are more than a hundred steps apart, the meter measures
// the same staleness as the reference, in the middle and at the end.
func TestMeterOnRandomRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.Int32Range(1, 3).Draw(t, "ranks")
		h := history{
			random:  rng.New(rapid.Uint64().Draw(t, "seed"), "records"),
			steps:   rapid.SampledFrom([]int32{150, 20, 3}).Draw(t, "steps"),
			servers: rapid.Int32Range(1, 3).Draw(t, "servers"),
			order:   rapid.SampledFrom([]int{60, 4, 1}).Draw(t, "order"),
			lead:    rapid.SampledFrom([]int32{0, 120}).Draw(t, "lead"),
		}
		meter := pace.NewMeter(int(ranks), int(h.servers))
		want := &reference{ranks: ranks}
		records := h.records(ranks)
		for i, r := range records {
			meter.Observe(r)
			want.Observe(r)
			if i == len(records)/2 {
				compareMeters(t, meter.Staleness(), want.Staleness())
			}
		}
		compareMeters(t, meter.Staleness(), want.Staleness())
	})
}

// After the crash of a rank, whose last records are lost, its batches of before end with their puts, and
// those that it trains again count once.
func TestRankThatIsBackHasNoLostBatches(t *testing.T) {
	ps := msg.Address{Role: msg.EmbeddingPS}
	m := pace.NewMeter(2, 1)
	observe := func(kind event.Kind, rank, step int32) {
		r := event.Record{Kind: kind, Rank: rank, Step: step}
		switch kind {
		case event.BatchRouted:
			r.Rows = []int32{1}
		case event.LookupServed, event.PutApplied:
			r.Role = ps
		}
		m.Observe(r)
	}
	for step := range int32(4) {
		observe(event.LookupIssued, 0, step)
		observe(event.BatchRouted, 0, step)
	}
	observe(event.PutApplied, 0, 0)
	observe(event.RankReturned, 0, 2) // BatchDone of step 0 is lost; step 1 is not applied yet
	for step := int32(2); step < 4; step++ {
		observe(event.LookupIssued, 0, step)
	}
	observe(event.LookupIssued, 1, 0)
	observe(event.BatchRouted, 1, 0)
	observe(event.LookupServed, 1, 0) // while steps 1 to 3 are outstanding
	observe(event.PutApplied, 0, 1)
	observe(event.LookupServed, 1, 0) // while steps 2 and 3 are
	got := m.Staleness()
	counts := maps.Collect(got.Inflight.All())
	if !maps.Equal(counts, map[int]uint64{3: 1, 2: 1}) {
		t.Errorf("reads by batches in flight: %v, want one with 3 and one with 2", counts)
	}
}

// compareMeters fails unless the histograms are equal.
func compareMeters(t *rapid.T, got, want pace.Staleness) {
	if !equal(&got.Own, &want.Own) || !equal(&got.Cross, &want.Cross) ||
		!equal(&got.Inflight, &want.Inflight) {
		t.Fatalf("own %+v, cross %+v, inflight %+v\nreference: own %+v, cross %+v, inflight %+v",
			got.Own.Summary(), got.Cross.Summary(), got.Inflight.Summary(),
			want.Own.Summary(), want.Cross.Summary(), want.Inflight.Summary())
	}
}

// history generates records in a random order that respects causality: a batch is issued and routed, then
// read where it has rows, then applied there, then done.
type history struct {
	random  *rand.Rand
	steps   int32 // of each rank
	servers int32
	order   int   // larger values are nearer to the order of steps
	lead    int32 // approximate number of steps by which rank 0 is ahead
}

func (h *history) records(ranks int32) []event.Record {
	var queues [][]event.Record // the records of each batch, in their order
	var due []int32
	for rank := range ranks {
		for step := range h.steps {
			queues = append(queues, h.batch(rank, step))
			if due = append(due, step); rank > 0 {
				due[len(due)-1] += h.lead
			}
		}
	}
	var out []event.Record
	for len(queues) > 0 {
		i := h.random.IntN(len(queues))
		for range h.order {
			if j := h.random.IntN(len(queues)); due[j] < due[i] {
				i = j
			}
		}
		out = append(out, queues[i][0])
		if queues[i] = queues[i][1:]; len(queues[i]) == 0 {
			queues = slices.Delete(queues, i, i+1)
			due = slices.Delete(due, i, i+1)
		}
	}
	return out
}

// batch returns the records of a batch.
func (h *history) batch(rank, step int32) []event.Record {
	worker := msg.Address{Role: msg.EmbeddingWorker}
	nn := msg.Address{Role: msg.NNWorker, Index: rank}
	rows := make([]int32, h.servers)
	var reads, puts []event.Record
	for p := range rows {
		ps := msg.Address{Role: msg.EmbeddingPS, Index: int32(p)}
		rows[p] = int32(h.random.IntN(3))
		for range 1 + h.random.IntN(2) { // a lookup may be repeated, also one without rows
			reads = append(reads, event.Record{Role: ps, Kind: event.LookupServed, Rank: rank, Step: step})
		}
		puts = append(puts, event.Record{Role: ps, Kind: event.PutApplied, Rank: rank, Step: step})
	}
	h.random.Shuffle(len(puts), func(i, j int) { puts[i], puts[j] = puts[j], puts[i] })
	routed := event.Record{Role: worker, Kind: event.BatchRouted, Rank: rank, Step: step, Rows: rows}
	all := []event.Record{{Role: nn, Kind: event.LookupIssued, Rank: rank, Step: step}, routed}
	all = append(all, reads...)
	if h.random.IntN(4) == 0 {
		all = append(all, routed) // the EW has restarted
	}
	all = append(all, puts...)
	all = append(all, event.Record{Role: nn, Kind: event.BatchDone, Rank: rank, Step: step})
	if h.random.IntN(4) == 0 {
		all = append(all, routed)
	}
	return all
}
