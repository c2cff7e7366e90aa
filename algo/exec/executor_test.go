package exec

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/exectest"
	"tandem/algo/exec/reference"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/table"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// The work of the roles, executed one item after the other, equals the sequential reference bit for bit, for
// any number of ranks and PSs. The last batch has 5 samples for 8 groups, so some groups are empty.
func TestWorkOfTheRolesIsASequentialStep(t *testing.T) {
	source := exectest.NewColumns(16*3+5, 16)
	for _, merge := range []string{job.MergeStep, job.MergeRank} {
		for _, scale := range []string{job.ScaleGlobal, job.ScaleRank} {
			for _, ranks := range []int{1, 2, 4} {
				for _, servers := range []int{1, 3} {
					t.Run(fmt.Sprintf("merge=%s scale=%s N=%d PSs=%d", merge, scale, ranks, servers),
						func(t *testing.T) {
							parallel := exectest.Job(ranks, servers)
							parallel.Training.Merge, parallel.Training.Scale = merge, scale
							q, s := mustNewSequential(t, parallel, source), newScript(t, parallel, source)
							for step := range source.Steps() {
								if err := q.Step(step); err != nil {
									t.Fatal(err)
								}
								s.train(merge == job.MergeRank)
								if got, want := s.p.Model().DenseDigest(), q.Dense().Digest(); got != want {
									t.Fatalf("step %d: dense network %x, want %x", step, got, want)
								}
								if got, want := s.rowsDigest(), q.Rows()[0].Digest(); got != want {
									t.Fatalf("step %d: rows %x, want %x", step, got, want)
								}
							}
						})
				}
			}
		}
	}
}

// The equality also holds for a hash-stack that two slots of a feature group share, so that rows repeat
// within a sum and across slots, for scaled sums, two labels, gradual admission of rows and a learning rate
// that changes with every step.
func TestSettingsOfSlotsHeadsAndRowsKeepWorkSequential(t *testing.T) {
	source := exectest.NewColumns(16*3+5, 16)
	for s := range source.Fields.Slots {
		slot := &source.Fields.Slots[s]
		slot.Group, slot.Scale, slot.HashStack = "items", batch.Mean, batch.HashStack{Rounds: 2, Rows: 7}
	}
	source.Fields.Labels, source.All.Labels = []string{"click", "buy"}, nil
	for i := range source.All.Samples {
		source.All.Labels = append(source.All.Labels, float32(i%2), float32(i/2%2))
	}
	settings := func(ranks, servers int) job.Job {
		one := exectest.Job(ranks, servers)
		one.Model.Heads = []model.Head{{Layers: []int{3}}, {Weight: 0.5}}
		one.Rows.Admission = 0.5
		one.Rows.Optimizer.Schedule = opt.Schedule{WarmUp: 2, Decay: opt.LinearDecay, Steps: 5}
		return one
	}
	q := mustNewSequential(t, settings(1, 1), source)
	mustStep(t, q, source.Steps())
	if got := q.Rows()[0].Len(); got < 8 || got > 14 {
		t.Errorf("%d rows, want most of the hash-stack's 2·7", got)
	}
	for _, ranks := range []int{1, 2, 4} {
		s := newScript(t, settings(ranks, 3), source)
		for range source.Steps() {
			s.train(false)
		}
		if s.p.Model().DenseDigest() != q.Dense().Digest() || s.rowsDigest() != q.Rows()[0].Digest() {
			t.Errorf("N=%d: dense network and rows differ from the reference", ranks)
		}
		got, err := s.p.Model().NewTestSet(source.All).Evaluate(s.p.Model())
		if len(got) != 2*source.All.Samples {
			t.Errorf("%d predictions of %d samples with two labels", len(got), source.All.Samples)
		}
		if want := evaluate(q, source.All); err != nil || !slices.Equal(got, want) {
			t.Errorf("N=%d: predictions differ from the reference, error %v", ranks, err)
		}
	}
}

