package train

import (
	"fmt"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/rng"
)

// wideConfiguration is a configuration with up to 26 slots of 4 to 128 values, some with settings of their
// own.
func wideConfiguration(seed uint64) *configuration {
	one := newConfiguration(seed)
	c := chooser{rng.New(seed, "wide")}
	t, r := &one.training, one.rows
	if !t.Model.AnyDims() {
		t.Model.Kind = oneOf(c, model.FeedForward, model.DCNv2)
	}
	t.Rows.Hot = job.Hot{}
	if seed%3 == 0 {
		t.Roles.EmbeddingPSs, t.Rows.Eviction, t.Rows.Capacity = 1, job.SecondChance, c.between(40, 200)
		t.Rows.Expiry = 0
	}
	if t.Model.DenseTower != nil && len(r.schema.Dense) == 0 {
		t.Model.DenseTower = nil
	}
	r.schema.PrefixBits = 8
	for want := c.between(2, 26); len(r.schema.Slots) < want; {
		slot := batch.Slot{Name: fmt.Sprint("slot", len(r.schema.Slots)), Scale: c.scale()}
		if c.chance(4) {
			slot.Pooling, slot.FixedSize = batch.Raw, c.between(1, 2)
		}
		c.maximum(&slot)
		r.schema.Slots = append(r.schema.Slots, slot)
	}
	c.dims(t, r)
	c.settings(t, r)
	ids := c.samples(&r.schema, r.all.Samples)
	r.all.Slots = ids.Slots
	return one
}

// Sync training equals sequential training bit for bit, where up to 26 slots have dimensions from 4 to 128,
// and optimizers, initial values and precisions of their own, also where a PS evicts. Flag -long trains 500
// jobs.
func TestSyncEqualsSequentialWithDimensionsBySlot(t *testing.T) {
	count, trained, most, slots, classes, evicting := 12, 0, 0, 0, 0, 0
	if *long {
		count = 500
	}
	for n := 0; trained < count && n < 2*count; n++ {
		c := wideConfiguration(uint64(n))
		if err := c.training.Validate(); err != nil {
			t.Fatalf("configuration %d: %v", n, err)
		}
		reference := c.training
		reference.Training.Mode, reference.Training.Overlap = job.Sequential, ""
		want, failed := outcome(Run(t.Context(), reference, c.rows, c.rows.all, Options{}))
		result, err := Run(t.Context(), c.training, c.rows, c.rows.all, Options{})
		if got, _ := outcome(result, err); got != want {
			t.Errorf("configuration %d: sequential has %s, sync has %s", n, want, got)
		}
		if failed == nil { // numbers that are not finite end both
			trained++
			most = max(most, len(c.rows.schema.Dims().Lengths()))
			slots = max(slots, len(c.rows.schema.Slots))
			classes = max(classes, len(c.training.RowSettings()))
			if result.EvictedRows > 0 {
				evicting++
			}
		}
	}
	t.Logf("%d jobs trained, %d with eviction, of up to %d slots, %d kinds of rows and %d classes", trained,
		evicting, slots, most, classes)
	if trained < count || evicting == 0 || most < 6 || slots < 20 || classes < 4 {
		t.Errorf("%d jobs trained, %d with eviction, of up to %d slots, %d kinds of rows and %d classes; "+
			"want %d, and 1, 20, 6 and 4 at least", trained, evicting, slots, most, classes, count)
	}
}

// Every mode trains slots that differ in dimension and settings within its bounds, and predicts with their
// rows. With one rank that reads what it has put before, hybrid has the bits of sequential training.
func TestEveryModeTrainsDimensionsBySlot(t *testing.T) {
	c, none := wideConfiguration(1), 0
	own := job.Default()
	own.Data, own.Rows = c.training.Data, c.training.Rows
	own.Model.Spec = model.Spec{Kind: model.FeedForward, EmbeddingDim: 8, Top: []int{8},
		Activation: model.ReLU}
	c.rows.schema.Labels, c.rows.size = []string{"label"}, 16
	c.rows.all.Labels = nil
	for i := range c.rows.all.Samples {
		c.rows.all.Labels = append(c.rows.all.Labels, float32(i%2))
	}
	own.Training.GlobalBatch, own.Training.Groups = 16, 2
	digests := map[string]uint64{}
	for _, mode := range job.Modes() {
		one := own
		one.Training.Mode, one.Roles.Ranks = mode, 2
		if mode == job.Hybrid {
			one.Roles.Ranks, one.Training.Staleness = 1, &none
		}
		result, err := Run(t.Context(), one, c.rows, c.rows.all, Options{})
		if err != nil {
			t.Errorf("%s: %v", mode, err)
			continue
		}
		if result.Rows == 0 || len(result.Probabilities) != c.rows.all.Samples {
			t.Errorf("%s: %d rows and %d predictions", mode, result.Rows, len(result.Probabilities))
		}
		digests[mode] = result.RowsDigest
	}
	if digests[job.Hybrid] != digests[job.Sequential] || digests[job.Sync] != digests[job.Sequential] {
		t.Errorf("rows %x", digests)
	}
}
