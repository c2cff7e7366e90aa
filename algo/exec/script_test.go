package exec

import (
	"math"
	"testing"

	"tandem/algo/exec/exectest"
	"tandem/algo/job"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
)

var (
	dataLoader      = msg.Address{Role: msg.DataLoader}
	embeddingWorker = msg.Address{Role: msg.EmbeddingWorker}
)

func nnWorker(rank int32) msg.Address { return msg.Address{Role: msg.NNWorker, Index: rank} }
func server(p int32) msg.Address      { return msg.Address{Role: msg.EmbeddingPS, Index: p} }

// script performs the work of steps one item after the other, in the order in
// which a batch passes the roles, and passes payloads on as messages do.
type script struct {
	t      *testing.T
	p      *Executor
	stores map[msg.Address]*Store
	step   int32
	read   role.Result   // of the step
	fed    map[int32]int // by bucket: how often a rank has handed it over
}

func newScript(t *testing.T, training job.Job, source *exectest.Columns) *script {
	s := &script{t: t, p: mustNew(t, training, source), stores: map[msg.Address]*Store{},
		fed: map[int32]int{}}
	for _, a := range []msg.Address{dataLoader, embeddingWorker} {
		s.stores[a] = NewStore()
	}
	for i := range int32(training.Roles.Ranks) {
		s.stores[nnWorker(i)] = NewStore()
	}
	for i := range int32(training.Roles.EmbeddingPSs) {
		s.stores[server(i)] = NewStore()
	}
	return s
}

func (s *script) ranks() int32   { return int32(s.p.numerics.job.Roles.Ranks) }
func (s *script) servers() int32 { return int32(s.p.numerics.job.Roles.EmbeddingPSs) }

func (s *script) handle(k role.HandleKind, rank int32) role.Handle {
	return role.Handle{Kind: k, Rank: rank, Step: s.step}
}

// operands returns the handles that work reads and writes.
func (s *script) operands(w role.Work) role.Operands {
	kinds := map[role.WorkKind][2][]role.HandleKind{
		role.Split: {{role.BatchIDs}, {role.RoutedIDs}}, role.ReadRows: {{role.ShardSigns}, {role.ShardRows}},
		role.Pool:       {{role.RoutedIDs, role.ShardRows}, {role.PooledRows}},
		role.Forward:    {{role.BatchSamples, role.PooledRows}, nil},
		role.Backward:   {{role.BatchSamples}, {role.PooledGrads, role.DenseGradients}},
		role.Merge:      {{role.RoutedIDs, role.PooledGrads}, {role.ShardGrads}},
		role.DenseApply: {{role.ReducedGradients}, nil}, role.Apply: {{role.ShardGrads}, nil},
		role.Read: {nil, {role.GlobalBatch}},
	}[w.Kind]
	var o role.Operands
	for _, k := range kinds[0] {
		o.Reads = append(o.Reads, s.handle(k, w.Rank))
	}
	for _, k := range kinds[1] {
		o.Makes = append(o.Makes, s.handle(k, w.Rank))
	}
	for rank := range s.ranks() {
		if w.Kind == role.ApplyStep {
			o.Reads = append(o.Reads, s.handle(role.ShardGrads, rank))
		}
	}
	return o
}

// sent returns the handle of a message's data in the sender's store, and kept the handle in the receiver's.
func (s *script) sent(k msg.Kind, rank int32) role.Handle {
	if k == msg.IDFeatures || k == msg.Samples {
		return s.handle(role.GlobalBatch, event.NoRank)
	}
	return s.handle(map[msg.Kind]role.HandleKind{
		msg.Lookup: role.RoutedIDs, msg.Rows: role.ShardRows, msg.Embeddings: role.PooledRows,
		msg.PutGradients: role.PooledGrads, msg.Put: role.ShardGrads,
	}[k], rank)
}

func (s *script) kept(k msg.Kind, rank int32) role.Handle {
	return s.handle(map[msg.Kind]role.HandleKind{
		msg.IDFeatures: role.BatchIDs, msg.Samples: role.BatchSamples, msg.Lookup: role.ShardSigns,
		msg.Rows:       role.ShardRows,
		msg.Embeddings: role.PooledRows, msg.PutGradients: role.PooledGrads, msg.Put: role.ShardGrads,
	}[k], rank)
}

