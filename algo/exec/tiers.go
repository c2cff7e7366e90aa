package exec

import (
	"sync"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/shard"
)

// tiers counts the ids of the batches that EWs have divided, in a job with its hot rows on GPUs and the
// others on PSs (job.Job.HasTiers). A batch counts once, also if an EW has lost it and divides it again.
type tiers struct {
	mu          sync.Mutex // guards what follows
	counted     []uint64   // a bit for each batch: step by step, and there by rank
	ids, onGPUs uint64
}

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

// count counts the ids of the batch with a number, of which those of some slots are taken to GPUs.
func (t *tiers) count(number int, part *batch.Part, taken []batch.Jagged) {
	t.mu.Lock()
	defer t.mu.Unlock()
	word, bit := number/64, uint64(1)<<(number%64)
	if more := word + 1 - len(t.counted); more > 0 {
		t.counted = append(t.counted, make([]uint64, more)...)
	}
	if t.counted[word]&bit != 0 {
		return
	}
	t.counted[word] |= bit
	for _, own := range part.Slots {
		t.ids += uint64(len(own.IDs))
	}
	for _, own := range taken {
		t.onGPUs += uint64(len(own.IDs))
	}
}

// IDsInTiers returns how many ids are in the batches that the EWs of this process have resolved, and how many
// of them name rows on GPUs: none unless GPUs have the hot rows.
func IDsInTiers(m *ModelState) (all, onGPUs uint64) {
	if d := m.numerics.divided; d != nil && d.tiers != nil {
		d.tiers.mu.Lock()
		defer d.tiers.mu.Unlock()
		return d.tiers.ids, d.tiers.onGPUs
	}
	return 0, 0
}
