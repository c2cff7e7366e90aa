package work

import (
	"errors"
	"fmt"

	"tandem/algo/batch"
	"tandem/algo/collective"
	"tandem/algo/job"
	"tandem/algo/kernel"
	"tandem/algo/model"
	"tandem/algo/route"
	"tandem/algo/table"
)

// Sequential is the reference that every parallel mode is compared with: one
// table, one network, one batch after another, no roles and no overlap. It
// shares the kernels of the parallel modes and nothing of their structure.
type Sequential struct {
	training job.Training
	source   batch.Source
	engine   model.Engine
	rows     *rowShard
	dense    *Dense
	passes   []model.Pass // by group
	grads    [][]float32  // by group
}

// NewSequential returns the reference before its first step. The training's
// ranks matter only to merge: rank and scale: rank, whose meaning depends on
// them.
func NewSequential(t job.Training, source batch.Source) (*Sequential, error) {
	engine, err := NewEngine(&t, source.Schema())
	if err != nil {
		return nil, err
	}
	rows, err := NewTable(&t, table.Heap{})
	if err != nil {
		return nil, err
	}
	dense, err := NewDense(&t, engine)
	if err != nil {
		return nil, err
	}
	all := newRank(engine, t.Groups, (t.GlobalBatch-1)/t.Groups+1)
	return &Sequential{t, source, engine, newRowShard(rows), dense, all.passes, all.grads}, nil
}

// Rows returns the embedding rows.
func (q *Sequential) Rows() *table.Table { return q.rows.rows }

// Dense returns the dense network's state.
func (q *Sequential) Dense() *Dense { return q.dense }

// Engine returns the engine of the dense network.
func (q *Sequential) Engine() model.Engine { return q.engine }

// Step trains on one global batch:
//
//	read every row · forward and backward of every group · sum along the tree ·
//	one optimizer step of every row · one optimizer step of the network
func (q *Sequential) Step(step int) error {
	global, err := q.source.Read(step)
	if err != nil {
		return fmt.Errorf("step %d: %w", step, err)
	}
	if global.Samples < 1 {
		return fmt.Errorf("step %d: the batch is empty", step)
	}
	t, schema := &q.training, q.source.Schema()
	dim, width := t.Model.Dim(), schema.EmbeddingWidth()

	var puts []route.Put
	q.dense.stats = q.dense.stats[:0]
	for rank, part := range batch.Cut(global, t.Groups, t.Ranks) {
		routed := route.Route(schema, part, 1)
		rows, err := q.rows.read(batchName{int32(rank), int32(step)}, routed.Signs)
		if err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
		pooled := make([]float32, part.Samples*width)
		routed.Pool(pooled, schema, rows, dim)

		var pooledGrads []float32
		for g := range part.Groups() {
			grads, err := q.group(part.FirstGroup+g, input(&part, pooled, width, g))
			if err != nil {
				return fmt.Errorf("step %d: %w", step, err)
			}
			pooledGrads = append(pooledGrads, grads...)
		}
		puts = append(puts, route.Put{
			Rank: rank, Samples: part.Samples, Signs: routed.Signs, Sums: routed.Merge(schema, pooledGrads, dim),
		})
	}
	if err := q.rows.applyStep(int32(step), puts, t, global.Samples); err != nil {
		return fmt.Errorf("step %d: %w", step, err)
	}
	collective.Tree(q.grads)
	copy(q.dense.grads, q.grads[0])
	q.dense.apply(step, global.Samples)
	return nil
}

var errNonFinite = errors.New("the loss or a gradient is not finite; lower the learning rate or check the data")

// group runs forward and backward of one group, leaves its dense gradient sums
// in q.grads[g], and returns the gradients of its pooled embeddings.
func (q *Sequential) group(g int, in model.Input) ([]float32, error) {
	pass := q.passes[g]
	_, loss := pass.Forward(q.dense.Params, q.dense.Running, in, true)
	for b := range q.engine.Layout().Buckets {
		pass.Backward(q.dense.Params, b, q.grads[g])
	}
	q.dense.stats = append(q.dense.stats, pass.Stats()...)
	grads := pass.EmbeddingGrad()
	if !finite(loss) || !kernel.Finite(q.grads[g]) || !kernel.Finite(grads) {
		return nil, errNonFinite
	}
	return grads, nil
}