// do performs one work item of the step and feeds the buckets it finishes.
func (s *script) do(at msg.Address, k role.WorkKind, rank int32) role.Result {
	s.t.Helper()
	w := role.Work{Kind: k, Rank: rank, Step: s.step}
	for r, n := range s.read.Samples {
		w.StepSamples += n
		if int32(r) == rank {
			w.Samples = n
		}
	}
	result, err := s.p.Execute(at, s.stores[at], w, s.operands(w), func(bucket int32) {
		s.p.Feed(s.stores[at], role.Contribution{Rank: rank, Step: s.step, Bucket: bucket,
			Source: s.handle(role.DenseGradients, rank), Sum: s.handle(role.ReducedGradients, rank)})
		if s.fed[bucket]++; s.fed[bucket]%int(s.ranks()) == 0 {
			s.p.Reduce(s.step, bucket)
		}
	})
	if err != nil {
		s.t.Fatalf("%v of rank %d step %d: %v", k, rank, s.step, err)
	}
	return result
}

// send passes the payload of a message on.
func (s *script) send(k msg.Kind, from, to msg.Address, rank int32) {
	m := msg.Message{Kind: k, From: from, To: to, Rank: rank, Step: s.step}
	payload, free := s.p.Lend(s.stores[from], m, s.sent(k, rank))
	s.p.Keep(s.stores[to], m, s.kept(k, rank), payload, free)
}

// lookup takes the batch of a rank from its ids to its pooled embeddings.
func (s *script) lookup(rank int32) {
	s.send(msg.IDFeatures, dataLoader, embeddingWorker, rank)
	s.send(msg.Samples, dataLoader, nnWorker(rank), rank)
	s.do(embeddingWorker, role.Split, rank)
	for p := range s.servers() {
		s.send(msg.Lookup, embeddingWorker, server(p), rank)
		s.do(server(p), role.ReadRows, rank)
		s.send(msg.Rows, server(p), embeddingWorker, rank)
	}
	s.do(embeddingWorker, role.Pool, rank)
	s.send(msg.Embeddings, embeddingWorker, nnWorker(rank), rank)
}

// put takes the embedding gradients of a rank to the PSs.
func (s *script) put(rank int32) {
	s.send(msg.PutGradients, nnWorker(rank), embeddingWorker, rank)
	s.do(embeddingWorker, role.Merge, rank)
	for p := range s.servers() {
		s.send(msg.Put, embeddingWorker, server(p), rank)
	}
}

// train performs one whole step. Per put, row gradients are applied rank by rank.
func (s *script) train(perPut bool) {
	s.read = s.do(dataLoader, role.Read, event.NoRank)
	for rank := range s.ranks() {
		s.lookup(rank)
	}
	for rank := range s.ranks() {
		s.do(nnWorker(rank), role.Forward, rank)
		if r := s.do(nnWorker(rank), role.Backward, rank); r.NotFinite != "" {
			s.t.Fatalf("rank %d step %d: not finite", rank, s.step)
		}
	}
	for rank := range s.ranks() {
		s.do(nnWorker(rank), role.DenseApply, rank)
		s.put(rank)
	}
	for p := range s.servers() {
		if !perPut {
			s.do(server(p), role.ApplyStep, event.NoRank)
			continue
		}
		for rank := range s.ranks() {
			s.do(server(p), role.Apply, rank)
		}
	}
	s.release()
	s.step++
}

// release releases the data that the roles hold at the end of a step, and checks that nothing is left. It
// fills memory that will be reused with NaN.
func (s *script) release() {
	s.t.Helper()
	of := func(at msg.Address, rank int32, kinds ...role.HandleKind) {
		for _, k := range kinds {
			s.stores[at].Release(role.Handle{Kind: k, Rank: rank, Step: s.step})
		}
	}
	of(dataLoader, event.NoRank, role.GlobalBatch)
	for rank := range s.ranks() {
		of(embeddingWorker, rank, role.BatchIDs, role.RoutedIDs, role.ShardRows, role.PooledRows,
			role.PooledGrads, role.ShardGrads)
		of(nnWorker(rank), rank, role.BatchSamples, role.PooledRows, role.PooledGrads, role.DenseGradients,
			role.ReducedGradients)
		for p := range s.servers() {
			of(server(p), rank, role.ShardSigns, role.ShardRows, role.ShardGrads)
		}
	}
	for _, spare := range s.p.numerics.buffers.free {
		for i := range spare[:cap(spare)] {
			spare[:cap(spare)][i] = float32(math.NaN())
		}
	}
	for at, store := range s.stores { // order-free: each is checked by itself
		if n := store.Len(); n != 0 {
			s.t.Fatalf("%v holds %d handles after step %d", at, n, s.step)
		}
	}
}

// rowsDigest returns the fingerprint of all shards.
func (s *script) rowsDigest() (sum uint64) {
	for _, shard := range s.p.Model().Tables() {
		sum += shard.Digest()
	}
	return sum
}
