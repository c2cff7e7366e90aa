// Package reference trains a job sequentially: one table, one network, one batch after another, without
// roles.
//
// Every parallel mode is compared with Sequential. Delayed is Sequential with gradients that take effect
// late, as package delay says. Both share the kernels of the parallel modes and nothing of the executor's
// structure.
package reference

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/embedding"
	"tandem/algo/exec/evaluation"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/collective"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/kernel/vec"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/route"
	"tandem/algo/numeric/shard"
	"tandem/algo/numeric/table"
)

// Sequential trains one table and one network on one batch after another, with no roles and no overlap.
type Sequential struct {
	job    job.Job
	source batch.Source
	engine model.Engine
	rows   *embedding.Shard
	dense  *model.HostWeights
	passes []model.Pass // by group
	grads  [][]float32  // by group
	pool   gemm.Pool    // may be nil
	ranks  []scratch    // by rank
	stats  []float32    // batch-norm statistics of the step in hand, in group order
	loss   float64      // of the samples of the step in hand
	report func(lossSum float64, samples int)
}

// scratch is memory for the part of a rank, which serves step after step.
type scratch struct {
	pooled, pooledGrads []float32
	winners             []int32
	occurrences         []route.Occurrences // by dimension
}

// oneTable is the plan by which one table has all rows.
var oneTable = shard.Rows(1)

// NewSequential returns the sequential training of a job, before its first step. The job's number of ranks
// matters only to merge: rank and scale: rank, whose meaning depends on ranks, and to the order of sums if it
// does not divide the number of groups.
func NewSequential(t job.Job, source batch.Source, m backend.Backend) (*Sequential, error) {
	engine, err := backend.NewEngine(&t, source.Schema(), m)
	if err != nil {
		return nil, err
	}
	dims := source.Schema().Dims()
	rows, err := embedding.NewTables(&t, dims, m.RowArena(), gemm.PoolOf(m.Products))
	if err != nil {
		return nil, err
	}
	optimizer, err := model.OptimizerOf(engine, t.Model.Optimizer)
	if err != nil {
		return nil, err
	}
	initial, err := model.InitialValues(engine, t.Training.Seed)
	if err != nil {
		return nil, err
	}
	dense := model.NewHostWeights(engine, initial, optimizer, gemm.PoolOf(m.Products))
	q := &Sequential{job: t, source: source, engine: engine, rows: embedding.NewShard(dims, rows, nil),
		dense: dense, pool: gemm.PoolOf(m.Products), ranks: make([]scratch, t.Roles.Ranks),
		report: m.ReportLoss}
	for rank := range q.ranks {
		q.ranks[rank].occurrences = make([]route.Occurrences, len(rows))
	}
	for range t.TotalGroups() {
		q.passes = append(q.passes, engine.NewPass((t.Training.GlobalBatch-1)/t.TotalGroups()+1))
		q.grads = append(q.grads, make([]float32, engine.Layout().Params))
	}
	return q, nil
}

// Rows returns the embedding rows, a table for each dimension.
func (q *Sequential) Rows() []*table.Table { return q.rows.Tables() }

// Dense returns the weights of the dense network.
func (q *Sequential) Dense() *model.HostWeights { return q.dense }

// Engine returns the engine of the dense network.
func (q *Sequential) Engine() model.Engine { return q.engine }

// Step trains on one global batch:
//
//	read every row · forward and backward of every group · sum along the tree ·
//	one optimizer step of every row · one optimizer step of the network
func (q *Sequential) Step(step int) error {
	g, err := q.compute(step)
	if err == nil {
		err = q.applyRows(g)
	}
	if err != nil {
		return fmt.Errorf("step %d: %w", step, err)
	}
	q.applyDense(g)
	return nil
}

// gradients holds the gradients of one step.
type gradients struct {
	step, samples int
	part          int // 1 for the second part of puts that Delayed has divided, else 0
	// puts are by rank and dimension. Sums are pending, and valid until the next step, before keep.
	puts  [][]route.Put
	dense []float32 // the sum over all groups; valid until the next step
	stats []float32 // batch-norm statistics of the groups; valid until the next step
}

// keyOf returns the name of the batch whose read the put of a rank answers. Second parts are batches of
// further ranks.
func (g *gradients) keyOf(rank int) embedding.BatchKey {
	return embedding.BatchKey{Rank: int32(g.part*len(g.puts) + rank), Step: int32(g.step)}
}

