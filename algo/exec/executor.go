package exec

import (
	"fmt"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/dense"
	"tandem/algo/exec/embedding"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/shard"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
)

// Executor executes the work of all roles of one process. Items of different lanes or roles may be executed
// at the same time; the items of one lane may not, unless their kind is Independent.
type Executor struct {
	numerics  *numerics
	work      map[role.WorkKind]workFunc
	dense     dense.Strategy
	ranks     *nnWorkerWork
	rounds    *rounds // all-reduces under way
	model     *ModelState
	admission *Admission
	onHost    bool // ranks train in the memory of the host
}

// workFunc performs one kind of work.
type workFunc func(item) (role.Result, error)

// item is one item of a role's work, with the role's store.
type item struct {
	at    msg.Address
	store *Store
	role.Work
	role.Operands
	part func(bucket int32) // Backward: see Executor.Execute
}

// batch returns the key of the batch that the item belongs to.
func (i *item) batch() embedding.BatchKey { return embedding.BatchKey{Rank: i.Rank, Step: i.Step} }

// New returns an executor of all roles of a job. It returns an error if the job or the schema of the data is
// not valid.
func New(t job.Job, source batch.Source, m backend.Backend) (*Executor, error) {
	return NewLocal(t, source, m, func(msg.Address) bool { return true })
}

// NewLocal returns an executor of the roles for which here is true; it allocates nothing for others. Only the
// work of the data loader reads batches from the source, so a process without a data loader needs only the
// source's schema.
func NewLocal(
	t job.Job, source batch.Source, m backend.Backend, here func(msg.Address) bool,
) (*Executor, error) {
	schema := source.Schema()
	engine, err := backend.NewEngine(&t, schema, m)
	if err != nil {
		return nil, err
	}
	rule, err := t.Rule()
	if err != nil {
		return nil, err
	}
	dims := schema.Dims()
	n := &numerics{job: t, schema: schema, dims: dims, dim: longestRow(&t, dims),
		width: schema.EmbeddingWidth(), winners: schema.Winners(), plan: t.PlanOf(schema),
		pool: gemm.PoolOf(m.Products), divided: newDivided(&t, schema)}
	if n.divided != nil {
		n.width = len(n.divided.columns)
	}
	shards, err := newRowShards(n, rule, m, here)
	if err != nil {
		return nil, err
	}
	hot, err := newHotRows(n, int32(len(engine.Layout().Buckets)), m, here)
	if err != nil {
		return nil, err
	}
	c := dense.Config{Job: &n.job, Rule: rule, Engine: engine, Here: here, Pool: n.pool,
		Rows: rowsOnGPU(n)}
	if m.Trainer != nil {
		if c.Trainer, err = m.Trainer(engine); err != nil {
			return nil, err
		}
	}
	strategy, err := dense.New(c)
	if err != nil {
		return nil, err
	}
	onGPU, err := newGPURows(n, &c, strategy)
	if err != nil {
		return nil, err
	}
	e := &Executor{
		numerics: n, work: map[role.WorkKind]workFunc{}, dense: strategy, onHost: c.Trainer == nil,
		ranks: &nnWorkerWork{numerics: n, onGPU: onGPU, won: make([]Winners, t.Roles.Ranks),
			reportLoss: m.ReportLoss},
		model: &ModelState{numerics: n, engine: engine, shards: shards, hot: hot, onGPU: onGPU,
			dense: strategy},
		admission: newAdmission(n, shards, strategy, engine.Layout(), rule.Dense().Quorum > 0),
	}
	for _, of := range []interface {
		byKind() map[role.WorkKind]workFunc
	}{
		&dataLoaderWork{n, source}, &embeddingWorkerWork{n}, &embeddingPSWork{n, shards, strategy},
		e.ranks, &densePSWork{strategy},
	} {
		for kind, t := range of.byKind() { // order-free: kinds are distinct
			e.work[kind] = t
		}
	}
	if RanksWait(e) {
		strategy = dense.WithUpdate(strategy, engine.Layout(), onGPU.with.UpdateRows)
	}
	e.ranks.use(hot, strategy, engine.Layout())
	e.rounds = newRounds(e.ranks.dense, t.Roles.Ranks, n.buckets(engine.Layout()))
	if ranked, ok := engine.(model.Ranked); ok { // all ranks of this process have their passes
		ranked.EndUnused()
	}
	return e, nil
}

// RanksShareWeights reports whether ranks of this process that train in lock step share their weights. On
// devices every rank has its own.
func RanksShareWeights(e *Executor) bool { return e.onHost }

