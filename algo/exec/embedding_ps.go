package exec

import (
	"tandem/algo/exec/dense"
	"tandem/algo/exec/embedding"
	"tandem/algo/job"
	"tandem/algo/numeric/compress"
	"tandem/algo/protocol/role"
)

// embeddingPSWork is the work of embedding PSs.
type embeddingPSWork struct {
	*numerics
	shards []*embedding.Shard // by PS; nil if the PS is in another process
	dense  dense.Strategy
}

func (e *embeddingPSWork) byKind() map[role.WorkKind]workFunc {
	return map[role.WorkKind]workFunc{role.ReadRows: e.readRows, role.Apply: e.apply,
		role.ApplyStep: e.applyStep}
}

// readRows copies the rows of the signs that an EW asks for.
func (e *embeddingPSWork) readRows(i item) (role.Result, error) {
	signs, err := get[compress.Signs](i.store, i.Reads[0]).Unpack()
	if err != nil {
		return role.Result{}, err
	}
	values, err := e.dims.Values(signs)
	if err != nil {
		return role.Result{}, err
	}
	rows := e.buffers.borrow(values)
	if err := e.shards[i.at.Index].Lookup(i.batch(), signs, rows); err != nil {
		return role.Result{}, e.withAdvice(err)
	}
	return role.Result{Bytes: e.storeValues(i.store, i.Makes[0], rows)}, nil
}

// readPut returns the put of a handle, unpacked.
func (e *embeddingPSWork) readPut(i item, h role.Handle) (embedding.BatchPut, error) {
	byDim, err := get[*Put](i.store, h).unpack(int(h.Rank), e.dims)
	return embedding.BatchPut{BatchKey: embedding.BatchKey{Rank: h.Rank, Step: h.Step}, ByDim: byDim}, err
}

// apply applies one rank's put to the rows.
func (e *embeddingPSWork) apply(i item) (role.Result, error) {
	shard := e.forgetDropped(i)
	put, err := e.readPut(i, i.Reads[0])
	if err != nil {
		return role.Result{}, err
	}
	byRank := e.job.Training.Scale == job.ScaleRank
	return role.Result{}, e.withAdvice(shard.Apply(put, int(i.StepSamples), byRank))
}

// applyStep applies several puts to the rows.
func (e *embeddingPSWork) applyStep(i item) (role.Result, error) {
	shard := e.forgetDropped(i)
	puts := make([]embedding.BatchPut, len(i.Reads))
	for at, h := range i.Reads {
		put, err := e.readPut(i, h)
		if err != nil {
			return role.Result{}, err
		}
		puts[at] = put
	}
	return role.Result{}, e.withAdvice(e.dense.ApplyRows(shard, i.Work, puts))
}

// forgetDropped removes the reads of batches whose puts do not count. It returns the shard of the PS.
func (e *embeddingPSWork) forgetDropped(i item) *embedding.Shard {
	shard := e.shards[i.at.Index]
	for _, h := range i.Drops {
		shard.Forget(embedding.BatchKey{Rank: h.Rank, Step: h.Step})
	}
	return shard
}