// compute returns the gradients of a step. It creates rows that do not exist and changes nothing else.
func (q *Sequential) compute(step int) (gradients, error) {
	global, err := q.source.Read(step)
	if err != nil {
		return gradients{}, err
	}
	if global.Samples < 1 {
		return gradients{}, errors.New("the batch is empty")
	}
	t, schema := &q.job, q.source.Schema()
	if err := schema.CheckWeights(global.Slots); err != nil {
		return gradients{}, err
	}
	width := schema.EmbeddingWidth()

	g := gradients{step: step, samples: global.Samples}
	q.stats, q.loss = q.stats[:0], 0
	for rank, part := range batch.Cut(global, t.TotalGroups(), t.Roles.Ranks) {
		routed, own := route.RouteByDim(q.pool, schema, part, oneTable), &q.ranks[rank]
		if err := routed.CheckApart(schema); err != nil {
			return gradients{}, err
		}
		own.pooled = resized(own.pooled, part.Samples*width)
		own.winners = resized(own.winners, part.Samples*schema.Winners())
		for i := range own.occurrences {
			own.occurrences[i].Pool = q.pool
		}
		key := embedding.BatchKey{Rank: int32(rank), Step: int32(step)}
		if err := q.rows.LookupPooled(key, routed, schema, own.occurrences, own.pooled,
			own.winners); err != nil {
			return gradients{}, err
		}

		own.pooledGrads = own.pooledGrads[:0]
		for group := range part.Groups() {
			in := model.GroupInput(&part, own.pooled, width, group)
			grads, err := q.trainGroup(part.FirstGroup+group, in)
			if err != nil {
				return gradients{}, err
			}
			own.pooledGrads = append(own.pooledGrads, grads...)
		}
		var puts []route.Put
		for i, r := range routed.Routed {
			o := &own.occurrences[i]
			r.Take(o, schema, own.pooledGrads, own.winners)
			puts = append(puts, route.Put{Rank: rank, Samples: part.Samples, Signs: r.Signs, Pending: o})
		}
		g.puts = append(g.puts, puts)
	}
	q.report(q.loss, global.Samples)
	collective.Tree(q.grads)
	g.dense, g.stats = q.grads[0], q.stats
	return g, nil
}

// resized returns a slice of n values with arbitrary contents, in old memory if it has room.
func resized[T any](old []T, n int) []T { return slices.Grow(old[:0], n)[:n] }

// keep computes the sums of row gradients, which are valid until the next step, into memory of their own.
func (g *gradients) keep(rows []*table.Table) {
	for _, byDim := range g.puts {
		for i := range byDim {
			p := &byDim[i]
			p.Sums = make([]float32, len(p.Signs)*rows[i].Dim())
			p.Pending.Sum(p.Sums, 0, len(p.Signs))
			p.Pending = nil
		}
	}
}

// applyRows applies the gradients of a step to the rows.
func (q *Sequential) applyRows(g gradients) error {
	puts := make([]embedding.BatchPut, len(g.puts))
	for rank, put := range g.puts {
		puts[rank] = embedding.BatchPut{BatchKey: g.keyOf(rank), ByDim: put}
	}
	return q.rows.ApplyStep(int32(g.step), puts, &q.job, g.samples)
}

// applyDense takes the network's next optimizer step.
func (q *Sequential) applyDense(g gradients) {
	_ = q.dense.StepSum(&model.Vector{Values: g.dense, Stats: g.stats}, g.samples, q.dense.Steps())
}

// ErrNonFinite is wrapped by the error of a step whose training has diverged.
var ErrNonFinite = errors.New("the loss or a gradient is not finite; lower the learning rate or check the " +
	"data")

// trainGroup runs forward and backward of group g. It writes the sums of the dense gradients to q.grads[g]
// and returns the gradients of the pooled embeddings.
func (q *Sequential) trainGroup(g int, in model.Input) ([]float32, error) {
	pass := q.passes[g]
	now := q.dense.Host()
	_, loss := pass.Forward(now.Params, now.Running, in, true)
	q.loss += loss
	for b := range q.engine.Layout().Buckets {
		pass.Backward(now.Params, b, q.grads[g])
	}
	q.stats = append(q.stats, pass.Stats()...)
	grads := pass.EmbeddingGrad()
	if err := q.engine.Err(); err != nil {
		return nil, err
	}
	if math.IsNaN(loss) || math.IsInf(loss, 0) || !vec.Finite(q.grads[g]) || !vec.Finite(grads) {
		s := model.Suspects{Params: now.Params, Input: in, Loss: loss, Gradients: q.grads[g],
			PooledGradients: grads}
		return nil, fmt.Errorf("%w; first found in %s", ErrNonFinite, s.NotFinite(q.engine.Layout()))
	}
	return grads, nil
}

// NewTestSet returns a test set of this model.
func (q *Sequential) NewTestSet(test *batch.Batch) *evaluation.TestSet {
	return evaluation.NewTestSet(q.engine, q.source.Schema(), oneTable, test)
}

// ReadRows implements evaluation.State. It must not be called during a step.
func (q *Sequential) ReadRows(_ int, signs []uint64, dst []float32) error {
	return q.rows.Snapshot(signs, dst)
}

// ReadDense implements evaluation.State. It must not be called during a step.
func (q *Sequential) ReadDense() (model.Values, error) { return q.dense.Snapshot() }
