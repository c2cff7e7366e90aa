package infer

import (
	"math"
	"testing"

	"tandem/algo/job"
	"tandem/datasets"
)

// The job of any table is valid, begins at the shares of positive labels, and takes at most 4,096 samples a
// step.
func TestJob(t *testing.T) {
	for _, c := range []struct {
		rows, batch, epochs int
		labels              bool
	}{
		{10, 64, 3, false}, {10_000, 64, 3, false}, {40_000, 128, 3, true},
	} {
		synthetic := &job.Synthetic{
			TrainRows: c.rows, TestRows: 10, PositiveRate: 0.02, Seed: 1, Stream: true,
			Columns: []job.SyntheticColumn{{Name: "user", Cardinality: 100, Exponent: 1}},
		}
		if c.labels {
			synthetic.Conversion = &job.SyntheticConversion{Rate: 0.3}
		}
		set, err := datasets.Open(job.Data{Kind: job.KindSynthetic, Synthetic: synthetic}, "")
		if err != nil {
			t.Fatal(err)
		}
		j := Job(set)
		j.Data = job.Data{Kind: job.KindSynthetic, Synthetic: synthetic}
		if err := j.Validate(); err != nil {
			t.Errorf("%d rows: %v", c.rows, err)
		}
		if j.Training.GlobalBatch != c.batch || j.Training.Epochs != c.epochs {
			t.Errorf("%d rows: batch %d, %d epochs; want %d, %d", c.rows, j.Training.GlobalBatch,
				j.Training.Epochs, c.batch, c.epochs)
		}
		if len(j.Model.Heads) != len(set.Schema.Labels) {
			t.Errorf("%d heads for %d labels", len(j.Model.Heads), len(set.Schema.Labels))
		}
		if want := math.Log(0.02 / 0.98); c.rows >= 10_000 && math.Abs(j.Model.Heads[0].Bias-want) > 0.3 {
			t.Errorf("%d rows: bias %v, want about %v", c.rows, j.Model.Heads[0].Bias, want)
		}
	}
}

// Large tables have large batches and few epochs.
func TestBatchAndEpochsByRows(t *testing.T) {
	for _, c := range []struct{ rows, batch, epochs int }{
		{1, 64, 3}, {1_000_000, 2048, 2}, {4_000_000, 4096, 1}, {1_000_000_000, 4096, 1},
	} {
		batch := batchFor(c.rows)
		if epochs := epochsFor(c.rows, batch); batch != c.batch || epochs != c.epochs {
			t.Errorf("%d rows: batch %d, %d epochs; want %d, %d", c.rows, batch, epochs, c.batch, c.epochs)
		}
	}
}
