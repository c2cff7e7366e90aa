package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/exec/frequent"
	"tandem/algo/exec/reference"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/shard"
	"tandem/algo/numeric/table"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/rng"
	"tandem/algo/unit"
	"tandem/sim/cost"
)

// samples is a source of random samples of two slots; the last batch is short.
type samples struct{ steps, size, last int }

func (s samples) Steps() int { return s.steps }
func (s samples) Samples(step int) int {
	if step == s.steps-1 {
		return s.last
	}
	return s.size
}

func (s samples) Schema() *batch.Schema {
	return &batch.Schema{
		Slots:  []batch.Slot{{Name: "user", Dim: 3}, {Name: "tags", Dim: 3}},
		Labels: []string{"click"}, PrefixBits: 8,
	}
}

func (s samples) Read(step int) (*batch.Batch, error) {
	draw := rng.New(1, "samples", uint64(step))
	b := &batch.Batch{Samples: s.Samples(step), Slots: make([]batch.Jagged, 2)}
	for slot := range b.Slots {
		b.Slots[slot].Offsets = []int32{0}
	}
	for range b.Samples {
		for slot, ids := range []int{1, draw.IntN(4)} {
			j := &b.Slots[slot]
			for range ids {
				j.IDs = append(j.IDs, draw.Uint64N(40))
			}
			j.Offsets = append(j.Offsets, int32(len(j.IDs)))
		}
		b.Labels = append(b.Labels, float32(draw.IntN(2)))
	}
	return b, nil
}

// serial are numbers that are done on the goroutine of the simulator: work that may be done at any time at
// once, or, if late says so, when it is waited for.
type serial struct {
	*exec.Executor
	batch.Source
	stores map[msg.Address]*exec.Store
	late   func() bool
	did    func(at msg.Address, w role.Work)
}

func newSerial(t job.Job, source batch.Source) (*serial, error) {
	p, err := exec.New(t, source, backend.Backend{})
	return &serial{
		p, source, map[msg.Address]*exec.Store{}, func() bool { return false },
		func(msg.Address, role.Work) {},
	}, err
}

func (s *serial) store(at msg.Address) *exec.Store {
	if s.stores[at] == nil {
		s.stores[at] = exec.NewStore()
	}
	return s.stores[at]
}

func (s *serial) Do(at msg.Address, w role.Work, o role.Operands) (role.Result, error) {
	s.did(at, w)
	return s.Executor.Execute(at, s.store(at), w, o, func(int32) {})
}

func (s *serial) Start(at msg.Address, w role.Work, o role.Operands) func() (role.Result, error) {
	if updates(w.Kind) || w.Kind == role.ReadRows || w.Kind == role.ReadDense || w.Kind == role.Snapshot {
		panic(fmt.Sprintf("%v: %v was left to run at any time", at, w.Kind))
	}
	var r role.Result
	var err error
	done := false
	wait := func() (role.Result, error) {
		if !done {
			r, err = s.Executor.Execute(at, s.store(at), w, o, func(int32) {})
			done = true
		}
		return r, err
	}
	if !s.late() {
		wait()
	}
	return wait
}

func (s *serial) Payload(m msg.Message, h role.Handle) exec.Payload {
	return s.Executor.Payload(s.store(m.From), m, h)
}
func (s *serial) Keep(m msg.Message, h role.Handle, payload exec.Payload) {
	s.Executor.Keep(s.store(m.To), m, h, payload, nil)
}
func (s *serial) Feed(at msg.Address, c role.Contribution) { s.Executor.Feed(s.store(at), c) }
func (s *serial) Release(at msg.Address, h role.Handle)    { s.store(at).Release(h) }
func (s *serial) Crash(at msg.Address)                     { delete(s.stores, at) }
func (s *serial) Reduce(step, bucket int32)                { s.Executor.Reduce(step, bucket) }

// bits are fingerprints of all that a run has trained.
type bits struct {
	dense, rows uint64
	count       int
}

func bitsOf(dense uint64, shards ...*table.Table) bits {
	b := bits{dense: dense}
	for _, s := range shards {
		b.rows += s.Digest()
		b.count += s.Len()
	}
	return b
}

