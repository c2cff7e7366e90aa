package exec

import (
	"slices"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/compress"
	"tandem/algo/unit"
)

// bySlot says which slots have their rows on the GPUs of the ranks, in a job in which PSs have those of the
// others. An EW sends a rank the pooled embeddings of the slots on PSs, without the columns between them, and
// the ids of the slots on GPUs.
type bySlot struct {
	onGPU   []int         // numbers of slots, ascending
	gpu     *batch.Schema // of these slots alone, for their ids
	columns []int32       // of the pooled embeddings, those of the other slots
	full    int           // pooled embeddings of a sample
}

// newBySlot returns nil unless the job places rows by slot.
func newBySlot(j *job.Job, schema *batch.Schema) *bySlot {
	if !j.MixesPlacements() {
		return nil
	}
	b := &bySlot{onGPU: j.SlotsOnGPU(schema.Slots), full: schema.EmbeddingWidth()}
	gpu, onPSs := *schema, []int(nil)
	gpu.Slots = nil
	for i, slot := range schema.Slots {
		if slices.Contains(b.onGPU, i) {
			gpu.Slots = append(gpu.Slots, slot)
		} else {
			onPSs = append(onPSs, i)
		}
	}
	b.gpu, b.columns = &gpu, schema.Columns(onPSs)
	return b
}

// split takes the ids of the slots on GPUs out of a part, which has none of them afterwards.
func (b *bySlot) split(part batch.Part, compressed bool) (onPSs batch.Part, onGPU *IDs) {
	rest, taken, none := *part.Batch, *part.Batch, make([]int32, part.Samples+1)
	rest.Slots, taken.Slots = slices.Clone(rest.Slots), nil
	for _, slot := range b.onGPU {
		taken.Slots = append(taken.Slots, part.Slots[slot])
		rest.Slots[slot] = batch.Jagged{Offsets: none}
	}
	onPSs, all := part, part
	onPSs.Batch, all.Batch = &rest, &taken
	return onPSs, newIDs(b.gpu, &all, compressed)
}

// compact writes the columns of slots on PSs, of all samples, to dst.
func (b *bySlot) compact(dst, pooled []float32) {
	for i := range len(dst) / len(b.columns) {
		to, from := dst[i*len(b.columns):], pooled[i*b.full:]
		for k, column := range b.columns {
			to[k] = from[column]
		}
	}
}

// expand is the inverse of compact. Other columns of dst keep their values.
func (b *bySlot) expand(dst, columns []float32) {
	for i := range len(columns) / len(b.columns) {
		to, from := dst[i*b.full:], columns[i*len(b.columns):]
		for k, column := range b.columns {
			to[column] = from[k]
		}
	}
}

// PooledAndIDs is the payload of Embeddings where rows are placed by slot: the pooled embeddings of the slots
// whose rows are on PSs, and the ids of those whose rows are on GPUs.
type PooledAndIDs struct {
	Pooled
	IDs IDs
}

// Size returns the number of bytes on a wire.
func (p *PooledAndIDs) Size() int { return p.Pooled.Size() + p.IDs.Size() }

// storeForGPU stores the pooled embeddings of a batch, in a borrowed buffer, with its ids of slots on GPUs.
func (w *embeddingWorkerWork) storeForGPU(i item, routed *resolved, pooled []float32,
	won Winners) unit.Bytes {
	columns := w.buffers.borrow(routed.Samples() * w.width)
	w.bySlot.compact(columns, pooled)
	w.buffers.giveBack(pooled)
	both := &PooledAndIDs{Pooled: Pooled{compress.Pack(w.job.Wire.Precision, columns), won}, IDs: *routed.ids}
	i.store.setLeased(i.Makes[0], both, w.lease(columns))
	return unit.Bytes(both.Size())
}
