package train_test

import (
	"context"
	"fmt"
	"slices"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/rng"
	"tandem/runtime/train"
)

// clicks is a data set in memory: every sample is a user, an item, and whether the user clicked on it.
type clicks struct {
	schema       batch.Schema
	users, items []uint64
	labels       []float32
	batchSize    int
}

// newClicks draws n samples of 40 users and 30 items. Users with even numbers click on every third item, the
// others on none.
func newClicks(n int, seed uint64) *clicks {
	c := &clicks{batchSize: 100, schema: batch.Schema{
		Slots: []batch.Slot{{Name: "user", Dim: 8}, {Name: "item", Dim: 8}}, Labels: []string{"click"},
		PrefixBits: 8,
	}}
	draw := rng.New(seed, "clicks")
	for range n {
		user, item := draw.Uint64N(40), draw.Uint64N(30)
		label := float32(0)
		if user%2 == 0 && item%3 == 0 {
			label = 1
		}
		c.users, c.items, c.labels = append(c.users, user), append(c.items, item), append(c.labels, label)
	}
	return c
}

func (c *clicks) Schema() *batch.Schema { return &c.schema }
func (c *clicks) Steps() int            { return len(c.labels) / c.batchSize }
func (c *clicks) Samples(int) int       { return c.batchSize }

// Read returns the global batch of a step.
func (c *clicks) Read(step int) (*batch.Batch, error) {
	from := step * c.batchSize
	return c.rows(from, from+c.batchSize), nil
}

// rows returns the samples from..to-1 as a batch. Every slot has one id a sample.
func (c *clicks) rows(from, to int) *batch.Batch {
	offsets := make([]int32, to-from+1)
	for i := range offsets {
		offsets[i] = int32(i)
	}
	return &batch.Batch{
		Samples: to - from,
		Slots: []batch.Jagged{
			{Offsets: offsets, IDs: c.users[from:to]},
			{Offsets: slices.Clone(offsets), IDs: c.items[from:to]},
		},
		Labels: c.labels[from:to],
	}
}

// A user's first program: train a data set of one's own with two NN workers, two embedding workers and two
// embedding PSs in this process, and evaluate on rows that were not trained.
func Example() {
	j := job.Default()
	j.Training.Mode, j.Training.GlobalBatch, j.Training.Seed = "sync", 100, 1
	j.Roles.Ranks, j.Roles.EmbeddingWorkers, j.Roles.EmbeddingPSs = 2, 2, 2
	j.Model.EmbeddingDim = 8

	training, test := newClicks(20_000, 1), newClicks(2_000, 2)
	result, err := train.Run(context.Background(), j, training, test.rows(0, 2_000), train.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Steps, "steps,", result.Rows, "embedding rows")
	fmt.Printf("AUC %.2f\n", result.AUC)
	// Output:
	// 200 steps, 70 embedding rows
	// AUC 1.00
}