// The equality also holds for narrow rows, because the random bits of their rounding follow from a row's
// history. With eviction it holds for one PS, because which row is evicted depends on the other rows and on
// the order of reads.
func TestNarrowAndEvictedRowsKeepWorkSequential(t *testing.T) {
	source := exectest.NewColumns(16*4, 16)
	for _, precision := range []table.Precision{table.BF16, table.FP16} {
		settings := func(ranks, servers int) job.Job {
			one := exectest.Job(ranks, servers)
			one.Rows.Precision = precision.String()
			return one
		}
		q := mustNewSequential(t, settings(1, 1), source)
		mustStep(t, q, source.Steps())
		rows := q.Rows()[0].Len()
		for _, ranks := range []int{1, 2, 4} {
			s := newScript(t, settings(ranks, 3), source)
			for range source.Steps() {
				s.train(false)
			}
			if s.p.Model().DenseDigest() != q.Dense().Digest() || s.rowsDigest() != q.Rows()[0].Digest() {
				t.Errorf("%v, N=%d: dense network and rows differ from the reference", precision, ranks)
			}
			evicting := settings(ranks, 1)
			evicting.Rows.Capacity, evicting.Rows.Eviction = rows/2, job.SecondChance
			q := mustNewSequential(t, evicting, source)
			mustStep(t, q, source.Steps())
			s = newScript(t, evicting, source)
			for range source.Steps() {
				s.train(false)
			}
			if q.Rows()[0].Evicted() == 0 || q.Rows()[0].Outcomes().Evicted == 0 {
				t.Errorf("%v: nothing was evicted of %d rows, so the test proves nothing", precision, rows)
			}
			if s.p.Model().DenseDigest() != q.Dense().Digest() || s.rowsDigest() != q.Rows()[0].Digest() {
				t.Errorf("%v, N=%d, evicting: dense network and rows differ from the reference", precision,
					ranks)
			}
		}
	}
}

// A put is applied at the learning rate of its own step, even if it comes late.
func TestPutsTakeTheRateOfTheirStep(t *testing.T) {
	settings := exectest.Job(1, 1)
	settings.Rows.Optimizer = opt.RowSpec{Kind: opt.SGD, Rate: 8, Schedule: opt.Schedule{WarmUp: 4}}
	settings.Rows.Init = 0
	p, store := mustNew(t, settings, exectest.NewColumns(16, 16)), NewStore()
	row := make([]float32, 3)
	if err := p.Model().Tables()[0].Lookup([]uint64{1}, row); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		step int32
		want float32 // of the row: 16 samples of a summed gradient −16, so one rate further
	}{{9, 8}, {0, 8 + 2}, {2, 8 + 2 + 6}} {
		store.set(role.Handle{Kind: role.ShardGrads, Step: c.step},
			&Put{Samples: 16, Signs: plain(1), Sums: compress.Pack(compress.FP32, []float32{-16, -16, -16})})
		if _, err := p.Execute(server(0), store, role.Work{Kind: role.Apply, Step: c.step, StepSamples: 16},
			role.Operands{Reads: []role.Handle{{Kind: role.ShardGrads, Step: c.step}}}, nil); err != nil {
			t.Fatal(err)
		}
		if p.Model().Tables()[0].Snapshot([]uint64{1}, row); row[0] != c.want {
			t.Errorf("after the put of step %d: %v, want %v", c.step, row[0], c.want)
		}
	}
}

// The counts in results are the counts of the data. 16 samples of one numeric feature and one label in two
// parts; a part's ids take 8 bytes each, and each of its two slots 4 bytes for an offset a sample and one
// more.
func TestResultsCountTheData(t *testing.T) {
	source := exectest.NewColumns(16, 16)
	s := newScript(t, exectest.Job(2, 2), source)
	s.read = s.do(dataLoader, role.Read, event.NoRank)
	for rank := range 2 {
		ids := 0
		for _, slot := range source.All.Slots {
			ids += int(slot.Offsets[8*rank+8] - slot.Offsets[8*rank])
		}
		want := unit.Bytes(8*ids + 2*4*9)
		if s.read.Samples[rank] != 8 || s.read.SampleBytes[rank] != 4*8*2 || s.read.IDBytes[rank] != want {
			t.Errorf("rank %d: %+v, want 8 samples, 64 bytes, ids of %d bytes", rank, s.read, want)
		}
	}
	s.send(msg.IDFeatures, dataLoader, embeddingWorker, 1)
	split := s.do(embeddingWorker, role.Split, 1)
	routed := get[*resolved](s.stores[embeddingWorker], role.Handle{Kind: role.RoutedIDs, Rank: 1})
	for p := range 2 {
		n := len(routed.ShardSigns(p))
		if int(split.Rows[p]) != n || split.SignBytes[p] != unit.Bytes(8*n) ||
			split.ValueBytes[p] != unit.Bytes(12*n) {
			t.Errorf("PS %d owns %d rows: %+v", p, n, split)
		}
	}
}

