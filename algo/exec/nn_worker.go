package exec

import (
	"slices"

	"tandem/algo/exec/dense"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/role"
)

// nnWorkerWork is the work of NN workers.
type nnWorkerWork struct {
	*numerics
	dense      dense.Strategy
	hot        *hotRows  // nil: no row is hot
	rowsBucket int32     // of rows that ranks have together; −1: none
	onGPU      *gpuRows  // nil: PSs have all rows that are not hot
	won        []Winners // by rank, of the batch between its forward and backward
	reportLoss func(lossSum float64, samples int)
}

// use makes ranks train the dense network by a strategy and, if rows are hot, these with it.
func (w *nnWorkerWork) use(hot *hotRows, strategy dense.Strategy, layout *model.Layout) {
	w.hot, w.dense, w.rowsBucket = nil, strategy, -1
	if network := len(layout.Buckets); w.buckets(layout) > network {
		w.rowsBucket = int32(network)
	}
	if hot != nil && w.hasHotRows() {
		w.hot, w.dense = hot, dense.WithRows(strategy, layout, hot.apply)
	}
}

func (w *nnWorkerWork) byKind() map[role.WorkKind]workFunc {
	return map[role.WorkKind]workFunc{
		role.Forward: w.forward, role.Backward: w.backward, role.DenseApply: w.denseApply,
		role.Snapshot: w.snapshot, role.Average: w.average,
	}
}

func (w *nnWorkerWork) forward(i item) (role.Result, error) {
	part := get[*batch.Part](i.store, i.Reads[0])
	if w.onGPU != nil {
		return w.forwardOnGPU(i, part)
	}
	pooled, err := w.pooled(i, part)
	if err != nil {
		return role.Result{}, err
	}
	var pulled [][]float32
	if len(i.Reads) > 2 {
		pulled = get[[][]float32](i.store, i.Reads[2])
	}
	if err := w.dense.LoadPulled(i.Rank, pulled); err != nil {
		return role.Result{}, err
	}
	replica := w.dense.Replica(i.Rank)
	if err := replica.Forward(part, pooled, w.buffers.borrow(len(pooled))); err != nil {
		return role.Result{}, err
	}
	w.reportLoss(replica.Loss(), part.Samples)
	return role.Result{}, nil
}

// forwardOnGPU is forward where the replica has the rows.
func (w *nnWorkerWork) forwardOnGPU(i item, part *batch.Part) (role.Result, error) {
	if w.divided != nil {
		w.won[i.Rank] = slices.Clone(get[*PooledAndIDs](i.store, i.Reads[1]).Winners)
	}
	if err := w.onGPU.forward(i, part); err != nil {
		return role.Result{}, err
	}
	w.reportLoss(w.dense.Replica(i.Rank).Loss(), part.Samples)
	return role.Result{}, nil
}

// pooled returns the pooled embeddings of a rank's batch.
func (w *nnWorkerWork) pooled(i item, part *batch.Part) ([]float32, error) {
	if w.hot != nil {
		mixed := get[*MixedRows](i.store, i.Reads[1])
		w.won[i.Rank] = slices.Clone(mixed.Winners)
		return w.hot.pool(i.batch(), part, mixed)
	}
	if w.winners > 0 {
		pooled := get[*Pooled](i.store, i.Reads[1])
		w.won[i.Rank] = slices.Clone(pooled.Winners) // which may lie in the memory of the message
		return pooled.Values.Unpack(part.Samples * w.width)
	}
	return get[compress.Values](i.store, i.Reads[1]).Unpack(part.Samples * w.width)
}

func (w *nnWorkerWork) backward(i item) (role.Result, error) {
	replica := w.dense.Replica(i.Rank)
	i.store.set(i.Makes[1], replica.Gradients()) // buckets may be fed before all are done
	grads, notFinite, err := replica.Backward(i.part)
	if err != nil {
		return role.Result{}, err
	}
	all := w.dense.Gradients(i.Work)
	if w.hot != nil {
		given, toEW := w.hot.sum(i.Work, grads)
		w.buffers.giveBack(grads)
		all.Rows, grads = given, toEW
	}
	i.store.set(i.Makes[1], all)
	if w.rowsBucket >= 0 && notFinite == "" {
		i.part(w.rowsBucket)
	}
	bytes := w.storePooled(i.store, i.Makes[0], grads, w.won[i.Rank])
	return role.Result{NotFinite: notFinite, Bytes: bytes}, nil
}

func (w *nnWorkerWork) denseApply(i item) (role.Result, error) {
	return role.Result{}, w.dense.ApplyGradients(i.Work, get[*model.Vector](i.store, i.Reads[0]))
}

// snapshot copies a rank's replica for an averaging round.
func (w *nnWorkerWork) snapshot(i item) (role.Result, error) {
	values, err := w.dense.Snapshot(i.Rank)
	if err == nil {
		i.store.set(i.Makes[0], values)
	}
	return role.Result{}, err
}

func (w *nnWorkerWork) average(i item) (role.Result, error) {
	given, sum := get[*model.Vector](i.store, i.Reads[0]), get[*model.Vector](i.store, i.Reads[1])
	return role.Result{}, w.dense.Average(i.Rank, given, sum)
}
