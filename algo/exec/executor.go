// Package exec computes what roles ask for. Any driver that has the numbers, the runtime first of all, hands an
// Executor the work items of its roles and carries the payloads of their messages through it; a driver that only
// prices work has no use for it.
//
// The work of each role is a file: data_loader.go, embedding_worker.go, embedding_server.go, nn_worker.go and
// dense_server.go. What a mode's ranks do together with the dense network is a strategy (strategy.go).
package exec

import (
	"fmt"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/dense"
	"tandem/algo/exec/embedding"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
)

// Executor computes the work of a run. It is shared by all roles of one process: work items of different
// (role, lane) may be performed at the same time, those of one lane may not.
type Executor struct {
	numerics  *numerics
	work      map[role.WorkKind]workFunc
	dense     dense.Strategy
	rounds    *rounds // of all-reduces
	model     *ModelState
	admission *Admission
}

// task performs one kind of work.
type workFunc func(item) (role.Result, error)

// item is one work item of a role, on operands that its store holds or will hold.
type item struct {
	at    msg.Address
	store *Store
	role.Work
	role.Operands
	part func(bucket int32) // Backward: see Executor.Do
}

// batch names the batch that the item is about.
func (i *item) batch() embedding.BatchKey { return embedding.BatchKey{Rank: i.Rank, Step: i.Step} }

// New returns an executor of all roles on a machine. The errors are those of the
// training's parts.
func New(t job.Job, source batch.Source, m backend.Backend) (*Executor, error) {
	return NewLocal(t, source, m, func(msg.Address) bool { return true })
}

// NewLocal returns an executor of those roles that are here: of others it keeps
// neither rows nor scratch. Only the data loader's batches are ever read; to
// others the source is its schema.
func NewLocal(t job.Job, source batch.Source, m backend.Backend, here func(msg.Address) bool) (*Executor, error) {
	schema := source.Schema()
	engine, err := backend.NewEngine(&t, schema, m)
	if err != nil {
		return nil, err
	}
	rule, err := t.Rule()
	if err != nil {
		return nil, err
	}
	n := &numerics{job: t, schema: schema, dim: t.Model.Dim(), width: schema.EmbeddingWidth()}
	shards, err := newRowShards(&t, rule, m, here)
	if err != nil {
		return nil, err
	}
	strategy, err := dense.New(dense.Config{
		Job: &n.job, Rule: rule, Engine: engine, Here: here, Pool: gemm.PoolOf(m.Products),
	})
	if err != nil {
		return nil, err
	}
	e := &Executor{
		numerics: n, work: map[role.WorkKind]workFunc{}, dense: strategy,
		rounds:    newRounds(strategy, t.Roles.Ranks, len(engine.Layout().Buckets)),
		model:     &ModelState{numerics: n, engine: engine, shards: shards, dense: strategy},
		admission: newAdmission(n, shards, strategy, engine.Layout(), rule.Dense().Quorum > 0),
	}
	for _, of := range []interface {
		byKind() map[role.WorkKind]workFunc
	}{
		&dataLoaderWork{n, source}, &embeddingWorkerWork{n}, &embeddingPSWork{n, shards, strategy}, &nnWorkerWork{n, strategy}, &densePSWork{strategy},
	} {
		for kind, t := range of.byKind() { // order-free: kinds are distinct
			e.work[kind] = t
		}
	}
	return e, nil
}

// newRowShards returns the embedding rows of the PSs that are here, by PS; nil for others.
func newRowShards(t *job.Job, rule pace.Rule, m backend.Backend, here func(msg.Address) bool) ([]*embedding.Shard, error) {
	var weight func(missed int) float32
	if weigher, ok := rule.(pace.Weigher); ok {
		weight = weigher.Weight
	}
	shards := make([]*embedding.Shard, t.Roles.EmbeddingPSs)
	for i := range shards {
		if !here(msg.Address{Role: msg.EmbeddingPS, Index: int32(i)}) {
			continue
		}
		rows, err := embedding.NewTable(t, m.RowArena())
		if err != nil {
			return nil, err
		}
		shards[i] = embedding.NewShard(rows, weight)
	}
	return shards, nil
}

// Model returns what is trained, as far as it is here.
func (e *Executor) Model() *ModelState { return e.model }

// Admission returns what checks the payloads of messages from other processes.
func (e *Executor) Admission() *Admission { return e.admission }

// Execute performs one work item of a role on operands that s holds or will hold. part is
// called for every bucket that Backward finishes, in order; a bucket may be fed from then on.
func (e *Executor) Execute(at msg.Address, s *Store, w role.Work, o role.Operands, part func(bucket int32)) (role.Result, error) {
	do := e.work[w.Kind]
	if do == nil {
		return role.Result{}, fmt.Errorf("exec: unknown kind %d", w.Kind)
	}
	return do(item{at, s, w, o, part})
}

// Feed notes what a rank hands to the all-reduce. What is summed will be under c.Sum once the bucket is reduced.
func (e *Executor) Feed(s *Store, c role.Contribution) { e.rounds.feed(s, c) }

// Reduce sums a bucket of a step, or averaging round, over the ranks, all of which are here and have handed the
// bucket over. It is called by one goroutine, for the buckets of a step in ascending order.
func (e *Executor) Reduce(step, bucket int32) {
	if err := e.rounds.reduce(step, bucket, dense.Local{}); err != nil {
		panic(err) // the mode has no all-reduce
	}
}

// ReduceAcross is Reduce for a process that has some of the ranks. c sums over all.
func (e *Executor) ReduceAcross(step, bucket int32, c dense.Collective) error {
	return e.rounds.reduce(step, bucket, c)
}
