package exec

import (
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/model"
	"tandem/algo/rng"
)

// columns is a source of samples in memory, in order.
type columns struct {
	schema batch.Schema
	all    *batch.Batch
	size   int // of a global batch
}

func (c *columns) Schema() *batch.Schema { return &c.schema }
func (c *columns) Steps() int            { return (c.all.Samples-1)/c.size + 1 }
func (c *columns) Samples(step int) int  { return min(c.size, c.all.Samples-step*c.size) }
func (c *columns) Read(step int) (*batch.Batch, error) {
	return batch.Slice(c.all, step*c.size, step*c.size+c.Samples(step)), nil
}

// newColumns draws samples with ids of 0 to 3 of 30 in a summed and in a raw
// slot, and one numeric feature.
func newColumns(samples, size int) *columns {
	c := &columns{size: size, schema: batch.Schema{
		Slots: []batch.Slot{{Name: "tags", Dim: 3}, {Name: "history", Dim: 3, Pooling: batch.Raw, FixedSize: 2}},
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
	c.all = b
	return c
}

// training is of a small network with batch norm, in two buckets.
func training(ranks, servers int) job.Job {
	t := job.Default()
	t.Training.Mode, t.Roles.Ranks, t.Roles.EmbeddingPS, t.Training.GlobalBatch = job.Sync, ranks, servers, 16
	t.Model.Spec = model.Spec{Kind: model.FeedForward, EmbeddingDim: 3, Top: []int{5}, Activation: model.ReLU, BatchNorm: true}
	t.Model.Optimizer.Rate = 0.05
	return t
}

func mustNew(t testing.TB, training job.Job, source batch.Source) *Executor {
	t.Helper()
	p, err := New(training, source, Machine{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mustNewSequential(t testing.TB, training job.Job, source batch.Source) *Sequential {
	t.Helper()
	q, err := NewSequential(training, source, Machine{})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// mustStep trains the reference on its first steps.
func mustStep(t testing.TB, q *Sequential, steps int) {
	t.Helper()
	for step := range steps {
		if err := q.Step(step); err != nil {
			t.Fatal(err)
		}
	}
}

// travelling returns values as the payload that they travel as.
func travelling(values any) Payload {
	switch v := values.(type) {
	case *batch.Part:
		return Samples{v}
	case compress.Signs:
		return Signs{v}
	case compress.Values:
		return Values{v}
	case []float32:
		return Numbers(v)
	}
	return values.(Payload)
}

func mustPanic(t *testing.T, want string, call func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := recover(); got != want {
			t.Errorf("panic %v, want %q", got, want)
		}
	}()
	call()
}
