package exec

import (
	"sync/atomic"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/shard"
)

// tiers counts the ids of the batches that EWs have divided, in a job with its hot rows on GPUs and the
// others on PSs (job.Job.HasTiers).
type tiers struct{ ids, onGPUs atomic.Uint64 }

// slotsInTiers returns the numbers of the slots that can have hot rows on GPUs.
func slotsInTiers(schema *batch.Schema) (numbers []int) {
	for i, slot := range schema.Slots {
		if slot.AddsRows() {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// hotIDs divides the ids of a slot into those of hot rows and the others, each in their order.
func hotIDs(all batch.Jagged, signer batch.Signer, hot *shard.Hot) (own, others batch.Jagged) {
	own.Offsets, others.Offsets = make([]int32, len(all.Offsets)), make([]int32, len(all.Offsets))
	own.IDs, others.IDs = make([]uint64, 0, len(all.IDs)), make([]uint64, 0, len(all.IDs))
	for i := range len(all.Offsets) - 1 {
		for _, id := range all.SampleIDs(i) {
			to := &others
			if _, isHot := hot.Place(signer.Sign(id, 0)); isHot {
				to = &own
			}
			to.IDs = append(to.IDs, id)
		}
		own.Offsets[i+1], others.Offsets[i+1] = int32(len(own.IDs)), int32(len(others.IDs))
	}
	return own, others
}

// count counts the ids of a batch, of which those of some slots are taken to GPUs.
func (t *tiers) count(part *batch.Part, taken []batch.Jagged) {
	for _, own := range part.Slots {
		t.ids.Add(uint64(len(own.IDs)))
	}
	for _, own := range taken {
		t.onGPUs.Add(uint64(len(own.IDs)))
	}
}

// IDsInTiers returns how many ids the EWs of this process have resolved, and how many of them name rows on
// GPUs: none unless GPUs have the hot rows. A batch that an EW has lost and resolves again counts again.
func IDsInTiers(m *ModelState) (all, onGPUs uint64) {
	if d := m.numerics.divided; d != nil && d.tiers != nil {
		return d.tiers.ids.Load(), d.tiers.onGPUs.Load()
	}
	return 0, 0
}
