package exec

import (
	"testing"

	"tandem/algo/exec/exectest"
	"tandem/algo/job"
	"tandem/algo/numeric/compress"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
)

func TestStoreHoldsUntilRelease(t *testing.T) {
	s := NewStore()
	pooled := role.Handle{Kind: role.PooledRows, Rank: 1, Step: 2}
	s.set(pooled, []float32{1, 2})
	s.set(role.Handle{Kind: role.PooledRows, Rank: 1, Step: 3}, []float32{3})
	if got := get[[]float32](s, pooled); len(got) != 2 || s.Len() != 2 {
		t.Errorf("holds %v, %d handles; want [1 2] and 2", got, s.Len())
	}
	s.Release(pooled)
	if s.Len() != 1 {
		t.Errorf("%d handles after a release, want 1", s.Len())
	}
}

func TestStorePanics(t *testing.T) {
	h := role.Handle{Kind: role.PooledRows, Rank: 1, Step: 2}
	held := "exec: {Kind:pooled rows Rank:1 Step:2}" // PooledRows is the seventh kind
	s := NewStore()
	mustPanic(t, held+" released, but not held", func() { s.Release(h) })
	mustPanic(t, held+" holds <nil>, want []float32", func() { get[[]float32](s, h) })
	s.set(h, []uint64{1})
	mustPanic(t, held+" holds []uint64, want []float32", func() { get[[]float32](s, h) })
	s.Release(h)
	mustPanic(t, held+" released, but not held", func() { s.Release(h) })
}

// The rows of all PSs come together under one handle, in any order; a PS that was
// not asked stays empty.
func TestRowsOfAllServersShareAHandle(t *testing.T) {
	p, s := mustNew(t, exectest.Job(1, 3), exectest.NewColumns(16, 16)), NewStore()
	for _, server := range []int32{2, 0} {
		m := msg.Message{Kind: msg.Rows, From: msg.Address{Role: msg.EmbeddingPS, Index: server}, Rank: 0,
			Step: 4}
		p.Keep(s, m, role.Handle{Kind: role.ShardRows, Step: 4},
			Values{compress.Values{Form: compress.FP32, Floats: []float32{float32(server)}}}, nil)
	}
	parts := get[[]compress.Values](s, role.Handle{Kind: role.ShardRows, Step: 4})
	if len(parts) != 3 || parts[0].Floats[0] != 0 || parts[1].Floats != nil || parts[2].Floats[0] != 2 ||
		s.Len() != 1 {
		t.Errorf("%v under %d handles", parts, s.Len())
	}
}

// Of 2 ranks and 3 PSs a step uses 3 lists of rows, pooled rows, their gradients and a list of sums for each
// rank. The next step reuses all of them, each for one payload at a time.
func TestMemoryOfPayloadsIsUsedAgain(t *testing.T) {
	s := newScript(t, exectest.Job(2, 3), exectest.NewColumns(16*3, 16))
	var before map[*float32]bool
	for range 3 {
		s.train(false)
		spare := map[*float32]bool{}
		for _, values := range s.p.numerics.buffers.free {
			spare[&values[:1][0]] = true
		}
		if n := len(s.p.numerics.buffers.free); n != len(spare) || before == nil && n != 2*6 || n < 2*6 {
			t.Fatalf("%d buffers, %d distinct; want 12 after a step", n, len(spare))
		}
		used := 0
		for at := range spare { // order-free: counted
			if before[at] {
				used++
			}
		}
		if before != nil && used < 4 { // at least what has the same size in every step
			t.Errorf("%d buffers are those of the step before", used)
		}
		before = spare
	}
}

// Values that are packed into fewer bytes free their buffer immediately: a step needs one buffer of each
// size, and one for each pass in flight.
func TestPackedValuesLeaveTheirMemory(t *testing.T) {
	for _, wire := range []compress.Form{compress.FP16, compress.FP16Block} {
		one := exectest.Job(2, 3)
		one.Wire.Precision = wire
		s := newScript(t, one, exectest.NewColumns(16*4, 16))
		s.train(false)
		s.train(false)
		if n := len(s.p.numerics.buffers.free); n == 0 || n > 2*8 {
			t.Errorf("%s: %d buffers after two steps, want 1 to 16", wire, n)
		}
	}
}

// A PS keeps the found rows of a read until the batch's put, with either way to merge the puts of a step;
// otherwise a PS would remember every batch of the run.
func TestReadsAreForgottenWithTheirPuts(t *testing.T) {
	for _, merge := range []string{job.MergeStep, job.MergeRank} {
		settings := exectest.Job(2, 2)
		settings.Training.Merge = merge
		s := newScript(t, settings, exectest.NewColumns(16*2, 16))
		for range 2 {
			s.train(false)
			for i, shard := range s.p.model.shards {
				if n := shard.Pending(); n > 0 {
					t.Errorf("merge: %s: PS %d remembers %d reads after the puts of their batches", merge, i,
						n)
				}
			}
		}
	}
}