// N ranks share a replica: the first takes the optimizer step, the others find it taken.
func TestDenseStepIsPerformedOnce(t *testing.T) {
	s := newScript(t, exectest.Job(4, 1), exectest.NewColumns(32, 16))
	s.train(false)
	weights := s.p.Model().Weights(nnWorker(0)).(*model.HostReplica)
	if weights.Steps() != 1 {
		t.Fatalf("%d optimizer steps of 4 ranks, want 1", weights.Steps())
	}
	before := weights.Digest()
	sum := s.p.dense.NewSum(0) // the one vector of all steps
	if err := s.p.dense.ApplyGradients(role.Work{Rank: 1, StepSamples: 16}, sum); err != nil ||
		weights.Digest() != before {
		t.Error("a late rank has applied step 0 again", err)
	}
	s.train(false)
	if weights.Steps() != 2 || weights.Digest() == before {
		t.Errorf("%d optimizer steps after two steps", weights.Steps())
	}
}

func TestNonFiniteLossIsReported(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		source := exectest.NewColumns(16, 16)
		source.All.Dense[9] = float32(bad)
		s := newScript(t, exectest.Job(2, 1), source)
		s.read = s.do(dataLoader, role.Read, event.NoRank)
		for rank := range s.ranks() {
			s.lookup(rank)
			s.do(nnWorker(rank), role.Forward, rank)
			r := s.do(nnWorker(rank), role.Backward, rank)
			if want := rank == 1; (r.NotFinite != "") != want { // sample 9 is the second of rank 1
				t.Errorf("%v in rank 1: rank %d not finite: %q", bad, rank, r.NotFinite)
			}
		}
		err := mustNewSequential(t, exectest.Job(2, 1), source).Step(0)
		if err == nil || !strings.Contains(err.Error(), "the loss or a gradient is not finite; lower the "+
			"learning rate or check the data; first found in the numeric features, 1 of ") {
			t.Errorf("sequential: %v", err)
		}
	}
}

func plain(signs ...uint64) compress.Signs { return compress.Signs{Plain: signs} }

func TestApplyReportsBadPuts(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range []struct {
		name string
		put  Put
		want string
	}{
		{"a row not finite", Put{Samples: 8, Signs: plain(1, 2),
			Sums: compress.Pack(compress.FP32, []float32{1, 1, 1, 1, nan, 1})},
			"1 of 2 row gradients are not finite; lower the learning rate"},
		{"a row never looked up", Put{Samples: 8, Signs: plain(1, 3), Sums: compress.Pack(compress.FP32,
			make([]float32, 6))},
			"1 of 2 rows with a gradient do not exist"},
	} {
		for _, k := range []role.WorkKind{role.Apply, role.ApplyStep} {
			p, store := mustNew(t, exectest.Job(1, 1), exectest.NewColumns(16, 16)), NewStore()
			if err := p.Model().Tables()[0].Lookup([]uint64{1, 2}, make([]float32, 6)); err != nil {
				t.Fatal(err)
			}
			store.set(role.Handle{Kind: role.ShardGrads}, &c.put)
			_, err := p.Execute(server(0), store, role.Work{Kind: k, StepSamples: 16},
				role.Operands{Reads: []role.Handle{{Kind: role.ShardGrads}}}, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %v: %v", c.name, k, err)
			}
		}
	}
}

// Work forgets the reads of the puts that it drops, so that a PS keeps no data of them.
func TestDroppedReadsAreForgotten(t *testing.T) {
	for _, k := range []role.WorkKind{role.Apply, role.ApplyStep} {
		s := newScript(t, exectest.Job(2, 1), exectest.NewColumns(16, 16))
		s.read = s.do(dataLoader, role.Read, event.NoRank)
		for rank := range s.ranks() {
			s.lookup(rank)
		}
		s.do(nnWorker(0), role.Forward, 0)
		s.do(nnWorker(0), role.Backward, 0)
		s.put(0)
		o := role.Operands{Reads: []role.Handle{s.handle(role.ShardGrads, 0)},
			Drops: []role.Handle{s.handle(role.ShardGrads, 1)}}
		w := role.Work{Kind: k, StepSamples: 8}
		if _, err := s.p.Execute(server(0), s.stores[server(0)], w, o, nil); err != nil {
			t.Fatal(err)
		}
		if n := s.p.model.shards[0].Pending(); n != 0 {
			t.Errorf("%v: the reads of %d batches are kept", k, n)
		}
	}
}