// numeric is a job on samples, with a small network.
func numeric(mode string, ranks int) job.Job {
	t := job.Default()
	t.Training.Mode, t.Roles.Ranks, t.Training.GlobalBatch, t.Training.Prefetch = mode, ranks, 32, 4
	t.Model.Spec = model.Spec{Kind: model.FeedForward, EmbeddingDim: 3, Top: []int{5}, Activation: model.ReLU,
		BatchNorm: true}
	t.Model.Optimizer.Rate = 0.05
	return t
}

// counted is the workload of samples, roughly.
func counted() cost.Workload {
	return cost.Workload{
		Occurrences: 2.5, Distinct: func(n int) float64 { return min(80, 2.5*float64(n)) },
		RowDim: 3, RowBytes: 12, RowState: 12, Labels: 1, Rows: 80,
	}
}

// hotCounted describes hot rows of samples, roughly.
func hotCounted(hot *shard.Hot) *cost.HotRows {
	rows := float64(hot.Len())
	return &cost.HotRows{Rows: rows, Values: 3 * rows, Batch: func(samples int) cost.HotBatch {
		n := float64(samples)
		return cost.HotBatch{Rows: min(n, rows), Cold: min(n, 80-rows), Occurrences: n, Pooled: 2 * n,
			Bags: n, ToRank: 3 * n, ToEW: 4.5 * n}
	}}
}

// hosts returns a cluster with a number of EWs and PSs, which may be folded.
func hosts(workers, servers int) job.Cluster {
	s := small()
	s.EmbeddingWorkers.Count, s.EmbeddingWorkers.PerHost = workers, 1
	s.EmbeddingPSs.Count, s.EmbeddingPSs.PerHost = servers, 1
	return s
}

