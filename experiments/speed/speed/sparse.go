package speed

import (
	"context"
	"fmt"
	"math"
	"time"

	"tandem/algo/exec/embedding"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/route"
	"tandem/algo/numeric/shard"
	"tandem/algo/rng"
	"tandem/datasets/synth"
	"tandem/experiments/internal/pytorch"
)

// Distributions of ids.
const (
	uniform = "uniform"
	zipf    = "Zipf 1.05"
)

// rows describes embedding rows to both sides. A sample has one id in each slot, and each slot has its own
// rows.
type rows struct {
	Total        int    `json:"total" yaml:"total"` // rows of all slots, to the nearest multiple of Slots
	Dim          int    `json:"dim" yaml:"dim"`
	Slots        int    `json:"slots" yaml:"slots"`
	Each         int    `json:"each" yaml:"each"` // rows per slot
	Distribution string `json:"distribution" yaml:"distribution"`
}

// batches is the number of different batches of ids. Both sides cycle through them. When a batch recurs,
// its rows are no longer in the caches.
const batches = 16

// adagrad returns the optimizer of rows on all sides: the formula of PyTorch with the settings of Persia, or
// row-wise.
func (c *testCase) adagrad() opt.RowSpec {
	spec := opt.DefaultRow()
	spec.Order = opt.After
	if c.RowWise {
		spec.Kind = opt.RowwiseAdagrad
	}
	return spec
}

// fillSparse draws ids, which are indices of the rows of a slot, and gradients of the pooled rows. The ids
// of a batch are ordered by slot.
func (p *prepared) fillSparse() error {
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
	p.ids = ids
	if err := p.write("ids", ids); err != nil {
		return err
	}
	grads := make([]float32, p.Batch*p.Rows.Slots*p.Rows.Dim)
	for i := range grads {
		grads[i] = float32(random.NormFloat64())
	}
	return p.add("grads", grads)
}

// sparseStep is the sparse half of a step, as sequential training does it: the distinct signs of a batch,
// their rows, the pooled rows, the order of gradients by row, and one optimizer step of each row by its sum.
// The pool shares all of them.
type sparseStep struct {
	schema  *batch.Schema
	dim     int
	samples int
	batches []batch.Part
	shard   *embedding.Shard
	grads   []float32 // of the pooled rows
	pooled  []float32
	// occurrences of the rows in the pooled rows, of the batch in hand
	occurrences route.Occurrences
	pool        gemm.Pool
	steps       int
}

func newSparseStep(p *prepared) (*sparseStep, error) {
	net := pytorch.Network{Slots: p.Rows.Slots, Dim: p.Rows.Dim}
	s := &sparseStep{
		schema: net.Schema(), dim: p.Rows.Dim, samples: p.Batch, pool: p.pool, grads: p.arrays["grads"],
		occurrences: route.Occurrences{Pool: p.pool},
	}
	for b := range batches {
		s.batches = append(s.batches, batch.Cut(p.idBatch(b), 1, 1)[0])
	}
	s.pooled = make([]float32, s.samples*s.schema.EmbeddingWidth())
	return s, s.fill(p)
}

// idBatch returns the ids of a batch in the form of the data loader.
func (p *prepared) idBatch(b int) *batch.Batch {
	out := &batch.Batch{Samples: p.Batch, Slots: make([]batch.Jagged, p.Rows.Slots)}
	offsets := make([]int32, p.Batch+1)
	for i := range offsets {
		offsets[i] = int32(i)
	}
	for slot := range out.Slots {
		ids := make([]uint64, p.Batch)
		for i, id := range p.ids[(b*p.Rows.Slots+slot)*p.Batch:][:p.Batch] {
			ids[i] = uint64(id)
		}
		out.Slots[slot] = batch.Jagged{Offsets: offsets, IDs: ids}
	}
	return out
}

// fill creates all rows, with values 0.
func (s *sparseStep) fill(p *prepared) error {
	t := job.Default()
	t.Model.EmbeddingDim, t.Rows.Optimizer, t.Rows.Init = s.dim, p.adagrad(), 0
	rows, err := embedding.NewTable(&t, p.arena, s.pool)
	if err != nil {
		return err
	}
	s.shard = embedding.NewShard(rows, nil)
	const chunk = 4096
	values := make([]float32, chunk*s.dim)
	var signs []uint64
	for slot := range p.Rows.Slots {
		signer := s.schema.Signer(slot)
		for id := 0; id < p.Rows.Each; {
			for signs = signs[:0]; len(signs) < chunk && id < p.Rows.Each; id++ {
				signs = append(signs, signer.Sign(uint64(id), 0))
			}
			if err := rows.Lookup(signs, values[:len(signs)*s.dim]); err != nil {
				return err
			}
		}
	}
	return nil
}

// check implements stepper: the mean size of the pooled values.
func (s *sparseStep) check() float64 {
	sum := 0.0
	for _, v := range s.pooled {
		sum += math.Abs(float64(v))
	}
	return sum / float64(len(s.pooled))
}

// run implements stepper.
func (s *sparseStep) run(ctx context.Context, steps int) (time.Duration, error) {
	return timed(ctx, steps, s.step)
}

func (s *sparseStep) step() error {
	routed := route.RouteOn(s.pool, s.schema, s.batches[s.steps%batches], shard.Rows(1))
	key := embedding.BatchKey{Step: int32(s.steps)}
	if err := s.shard.LookupPooled(key, routed, s.schema, &s.occurrences, s.pooled); err != nil {
		return err
	}
	routed.Take(&s.occurrences, s.schema, s.grads)
	put := route.Put{Samples: s.samples, Signs: routed.Signs, Pending: &s.occurrences}
	if err := s.shard.Apply(key, put, s.samples, false); err != nil {
		return fmt.Errorf("after %d steps: %w", s.steps, err)
	}
	s.steps++
	return nil
}
