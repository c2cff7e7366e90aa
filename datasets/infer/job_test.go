package infer

import (
	"math"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/opt"
	"tandem/datasets"
)

// The job of any table is valid, begins at the shares of positive labels, and takes at most 4,096 samples a
// step.
func TestJob(t *testing.T) {
	for _, c := range []struct {
		rows, batch, epochs int
		labels              bool
	}{
		{10, 16, 2, false}, {10_000, 16, 2, false}, {40_000, 64, 2, true},
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

// Large tables have large batches, wide embeddings and one epoch.
func TestSettingsByRows(t *testing.T) {
	for _, c := range []struct{ rows, batch, dim, epochs int }{
		{1, 16, 8, 2}, {20_000, 32, 8, 2}, {1_000_000, 1024, 16, 2}, {4_000_000, 4096, 16, 1},
		{1_000_000_000, 4096, 16, 1},
	} {
		set := &datasets.Dataset{Train: &batch.Batch{Samples: c.rows}}
		batch, dim, epochs := batchFor(c.rows), dimFor(c.rows), EpochsWithout(set)
		if batch != c.batch || dim != c.dim || epochs != c.epochs {
			t.Errorf("%d rows: batch %d, dimension %d, %d epochs; want %+v", c.rows, batch, dim, epochs, c)
		}
	}
}

// The first step of a row is the same share of a sample's own gradient for every batch size, and the
// steps of all columns add up.
func TestRowStepDoesNotDependOnTheBatch(t *testing.T) {
	for _, size := range []int{16, 4096} {
		for _, columns := range []int{1, 26} {
			j := job.Default()
			j.Training.GlobalBatch = size
			SetRowOptimizer(&j, columns, 0.5)
			rows, err := opt.NewRow(j.Rows.Optimizer)
			if err != nil {
				t.Fatal(err)
			}
			weight, state := []float32{0}, make([]float32, 1)
			rows.Init(state)
			const gradient = 0.1 // of a sample; its square is small beside the accumulator
			rows.Apply(weight, state, []float32{gradient / float32(size)}, rows.Rate(0))
			if got := -float64(columns) * float64(weight[0]) / gradient; math.Abs(got-0.5) > 0.01 {
				t.Errorf("batch %d, %d columns: a step of %v, want 0.5", size, columns, got)
			}
		}
	}
}
