package train_test

import (
	"strings"
	"testing"

	"tandem/algo/exec/exectest"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/runtime/train"
)

// weighing is a source whose first batch has other weights of ids than the slots allow.
type weighing struct {
	*exectest.Columns
	change func(*batch.Batch)
}

func (w *weighing) Read(step int) (*batch.Batch, error) {
	b, err := w.Columns.Read(step)
	if step == 0 && err == nil {
		w.change(b)
	}
	return b, err
}

func weigh(own *batch.Jagged, n int, weight float32) {
	own.Weights = make([]float32, n)
	for i := range own.Weights {
		own.Weights[i] = weight
	}
}

// Weights of ids that a slot cannot have are refused alike in every mode, however ids travel.
func TestEveryModeRefusesWrongWeightsOfIDs(t *testing.T) {
	for want, c := range map[string]struct {
		weighted batch.Scale // of slot tags, which has weights if it is Mean
		change   func(*batch.Batch)
	}{
		"weights, and its ids have none": {batch.Unscaled, func(b *batch.Batch) {
			weigh(&b.Slots[0], len(b.Slots[0].IDs), 3)
		}},
		"slot history: ": {batch.Mean, func(b *batch.Batch) {
			weigh(&b.Slots[1], len(b.Slots[1].IDs), 3)
		}},
		"slot tags: 3 weights of ": {batch.Mean, func(b *batch.Batch) { weigh(&b.Slots[0], 3, 1) }},
		"slot tags, sample ": {batch.Mean, func(b *batch.Batch) {
			weigh(&b.Slots[0], len(b.Slots[0].IDs), 0)
		}},
	} {
		first := ""
		for _, mode := range job.Modes() {
			for _, index := range []string{job.IndexRaw, job.IndexCompressed} {
				data := &weighing{exectest.NewColumns(64, 16), c.change}
				data.Fields.Slots[0].Scale = c.weighted
				data.Fields.Slots[0].Weighted = c.weighted == batch.Mean
				j := cutJob(mode, 1, 1)
				j.Wire.Index = index
				_, err := train.Run(t.Context(), j, data, data.All, train.Options{})
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s, index %s: %v, want %q", mode, index, err, want)
					continue
				}
				reason := err.Error()[strings.Index(err.Error(), "slot "):]
				if first == "" {
					first = reason
				}
				if reason != first {
					t.Errorf("%s, index %s: %q, and elsewhere %q", mode, index, reason, first)
				}
				c.change(data.All)
				_, err = train.Run(t.Context(), j, data.Columns, data.All, train.Options{})
				if err == nil || !strings.HasPrefix(err.Error(), "test rows: slot ") ||
					!strings.Contains(err.Error(), want) {
					t.Errorf("%s, index %s: %v, want %q of test rows", mode, index, err, want)
				}
			}
		}
	}
}
