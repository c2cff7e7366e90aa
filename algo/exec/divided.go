package exec

import (
	"slices"

	"tandem/algo/exec/embedding"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/compress"
	"tandem/algo/unit"
)

// divided says which slots have rows on the GPUs of the ranks, in a job in which PSs have the others: all
// rows of some slots or, with tiers, the hot ones. An EW sends a rank the pooled embeddings of the rows on
// PSs, without the columns of slots that have none there, and the ids of the rows on GPUs.
type divided struct {
	onGPU   []int         // numbers of slots, ascending
	gpu     *batch.Schema // of these slots alone, for their ids
	columns []int32       // of the pooled embeddings, those of slots with rows on PSs
	full    int           // pooled embeddings of a sample
	tiers   *tiers        // nil: GPUs have all rows of their slots
}

// newDivided returns nil unless GPUs have some of the rows, and PSs the others.
func newDivided(j *job.Job, schema *batch.Schema) *divided {
	b := &divided{full: schema.EmbeddingWidth()}
	switch {
	case j.HasTiers():
		b.onGPU, b.tiers = slotsInTiers(schema), &tiers{}
	case j.MixesPlacements():
		b.onGPU = j.SlotsOnGPU(schema.Slots)
	default:
		return nil
	}
	gpu, onPSs := *schema, []int(nil)
	gpu.Slots = nil
	for i, slot := range schema.Slots {
		on := slices.Contains(b.onGPU, i)
		if on {
			gpu.Slots = append(gpu.Slots, slot)
		}
		if !on || b.tiers != nil {
			onPSs = append(onPSs, i)
		}
	}
	b.gpu, b.columns = &gpu, schema.Columns(onPSs)
	return b
}

// divide takes the ids of rows on GPUs out of the part of a batch, which has none of them afterwards.
func (w *embeddingWorkerWork) divide(of embedding.BatchKey, part batch.Part) (onPSs batch.Part, onGPU *IDs) {
	b := w.divided
	rest, taken, none := *part.Batch, *part.Batch, make([]int32, part.Samples+1)
	rest.Slots, taken.Slots = slices.Clone(rest.Slots), make([]batch.Jagged, len(b.onGPU))
	for k, slot := range b.onGPU {
		taken.Slots[k], rest.Slots[slot] = part.Slots[slot], batch.Jagged{Offsets: none}
	}
	if b.tiers != nil {
		w.forEach(len(b.onGPU), func(k int) {
			slot := b.onGPU[k]
			taken.Slots[k], rest.Slots[slot] = hotIDs(part.Slots[slot], w.schema.Signer(slot), w.plan.Hot())
		})
		b.tiers.count((w.first+int(of.Step))*w.job.Roles.Ranks+int(of.Rank), &part, taken.Slots)
	}
	onPSs, all := part, part
	onPSs.Batch, all.Batch = &rest, &taken
	return onPSs, newIDs(b.gpu, &all, w.job.Wire.Index == job.IndexCompressed)
}

// compact writes the columns of slots with rows on PSs, of all samples, to dst.
func (b *divided) compact(dst, pooled []float32) {
	for i := range len(dst) / len(b.columns) {
		to, from := dst[i*len(b.columns):], pooled[i*b.full:]
		for k, column := range b.columns {
			to[k] = from[column]
		}
	}
}

// expand is the inverse of compact. Other columns of dst keep their values.
func (b *divided) expand(dst, columns []float32) {
	for i := range len(columns) / len(b.columns) {
		to, from := dst[i*b.full:], columns[i*len(b.columns):]
		for k, column := range b.columns {
			to[column] = from[k]
		}
	}
}

// PooledAndIDs is the payload of Embeddings where PSs have some rows and GPUs the others: the pooled
// embeddings of the rows on PSs, and the ids of the rows on GPUs.
type PooledAndIDs struct {
	Pooled
	IDs IDs
}

// Size returns the number of bytes on a wire.
func (p *PooledAndIDs) Size() int { return p.Pooled.Size() + p.IDs.Size() }

// storeForGPU stores the pooled embeddings of a batch, in a borrowed buffer, with its ids of rows on GPUs.
func (w *embeddingWorkerWork) storeForGPU(i item, routed *resolved, pooled []float32,
	won Winners) unit.Bytes {
	columns := w.buffers.borrow(routed.Samples() * w.width)
	w.divided.compact(columns, pooled)
	w.buffers.giveBack(pooled)
	both := &PooledAndIDs{Pooled: Pooled{compress.Pack(w.job.Wire.Precision, columns), won}, IDs: *routed.ids}
	i.store.setLeased(i.Makes[0], both, w.lease(columns))
	return unit.Bytes(both.Size())
}
