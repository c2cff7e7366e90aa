package speed

import (
	"fmt"
	"math"

	"tandem/algo/exec/embedding"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/route"
	"tandem/algo/numeric/shard"
	"tandem/algo/numeric/table"
	"tandem/algo/rng"
	"tandem/datasets/synth"
	"tandem/experiments/internal/pytorch"
)

// batches is the number of different batches of ids. All sides cycle through them. When a batch recurs,
// its rows are no longer in the caches.
const batches = 16

// drawIDs draws ids, which are indices of the rows of a slot. Those of a batch are ordered by slot.
func (p *prepared) drawIDs() []int64 {
	exponent := 0.0
	if p.Rows.Distribution == zipf {
		exponent = 1.05
	}
	distribution := synth.NewZipf(job.SyntheticColumn{Cardinality: int64(p.Rows.Each), Exponent: exponent})
	random := rng.New(1, "speed/sparse")
	ids := make([]int64, batches*p.Rows.Slots*p.Batch)
	for i := range ids {
		// Multiplication by a prime scatters frequent ids over the rows.
		ids[i] = (distribution.Rank(random) - 1) * 2_654_435_761 % int64(p.Rows.Each)
	}
	return ids
}

// of returns the ids of a slot in a batch.
func (p *prepared) of(ids []int64, b, slot int) []int64 {
	return ids[(b*p.Rows.Slots+slot)*p.Batch:][:p.Batch]
}

// schema returns the input data of a case with rows.
func (p *prepared) schema() *batch.Schema {
	return (&pytorch.Network{Slots: p.Rows.Slots, Dim: p.Rows.Dim}).Schema()
}

// sparse draws ids and gradients of the pooled rows. A step is the sparse half of a step as sequential
// training does it: the distinct signs of a batch, their rows, the pooled rows, the order of gradients by
// row, and one optimizer step of each row by its sum. The pool shares all of them.
func (p *prepared) sparse() error {
	ids, random := p.drawIDs(), rng.New(1, "speed/gradients")
	grads := make([]float32, p.Batch*p.Rows.Slots*p.Rows.Dim)
	for i := range grads {
		grads[i] = float32(random.NormFloat64())
	}
	var err error
	if p.files, err = pytorch.NewFiles(map[string]any{"ids": ids, "grads": grads}); err != nil {
		return err
	}
	schema := p.schema()
	var parts []batch.Part
	for b := range batches {
		parts = append(parts, batch.Cut(p.batchOf(ids, b), 1, 1)[0])
	}
	p.tandem = func() (*work, error) {
		rows, err := p.newTable(0, p.Rows.Slots, p.pool)
		if err != nil {
			return nil, err
		}
		held, steps := embedding.NewShard(schema.Dims(), []*table.Table{rows}, nil), 0
		pooled := make([]float32, p.Batch*schema.EmbeddingWidth())
		occurrences := []route.Occurrences{{Pool: p.pool}} // of the rows in the pooled rows
		return stepwise(func() error {
			routed := route.RouteByDim(p.pool, schema, parts[steps%batches], shard.Rows(1))
			key := embedding.BatchKey{Step: int32(steps)}
			if err := held.LookupPooled(key, routed, schema, occurrences, pooled, nil); err != nil {
				return err
			}
			rows := routed.Routed[0]
			rows.Take(&occurrences[0], schema, grads, nil)
			put := route.Put{Samples: p.Batch, Signs: rows.Signs, Pending: &occurrences[0]}
			all := embedding.BatchPut{BatchKey: key, ByDim: []route.Put{put}}
			if err := held.Apply(all, p.Batch, false); err != nil {
				return fmt.Errorf("after %d steps: %w", steps, err)
			}
			steps++
			return nil
		}, func() float64 {
			sum := 0.0
			for _, v := range pooled {
				sum += math.Abs(float64(v))
			}
			return sum / float64(len(pooled))
		}), nil
	}
	return nil
}

// batchOf returns a batch of ids in the form of the data loader.
func (p *prepared) batchOf(ids []int64, b int) *batch.Batch {
	out := &batch.Batch{Samples: p.Batch, Slots: make([]batch.Jagged, p.Rows.Slots)}
	offsets := make([]int32, p.Batch+1)
	for i := range offsets {
		offsets[i] = int32(i)
	}
	for slot := range out.Slots {
		own := make([]uint64, p.Batch)
		for i, id := range p.of(ids, b, slot) {
			own[i] = uint64(id)
		}
		out.Slots[slot] = batch.Jagged{Offsets: offsets, IDs: own}
	}
	return out
}
