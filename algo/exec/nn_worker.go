package exec

import (
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
	reportLoss func(lossSum float64, samples int)
}

func (w *nnWorkerWork) byKind() map[role.WorkKind]workFunc {
	return map[role.WorkKind]workFunc{
		role.Forward: w.forward, role.Backward: w.backward, role.DenseApply: w.denseApply,
		role.Snapshot: w.snapshot, role.Average: w.average,
	}
}

func (w *nnWorkerWork) forward(i item) (role.Result, error) {
	part := get[*batch.Part](i.store, i.Reads[0])
	packed := get[compress.Values](i.store, i.Reads[1])
	pooled, err := packed.Unpack(part.Samples * w.width)
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

func (w *nnWorkerWork) backward(i item) (role.Result, error) {
	replica := w.dense.Replica(i.Rank)
	i.store.set(i.Makes[1], replica.Gradients()) // buckets may be fed before all are done
	grads, notFinite, err := replica.Backward(i.part)
	if err != nil {
		return role.Result{}, err
	}
	i.store.set(i.Makes[1], w.dense.Gradients(i.Work))
	return role.Result{NotFinite: notFinite, Bytes: w.storeValues(i.store, i.Makes[0], grads)}, nil
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
