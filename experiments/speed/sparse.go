package speed

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"tandem/algo/exec/embedding"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/route"
	"tandem/algo/numeric/shard"
	"tandem/algo/numeric/table"
	"tandem/algo/rng"
	"tandem/datasets/synth"
	"tandem/experiments/pytorch"
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

// sparseStep is the sparse half of a step, as the roles do it. The number of parts of a batch and the
// number of shards equal the number of goroutines. A step has four phases: the distinct signs of every
// part; their rows from every shard; the pooled rows of every part, and the sums of their gradients by row;
// one optimizer step per row in every shard.
type sparseStep struct {
	schema  *batch.Schema
	dim     int
	samples int
	batches [][]batch.Part // by batch and part
	shards  []*table.Table
	grads   [][]float32     // of the pooled rows, by part
	pooled  [][]float32     // by part
	rows    [][]float32     // by part
	found   [][]table.Found // the places of the rows, by part
	routed  []*route.Routed
	sums    [][]float32   // by part, of several parts
	merging route.Merging // of one part
	outcome []table.Outcome
	pool    gemm.Pool
	steps   int
}

func newSparseStep(p *prepared) (*sparseStep, error) {
	net := pytorch.Network{Slots: p.Rows.Slots, Dim: p.Rows.Dim}
	s := &sparseStep{
		schema: net.Schema(), dim: p.Rows.Dim, samples: p.Batch, pool: p.pool,
		routed: make([]*route.Routed, p.Threads), rows: make([][]float32, p.Threads),
		sums:    make([][]float32, p.Threads),
		outcome: make([]table.Outcome, p.Threads), found: make([][]table.Found, p.Threads),
	}
	for b := range batches {
		s.batches = append(s.batches, batch.Cut(p.idBatch(b), p.Threads, p.Threads))
	}
	width := s.schema.EmbeddingWidth()
	at := 0
	for _, part := range s.batches[0] {
		n := part.Samples * width
		s.pooled, s.grads = append(s.pooled, make([]float32, n)), append(s.grads, p.arrays["grads"][at:at+n])
		at += n
	}
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

// fill creates all rows, with values 0, in the shards.
func (s *sparseStep) fill(p *prepared) error {
	t := job.Default()
	t.Model.EmbeddingDim, t.Rows.Optimizer, t.Rows.Init = s.dim, p.adagrad(), 0
	for range p.Threads {
		rows, err := embedding.NewTable(&t, p.arena, nil)
		if err != nil {
			return err
		}
		s.shards = append(s.shards, rows)
	}
	plan := shard.Rows(p.Threads)
	const chunk = 4096
	signs, values := make([][]uint64, p.Threads), make([]float32, chunk*s.dim)
	create := func(full int) error {
		for i, rows := range s.shards {
			if len(signs[i]) >= full {
				if err := rows.Lookup(signs[i], values[:len(signs[i])*s.dim]); err != nil {
					return err
				}
				signs[i] = signs[i][:0]
			}
		}
		return nil
	}
	for slot := range p.Rows.Slots {
		signer := s.schema.Signer(slot)
		for id := range p.Rows.Each {
			sign := signer.Sign(uint64(id), 0)
			at := plan.Owner(sign)
			if signs[at] = append(signs[at], sign); len(signs[at]) == chunk {
				if err := create(chunk); err != nil {
					return err
				}
			}
		}
	}
	return create(1)
}

// check implements stepper: the mean size of the pooled values.
func (s *sparseStep) check() float64 {
	sum, n := 0.0, 0
	for _, pooled := range s.pooled {
		for _, v := range pooled {
			sum += math.Abs(float64(v))
		}
		n += len(pooled)
	}
	return sum / float64(n)
}

// run implements stepper.
func (s *sparseStep) run(ctx context.Context, steps int) (time.Duration, error) {
	return timed(ctx, steps, s.step)
}

func (s *sparseStep) step() error {
	parts := s.batches[s.steps%batches]
	errs := make([]error, len(parts))
	n := s.pool.Size()
	s.pool.ForEach(n, func(part int) {
		s.routed[part] = route.Route(s.schema, parts[part], shard.Rows(n))
		s.rows[part] = resized(s.rows[part], len(s.routed[part].Signs)*s.dim)
		s.found[part] = resized(s.found[part], len(s.routed[part].Signs))
	})
	s.pool.ForEach(n, func(shard int) {
		for part, routed := range s.routed {
			lo, hi := int(routed.Bounds[shard])*s.dim, int(routed.Bounds[shard+1])*s.dim
			found := s.found[part][lo/s.dim : hi/s.dim]
			err := s.shards[shard].LookupStep(s.steps, routed.ShardSigns(shard), s.rows[part][lo:hi], found)
			if err != nil {
				errs[shard] = err
			}
		}
	})
	s.pool.ForEach(n, func(part int) {
		s.routed[part].Pool(s.pooled[part], s.schema, s.rows[part], s.dim)
		if n == 1 {
			s.routed[part].Order(&s.merging, s.schema, s.grads[part], s.dim)
			return
		}
		s.sums[part] = resized(s.sums[part], len(s.rows[part]))
		s.routed[part].Merge(s.sums[part], s.schema, s.grads[part], s.dim)
	})
	s.pool.ForEach(n, func(shard int) { s.outcome[shard] = s.apply(shard) })
	for shard, o := range s.outcome {
		if errs[shard] != nil {
			return errs[shard]
		}
		if o.Missing+o.NonFinite > 0 {
			return fmt.Errorf("%d rows are missing and %d gradients are not finite after %d steps",
				o.Missing, o.NonFinite, s.steps)
		}
	}
	s.steps++
	return nil
}

// apply does the optimizer step of the rows of a shard, with gradients merged over the parts.
func (s *sparseStep) apply(shard int) table.Outcome {
	rows := s.shards[shard]
	if len(s.routed) == 1 {
		put := route.Put{Samples: s.routed[0].Samples(), Signs: s.routed[0].Signs, Pending: &s.merging}
		return embedding.ApplyPut(rows, &put, s.samples, false, rows.Rate(s.steps),
			&table.Read{Found: s.found[0]})
	}
	puts := make([]route.Put, len(s.routed))
	for part, routed := range s.routed {
		lo, hi := int(routed.Bounds[shard])*s.dim, int(routed.Bounds[shard+1])*s.dim
		puts[part] = route.Put{
			Rank:    part,
			Samples: routed.Samples(),
			Signs:   routed.ShardSigns(shard),
			Sums:    s.sums[part][lo:hi],
		}
	}
	signs, grads := route.Combine(puts, s.samples, s.dim, false)
	return rows.Apply(signs, grads, rows.Rate(s.steps), nil)
}

// resized returns a slice of n values with arbitrary contents.
func resized[T any](old []T, n int) []T { return slices.Grow(old[:0], n)[:n] }