func TestFullServerIsReported(t *testing.T) {
	small := exectest.Job(1, 1)
	small.Rows.Capacity = 2
	p, store := mustNew(t, small, exectest.NewColumns(16, 16)), NewStore()
	store.set(role.Handle{Kind: role.ShardSigns}, plain(1, 2, 3))
	if _, err := p.Execute(server(0), store, role.Work{Kind: role.ReadRows},
		role.Operands{Reads: []role.Handle{{Kind: role.ShardSigns}}}, nil); !errors.Is(err, table.ErrFull) {
		t.Error(err)
	}
	err := mustNewSequential(t, small, exectest.NewColumns(16, 16)).Step(0)
	if !errors.Is(err, table.ErrFull) {
		t.Error(err)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*job.Job, *exectest.Columns)
		want   string
	}{
		{"two labels", func(_ *job.Job, c *exectest.Columns) { c.Fields.Labels = []string{"click", "buy"} },
			"2 labels (click, buy) and 1 heads"},
		{"schema", func(_ *job.Job, c *exectest.Columns) { c.Fields.PrefixBits = 0 }, "prefix of 0 bits"},
		{"model", func(t *job.Job, _ *exectest.Columns) {
			t.Model.Kind, t.Model.EmbeddingDim = model.DLRM, 4
		}, "rows of 3 values"},
		{"rows of other lengths than the model's", func(t *job.Job, _ *exectest.Columns) {
			t.Model.EmbeddingDim, t.Rows.Hot = 4, job.Hot{Auto: true}
		}, "slot tags has rows of 3 values, and rows.hot needs rows of the 4 values"},
		{"dense optimizer", func(t *job.Job, _ *exectest.Columns) { t.Model.Optimizer.Kind = "lion" },
			"lion"},
		{"row optimizer", func(t *job.Job, _ *exectest.Columns) { t.Rows.Optimizer.Kind = "lion" }, "lion"},
	} {
		settings, source := exectest.Job(1, 1), exectest.NewColumns(16, 16)
		c.change(&settings, source)
		_, err := New(settings, source, backend.Backend{})
		_, errSequential := reference.NewSequential(settings, source, backend.Backend{})
		for _, err := range []error{err, errSequential} {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}

func TestUnknownWorkIsRefused(t *testing.T) {
	p := mustNew(t, exectest.Job(1, 1), exectest.NewColumns(16, 16))
	if _, err := p.Execute(server(0), NewStore(), role.Work{Kind: 99}, role.Operands{}, nil); err == nil {
		t.Error("no error")
	}
}

// A payload belongs to the receiver: it does not change when the sender continues.
func TestPayloadOutlivesTheSendersHandle(t *testing.T) {
	s := newScript(t, exectest.Job(1, 1), exectest.NewColumns(16, 16))
	s.read = s.do(dataLoader, role.Read, event.NoRank)
	s.lookup(0)
	pooled := get[compress.Values](s.stores[nnWorker(0)], role.Handle{Kind: role.PooledRows}).Floats
	want := slices.Clone(pooled)
	s.stores[embeddingWorker].Release(role.Handle{Kind: role.PooledRows})
	s.stores[server(0)].Release(role.Handle{Kind: role.ShardRows})
	signs := get[compress.Signs](s.stores[server(0)], role.Handle{Kind: role.ShardSigns}).Plain
	s.p.Model().Tables()[0].Apply(signs, slices.Repeat([]float32{1, 1, 1}, len(signs)), 0.01, nil)
	if !slices.Equal(pooled, want) {
		t.Error("pooled embeddings changed with the rows")
	}
}

// A shard of the wrong length is an error, because it may come from another process.
func TestPullsAndPushesOfAnotherLengthAreRefused(t *testing.T) {
	training := exectest.Job(2, 1)
	training.Training.Mode, training.Training.Merge, training.Roles.DensePSs = job.AsyncPS, "", 2
	p := mustNew(t, training, exectest.NewColumns(32, 16))
	for _, values := range [][]float32{nil, make([]float32, p.Model().Layout().Params+1)} {
		if err := p.dense.ApplyPushes(1, [][]float32{values}); err == nil {
			t.Errorf("a push of %d values is applied", len(values))
		}
		first, err := p.dense.ReadShard(0)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.dense.LoadPulled(0, [][]float32{first, values}); err == nil {
			t.Errorf("a shard of %d values is installed", len(values))
		}
	}
}

// Evaluation finds rows on any number of PSs.
func TestEvaluateFindsRowsOnAllServers(t *testing.T) {
	source := exectest.NewColumns(16*3, 16)
	q := mustNewSequential(t, exectest.Job(1, 1), source)
	mustStep(t, q, 3)
	s := newScript(t, exectest.Job(2, 3), source)
	for range 3 {
		s.train(false)
	}
	got, err := s.p.Model().NewTestSet(source.All).Evaluate(s.p.Model())
	if err != nil {
		t.Fatal(err)
	}
	if want := evaluate(q, source.All); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// evaluate predicts the samples with the model of the reference.
func evaluate(q *reference.Sequential, b *batch.Batch) []float32 {
	got, err := q.NewTestSet(b).Evaluate(q)
	if err != nil {
		panic(err) // nothing can fail
	}
	return got
}