func TestBuffersSuitTheirSize(t *testing.T) {
	var b buffers
	b.giveBack(nil)
	b.giveBack(make([]float32, 100))
	if small := b.borrow(10); cap(small) > 20 {
		t.Errorf("10 values in a buffer of %d", cap(small))
	}
	b.giveBack(make([]float32, 21))
	if small := b.borrow(10); cap(small) > 20 {
		t.Errorf("10 values in a buffer of %d", cap(small))
	}
	b.free = b.free[:1]
	if fits := b.borrow(60); len(fits) != 60 || cap(fits) != 100 || len(b.free) != 0 {
		t.Errorf("60 values in a buffer of %d; %d left", cap(fits), len(b.free))
	}
	for range 2 * spareMost {
		b.giveBack(make([]float32, 1))
	}
	if len(b.free) != spareMost {
		t.Errorf("%d buffers are kept, want %d", len(b.free), spareMost)
	}
	// Buffers of sizes no longer in use make room for buffers of the sizes in use.
	large := make([]float32, 1000)
	b.giveBack(large)
	if again := b.borrow(1000); &again[0] != &large[0] {
		t.Error("a buffer that was just put back is not used again")
	}
}

// Lent memory is used again when its sender has released it and everybody to whom it was lent has freed it,
// in any order; never, if the payload was given away without a lease.
func TestLentMemoryIsUsedAgain(t *testing.T) {
	p := mustNew(t, exectest.Job(1, 1), exectest.NewColumns(16, 16))
	m, h := msg.Message{Kind: msg.Embeddings}, role.Handle{Kind: role.PooledRows}
	spare := func() int { return len(p.numerics.buffers.free) }
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		s := NewStore()
		p.numerics.storeValues(s, h, p.numerics.buffers.borrow(10))
		before := spare()
		_, first := p.Lend(s, m, h)
		_, second := p.Lend(s, m, h)
		ends := []func(){first, second, func() { s.Release(h) }}
		for i, at := range order {
			ends[at]()
			if got, want := spare(), before+i/2; got != want {
				t.Errorf("order %v: %d buffers are spare after %d ends, want %d", order, got, i+1, want)
			}
		}
	}
	s := NewStore()
	p.numerics.storeValues(s, h, p.numerics.buffers.borrow(10))
	before := spare()
	_ = p.Payload(s, m, h)
	_, free := p.Lend(s, m, h)
	free()
	s.Release(h)
	if spare() != before {
		t.Error("the memory of a payload that is in use is spare")
	}
}

func TestKeepPanicsWithoutAPayload(t *testing.T) {
	p := mustNew(t, exectest.Job(1, 1), exectest.NewColumns(16, 16))
	m := msg.Message{Kind: msg.GetEmbeddings, From: msg.Address{Role: msg.NNWorker},
		To: msg.Address{Role: msg.EmbeddingWorker}}
	payload := p.Payload(NewStore(), m, role.Handle{})
	mustPanic(t, "exec: GetEmbeddings rank 0 step 0, nn-worker 0 → embedding-worker 0 has no payload to keep",
		func() {
			p.Keep(NewStore(), m, role.Handle{Kind: role.PooledRows}, payload, nil)
		})
}

// The memory of a payload is freed when its handle is released, once, and not if other data may refer to it
// or the handle has other data by then.
func TestFreeOnRelease(t *testing.T) {
	for kind, want := range map[role.HandleKind]int{
		role.ShardSigns: 2, role.ShardRows: 2, role.PooledRows: 2, role.PooledGrads: 2, role.ShardGrads: 2,
		role.BatchIDs: 0, role.BatchSamples: 0, role.ShardParams: 0,
	} {
		s, h, freed := NewStore(), role.Handle{Kind: kind}, 0
		s.set(h, 1)
		for range 2 { // a part of each PS
			s.freeOnRelease(h, func() { freed++ })
		}
		if freed != 0 {
			t.Errorf("kind %d is freed before its release", kind)
		}
		s.Release(h)
		s.set(h, 1)
		s.Release(h)
		if freed != want {
			t.Errorf("kind %d is freed %d times, want %d", kind, freed, want)
		}
		for _, replace := range []func(){
			func() { s.set(h, 2) }, func() { setReceivedPart(s, h, 1, 0, 2) },
		} {
			s.set(h, 1)
			s.freeOnRelease(h, func() { t.Errorf("kind %d is freed, but has other data", kind) })
			replace()
			s.Release(h)
		}
	}
}
