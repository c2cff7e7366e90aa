// Package exectest has the samples and the job that the tests of package exec and of its parts train on.
package exectest

import (
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/rng"
)

// Columns is a batch.Source of samples in memory, in order.
type Columns struct {
	Fields batch.Schema
	All    *batch.Batch
	Size   int // samples of a global batch; the last may have fewer
}

// Schema returns Fields.
func (c *Columns) Schema() *batch.Schema { return &c.Fields }

// Steps returns the number of global batches.
func (c *Columns) Steps() int { return (c.All.Samples-1)/c.Size + 1 }

// Samples returns the number of samples of a step.
func (c *Columns) Samples(step int) int { return min(c.Size, c.All.Samples-step*c.Size) }

// Read returns a slice of All.
func (c *Columns) Read(step int) (*batch.Batch, error) {
	return batch.Slice(c.All, step*c.Size, step*c.Size+c.Samples(step)), nil
}

// NewColumns draws samples with ids of 0 to 3 of 30 in a summed and in a raw
// slot, and one numeric feature.
func NewColumns(samples, size int) *Columns {
	c := &Columns{Size: size, Fields: batch.Schema{
		Slots: []batch.Slot{
			{Name: "tags", Dim: 3}, {Name: "history", Dim: 3, Pooling: batch.Raw, FixedSize: 2},
		},
		Dense: []string{"age"}, Labels: []string{"click"}, PrefixBits: 8,
	}}
	draw := rng.New(1, "columns")
	b := &batch.Batch{Samples: samples, Slots: []batch.Jagged{{Offsets: []int32{0}}, {Offsets: []int32{0}}}}
	for range samples {
		for s := range b.Slots {
			slot := &b.Slots[s]
			for range draw.IntN(4) {
				slot.IDs = append(slot.IDs, draw.Uint64N(30))
			}
			slot.Offsets = append(slot.Offsets, int32(len(slot.IDs)))
		}
		b.Dense = append(b.Dense, float32(draw.NormFloat64()))
		b.Labels = append(b.Labels, float32(draw.IntN(2)))
	}
	c.All = b
	return c
}

// Job returns a job of a small network with batch norm, in two buckets.
func Job(ranks, servers int) job.Job {
	t := job.Default()
	t.Training.Mode, t.Training.GlobalBatch = job.Sync, 16
	t.Roles.Ranks, t.Roles.EmbeddingPSs = ranks, servers
	t.Model.Spec = model.Spec{Kind: model.FeedForward, EmbeddingDim: 3, Top: []int{5}, Activation: model.ReLU,
		BatchNorm: true}
	t.Model.Optimizer.Rate = 0.05
	return t
}