// RanksWait reports whether the forward pass of a rank waits for those of the others, because they have rows
// together. Work of all ranks must run at the same time then.
func RanksWait(e *Executor) bool { return e.model.onGPU != nil && e.model.onGPU.with != nil }

// GiveUp ends the waits of ranks for each other with an error. The run has failed; the executor is of no use
// afterwards.
func GiveUp(e *Executor) {
	if RanksWait(e) {
		e.model.onGPU.with.GiveUpRows()
	}
}

// newRowShards returns the shard of every embedding PS of this process, and nil for others.
func newRowShards(n *numerics, rule pace.Rule, m backend.Backend,
	here func(msg.Address) bool) ([]*embedding.Shard, error) {
	var weight func(missed int) float32
	if weigher, ok := rule.(pace.Weigher); ok {
		weight = weigher.Weight
	}
	shards := make([]*embedding.Shard, n.job.Roles.EmbeddingPSs)
	for i := range shards {
		if !here(msg.Address{Role: msg.EmbeddingPS, Index: int32(i)}) {
			continue
		}
		tables, err := embedding.NewTables(&n.job, n.dims, m.RowArena(), n.pool)
		if err != nil {
			return nil, err
		}
		shards[i] = embedding.NewShard(n.dims, tables, weight)
	}
	return shards, nil
}

// Model returns the part of the trained model that is in this process.
func (e *Executor) Model() *ModelState { return e.model }

// BeginAt sets the number of global steps before the run: what roles count as step 0 reads the global batch
// of that number, with its learning rates and its draws of admission. No role may have work.
func (e *Executor) BeginAt(step int) {
	e.numerics.first = step
	e.dense.BeginAt(step)
	for _, s := range e.model.shards {
		if s != nil {
			s.BeginAt(step)
		}
	}
	if e.model.hot != nil {
		e.model.hot.beginAt(step)
	}
}

// SetHot makes other rows hot. Rows that become hot move from their PSs to the ranks, and those that no
// longer are hot to their PSs, with all their bits: values, optimizer state, update counts, and marks for
// eviction. A full PS evicts others for them or, if it does not evict, SetHot returns an error after which
// the executor is of no use. It also returns an error, and changes nothing, if the ranks have no room for the
// rows.
//
// The job must ask for hot rows. Either all roles are in this process or none is. No role may have work, and
// no read may lack its gradients; the next run of the roles needs a new configuration (job.Job.RoleConfig)
// and a new TestSet. Memory: the rows that move. Cost: a copy of each, and of the sums of hot gradients for
// each rank.
func (e *Executor) SetHot(rows *shard.Hot) error {
	n, m := e.numerics, e.model
	if m.hot != nil {
		if err := m.hot.checkMemory(rows.Len()); err != nil {
			return err
		}
	}
	before := n.plan
	n.job.Rows.Hot.SetRows(rows)
	n.plan = n.job.PlanOf(n.schema)
	if m.hot != nil {
		if err := m.hot.replace(before, m.shards); err != nil {
			return n.withAdvice(err)
		}
	}
	e.ranks.use(m.hot, e.dense, m.Layout())
	e.rounds = newRounds(e.ranks.dense, n.job.Roles.Ranks, n.buckets(m.Layout()))
	return nil
}

// Admission returns the checks of payloads that come from other processes.
func (e *Executor) Admission() *Admission { return e.admission }

// Execute executes one item of a role's work. It reads operands from the role's store s and stores its
// results there. Backward calls part for every bucket of dense gradients that is finished, in order; a bucket
// may be fed after that.
func (e *Executor) Execute(at msg.Address, s *Store, w role.Work, o role.Operands,
	part func(bucket int32)) (role.Result, error) {
	do := e.work[w.Kind]
	if do == nil {
		return role.Result{}, fmt.Errorf("exec: unknown kind %d", w.Kind)
	}
	return do(item{at, s, w, o, part})
}

// Feed records the contribution of a rank to an all-reduce. The sum is stored under c.Sum when the bucket is
// reduced.
func (e *Executor) Feed(s *Store, c role.Contribution) { e.rounds.feed(s, c) }

// Reduce sums a bucket of a step or averaging round over all ranks, which must be in this process and have
// fed the bucket. One goroutine calls it, for the buckets of a step in ascending order.
func (e *Executor) Reduce(step, bucket int32) error {
	return e.ReduceAcross(step, dense.Buckets{First: bucket, Last: bucket}, dense.Local{})
}

// ReduceAcross is Reduce for several buckets and a process that has some of the ranks; c sums over all ranks.
func (e *Executor) ReduceAcross(step int32, b dense.Buckets, c dense.Collective) error {
	return e.rounds.reduce(step, b, c)
}