// simulate trains with numbers that prepare may change.
func simulate(t testing.TB, s job.Cluster, j job.Job, source batch.Source, o Options,
	prepare func(*serial)) (Result, *serial) {
	t.Helper()
	if err := frequent.Choose(&j, source, 0); err != nil {
		t.Fatal(err)
	}
	engine, err := backend.NewEngine(&j, source.Schema(), backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	w := counted()
	if j.HasHotRows() {
		w.Hot = hotCounted(j.Rows.Hot.Rows())
	}
	var n *serial
	o.check = true
	o.Numerics = func(j job.Job) (Numerics, error) {
		n, err = newSerial(j, source)
		prepare(n)
		return n, err
	}
	a, err := Run(hardwareOf(t, s), j, engine.Layout(), w, o)
	if err != nil {
		t.Fatal(err)
	}
	for at, store := range n.stores { // order-free: each is checked by itself
		if store.Len() > 0 {
			t.Errorf("%v holds %d handles at the end", at, store.Len())
		}
	}
	return a, n
}

// Sync in simulated time is sequential training, bit for bit, for every number of ranks, EWs and PSs, though
// the last batch is so short that ranks go without, and whether some rows, all or none are hot.
func TestSimulatedSyncIsSequentialBitForBit(t *testing.T) {
	source := samples{steps: 9, size: 32, last: 3}
	q, err := reference.NewSequential(numeric(job.Sequential, 1), source, backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	for step := range source.Steps() {
		if err := q.Step(step); err != nil {
			t.Fatal(err)
		}
	}
	want := bitsOf(q.Dense().Digest(), q.Rows()...)
	for i, ranks := range []int{1, 2, 4, 8} {
		for k, overlap := range []string{"none", "ids", "ids+ds"} {
			for tables, share := range []float64{0, 0.03, 1e-9} {
				j := numeric(job.Sync, ranks)
				j.Training.Overlap, j.Rows.Hot.Share = overlap, share
				_, n := simulate(t, hosts(1+i, 3-k), j, source, Options{}, func(*serial) {})
				got := bitsOf(n.Model().DenseDigest(), n.Model().Tables()...)
				if got != want || len(n.Model().Tables()) != 3-k+min(tables, 1) {
					t.Errorf("N=%d %s, hot from %v: %x, sequential has %x", ranks, overlap, share, got, want)
				}
				if hot := n.Model().Tables()[len(n.Model().Tables())-1]; share == 0.03 &&
					(hot.Len() == 0 || hot.Len() == got.count) {
					t.Errorf("%d rows of %d are hot, want some", hot.Len(), got.count)
				}
			}
		}
	}
}

// Hybrid in simulated time with all rows hot is sequential training, bit for bit: no read is stale.
func TestSimulatedHybridWithAllRowsHotIsSequential(t *testing.T) {
	source := samples{steps: 9, size: 32, last: 3}
	q, err := reference.NewSequential(numeric(job.Sequential, 1), source, backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	for step := range source.Steps() {
		if err := q.Step(step); err != nil {
			t.Fatal(err)
		}
	}
	j := numeric(job.Hybrid, 4)
	j.Rows.Hot.Share = 1e-9
	_, n := simulate(t, hosts(2, 2), j, source, Options{Jitter: 1, Seed: 5}, func(*serial) {})
	if got, want := bitsOf(n.Model().DenseDigest(), n.Model().Tables()...),
		bitsOf(q.Dense().Digest(), q.Rows()...); got != want {
		t.Errorf("%x, sequential has %x", got, want)
	}
	if missed, hot := n.Model().Missed(); missed.Max() != 0 || hot == 0 || missed.Count() != hot {
		t.Errorf("%d of %d gradients are of hot rows, and missed up to %d updates", hot, missed.Count(),
			missed.Max())
	}
}

// Where rows stay zeros, nothing can be stale: the network of simulated hybrid training is that of sequential
// training, bit for bit, for any number of ranks.
func TestSimulatedNetworkOfAnyRanksIsSequential(t *testing.T) {
	source := samples{steps: 9, size: 32, last: 3}
	for _, ranks := range []int{3, 6, 24, 31} {
		sequential, j := numeric(job.Sequential, ranks), numeric(job.Hybrid, ranks)
		sequential.Rows.Admission, j.Rows.Admission = 1e-300, 1e-300
		q, err := reference.NewSequential(sequential, source, backend.Backend{})
		if err != nil {
			t.Fatal(err)
		}
		for step := range source.Steps() {
			if err := q.Step(step); err != nil {
				t.Fatal(err)
			}
		}
		_, n := simulate(t, hosts(2, 2), j, source, Options{Jitter: 0.5, Seed: 1}, func(*serial) {})
		if got, want := n.Model().DenseDigest(), q.Dense().Digest(); got != want {
			t.Errorf("%d ranks: network %x, sequential's %x", ranks, got, want)
		}
	}
}

// Work that no other work depends on may run at once, when its result is needed, or at random in between: in
// every mode, bits and instants stay the same.
func TestBitsDoNotDependOnTheMachine(t *testing.T) {
	checkSome(t, func(r *rapid.T) {
		j := numeric(rapid.SampledFrom(job.Modes()[1:]).Draw(r, "mode"),
			rapid.IntRange(1, 8).Draw(r, "ranks"))
		j.Training.Groups = 1 << rapid.IntRange(3, 5).Draw(r, "log₂ groups")
		if j.Validate() != nil { // an exact mode
			j.Roles.Ranks = 8
		}
		j.Roles.DensePSs = rapid.IntRange(1, 3).Draw(r, "dense PSs")
		j.Training.ModeSettings = map[string]int{"every": rapid.IntRange(1, 3).Draw(r, "average every")}
		j = j.InMode(j.Training.Mode)
		source := samples{steps: rapid.IntRange(1, 8).Draw(r, "steps"), size: 32,
			last: rapid.IntRange(1, 32).Draw(r, "last")}
		s := hosts(rapid.IntRange(1, 3).Draw(r, "EWs"), rapid.IntRange(1, 3).Draw(r, "PSs"))
		checkAnyTime(r, t, s, j, source, rapid.Uint64().Draw(r, "seed"))
	})
}

// The same where each mode has something to mix up: four ranks, two dense PSs.
func TestBitsOfEveryModeDoNotDependOnTheMachine(t *testing.T) {
	for _, mode := range job.Modes()[1:] {
		j := numeric(mode, 4)
		j.Roles.DensePSs, j.Training.ModeSettings = 2, map[string]int{"every": 2}
		j = j.InMode(mode)
		checkAnyTime(t, t, hosts(2, 2), j, samples{steps: 20, size: 32, last: 7}, 1)
	}
}

// checkAnyTime trains with numbers done as early as may be, as late, and at random.
func checkAnyTime(r rapid.TB, t testing.TB, s job.Cluster, j job.Job, source batch.Source, seed uint64) {
	o := Options{Jitter: 0.5, Seed: 1}
	train := func(late func() bool) (bits, unit.Tick) {
		a, n := simulate(t, s, j, source, o, func(n *serial) { n.late = late })
		return bitsOf(n.Model().DenseDigest(), n.Model().Tables()...), a.Elapsed
	}
	draw := rng.New(seed, "late")
	early, end := train(func() bool { return false })
	for _, late := range []func() bool{func() bool { return true },
		func() bool { return draw.IntN(2) == 0 }} {
		if got, at := train(late); got != early || at != end {
			r.Errorf("%s: %x after %v and %x after %v", j.Training.Mode, early, end, got, at)
		}
	}
}

// ledger collects, by PS, the reads and updates that records tell of.
type ledger map[msg.Address][]string

func (l ledger) Observe(e event.Record) {
	if e.Role.Role == msg.EmbeddingPS {
		switch e.Kind {
		case event.LookupServed:
			l[e.Role] = append(l[e.Role], fmt.Sprint("read ", e.Rank, " ", e.Step))
		case event.PutApplied:
			l[e.Role] = append(l[e.Role], fmt.Sprint("apply ", e.Rank, " ", e.Step))
		}
	}
}

// The staleness that the meter counts is that of the numbers: on every PS, rows are read and updated in the
// order in which the records say so. A record is made when the role issues the work, which may be queued; but
// a PS has one queue.
func TestRowsAreReadAndUpdatedAsRecorded(t *testing.T) {
	told, did := ledger{}, ledger{}
	source := samples{steps: 30, size: 32, last: 32}
	simulate(t, hosts(2, 2), numeric(job.Hybrid, 4), source, Options{Jitter: 1, Seed: 3, Observer: told},
		func(n *serial) {
			n.did = func(at msg.Address, w role.Work) {
				if w.Kind == role.ReadRows || w.Kind == role.Apply {
					kind := map[role.WorkKind]string{role.ReadRows: "read ", role.Apply: "apply "}[w.Kind]
					did[at] = append(did[at], fmt.Sprint(kind, w.Rank, " ", w.Step))
				}
			}
		})
	for at, want := range told { // order-free: each PS is checked by itself
		if !slices.Equal(did[at], want) || len(want) != 2*4*30 {
			t.Errorf("%v: records tell of %d, it did %d:\n%v\n%v", at, len(want), len(did[at]), want, did[at])
		}
	}
	if len(told) != 2 {
		t.Errorf("%d PSs", len(told))
	}
}

// Staleness of real rows keeps its bounds, and there is some.
func TestSimulatedHybridKeepsItsBounds(t *testing.T) {
	for _, staleness := range []int{0, 1, 3} {
		j := numeric(job.Hybrid, 4)
		j.Training.Staleness = &staleness
		a, n := simulate(t, hosts(2, 2), j, samples{steps: 30, size: 32, last: 9},
			Options{Jitter: 1, Seed: 5}, func(*serial) {})
		rule, err := j.Rule()
		if err != nil {
			t.Fatal(err)
		}
		bounds, s := rule.Bounds(4), a.Staleness
		missed, _ := n.Model().Missed()
		if s.Own.Max() > bounds.Own || s.Cross.Max() > bounds.Cross || s.Inflight.Max() > bounds.Inflight {
			t.Errorf("τ=%d: own %d, cross %d, inflight %d; promised %+v", staleness, s.Own.Max(),
				s.Cross.Max(), s.Inflight.Max(), bounds)
		}
		if missed.Max() == 0 || staleness > 0 && s.Own.Max() == 0 {
			t.Errorf("τ=%d: nothing is stale: %+v, %+v", staleness, missed.Summary(), s.Own.Summary())
		}
	}
}

// broken is a source that fails at a step.
type broken struct{ samples }

var errDisk = errors.New("disk on fire")

func (b broken) Read(step int) (*batch.Batch, error) {
	if step == 3 {
		return nil, errDisk
	}
	return b.samples.Read(step)
}

// A failure of the numbers stops the run, and says who and where.
func TestNumbersFail(t *testing.T) {
	source := samples{steps: 5, size: 32, last: 32}
	for _, c := range []struct {
		source batch.Source
		change func(*job.Job)
		want   string
	}{
		{broken{source}, func(*job.Job) {}, "data-loader 0, step 3: disk on fire"},
		{source, func(j *job.Job) { j.Rows.Capacity = 3 }, "embedding-ps 0, read-rows of step 0"},
		{samples{}, func(*job.Job) {}, "no step"},
	} {
		j := numeric(job.Hybrid, 2)
		c.change(&j)
		engine, err := backend.NewEngine(&j, source.Schema(), backend.Backend{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = Run(hardwareOf(t, hosts(1, 1)), j, engine.Layout(), counted(),
			Options{Numerics: func(j job.Job) (Numerics, error) {
				return newSerial(j, c.source)
			}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// strangers is a source in which no row comes twice: as many rows as samples.
type strangers struct{ samples }

func (s strangers) Schema() *batch.Schema {
	return &batch.Schema{Slots: []batch.Slot{{Name: "user", Dim: 3}}, Labels: []string{"click"},
		PrefixBits: 8}
}

func (s strangers) Read(step int) (*batch.Batch, error) {
	b := &batch.Batch{Samples: s.size, Slots: []batch.Jagged{{Offsets: []int32{0}}},
		Labels: make([]float32, s.size)}
	for i := range s.size {
		b.Slots[0].IDs = append(b.Slots[0].IDs, uint64(step*s.size+i))
		b.Slots[0].Offsets = append(b.Slots[0].Offsets, int32(i+1))
	}
	return b, nil
}

// Where samples have the rows that the workload expects of them, numbers change no price: with one rank a
// step takes, to the nanosecond, what it takes without numbers.
func TestTrueRowsArePricedAsExpectedOnes(t *testing.T) {
	w := counted()
	w.Occurrences, w.Distinct = 1, func(n int) float64 { return float64(n) }
	source := strangers{samples{steps: 16, size: 32, last: 32}}
	for _, mode := range []string{job.Sync, job.Hybrid} {
		j := numeric(mode, 1)
		j.Training.Prefetch = 100 // ids, whose message also counts their places, are there beforehand
		none := 0
		j.Training.Staleness = &none
		engine, err := backend.NewEngine(&j, source.Schema(), backend.Backend{})
		if err != nil {
			t.Fatal(err)
		}
		o := Options{check: true, WarmUp: 5, Measured: 8}
		want, err := Run(hardwareOf(t, hosts(1, 1)), j, engine.Layout(), w, o)
		if err != nil {
			t.Fatal(err)
		}
		o.Numerics = func(j job.Job) (Numerics, error) { return newSerial(j, source) }
		got, err := Run(hardwareOf(t, hosts(1, 1)), j, engine.Layout(), w, o)
		if err != nil {
			t.Fatal(err)
		}
		if got.StepTime != want.StepTime || got.StageTimes != want.StageTimes {
			t.Errorf("%s: a step takes %v, %+v with numbers, and %v, %+v without", mode,
				got.StepTime, got.StageTimes, want.StepTime, want.StageTimes)
		}
	}
}

// A simulated training does not choose its hot rows again. One whose time alone is simulated may.
func TestHotRowsOfASimulatedTrainingAreFixed(t *testing.T) {
	j := numeric(job.Hybrid, 2)
	j.Rows.Hot = job.Hot{Share: 1e-9, Every: 2}
	source := samples{steps: 9, size: 32, last: 3}
	if err := frequent.Choose(&j, source, 0); err != nil {
		t.Fatal(err)
	}
	engine, err := backend.NewEngine(&j, source.Schema(), backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	w := counted()
	w.Hot = hotCounted(j.Rows.Hot.Rows())
	for _, o := range []Options{{}, {Numerics: func(job.Job) (Numerics, error) { return nil, nil }}} {
		_, err := Run(hardwareOf(t, hosts(2, 2)), j, engine.Layout(), w, o)
		const want = "cluster: rows.hot.every = 2: a simulated training has the same hot rows from its first"
		if (err != nil) != (o.Numerics != nil) || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("numerics %t: error %v", o.Numerics != nil, err)
		}
	}
}
