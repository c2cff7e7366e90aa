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
)

// Laws of ids.
const (
	uniform = "uniform"
	zipf    = "Zipf 1.05"
)

// rows are embedding rows, in the words of both sides. A sample has one id in each
// slot, and each slot rows of its own.
type rows struct {
	Dim          int    `json:"dim" yaml:"dim"`
	Slots        int    `json:"slots" yaml:"slots"`
	Each         int    `json:"each" yaml:"each"` // rows of a slot
	Distribution string `json:"distribution" yaml:"distribution"`
}

// batches is how many batches of ids there are, which both sides take in turns: so
// many that the rows of one have left the caches when it comes again.
const batches = 16

// adagrad is the optimizer of rows on both sides: PyTorch's formula, Persia's
// settings.
func adagrad() opt.RowSpec {
	spec := opt.DefaultRow()
	spec.Order = opt.After
	return spec
}

// fillSparse draws ids, of every batch slot by slot, as places in a slot's rows,
// and gradients of the pooled rows.
func (p *prepared) fillSparse() error {
	exponent := 0.0
	if p.Rows.Distribution == zipf {
		exponent = 1.05
	}
	distribution := synth.NewZipf(job.SyntheticColumn{Cardinality: int64(p.Rows.Each), Exponent: exponent})
	random := rng.New(1, "speed/sparse")
	ids := make([]int64, batches*p.Rows.Slots*p.Batch)
	for i := range ids {
		// A prime factor scatters frequent ids over the rows.
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

// sparseStep is the sparse half of a step, as the roles do it, in as many parts and
// shards as there are goroutines: of every part its distinct signs; of every shard
// their rows; of every part the pooled rows, and the sums of their gradients by
// row; of every shard one optimizer step a row.
type sparseStep struct {
	schema  *batch.Schema
	dim     int
	samples int
	batches [][]batch.Part // by batch and part
	shards  []*table.Table
	grads   [][]float32     // of the pooled rows, by part
	pooled  [][]float32     // by part
	rows    [][]float32     // by part
	found   [][]table.Found // where these were, by part
	routed  []*route.Routed
	sums    [][]float32 // by part
	scaled  [][]float32 // by shard
	outcome []table.Outcome
	pool    gemm.Pool
	steps   int
}

func newSparseStep(p *prepared) (*sparseStep, error) {
	net := net{Slots: p.Rows.Slots, Dim: p.Rows.Dim}
	s := &sparseStep{
		schema: net.schema(), dim: p.Rows.Dim, samples: p.Batch, pool: p.pool,
		routed: make([]*route.Routed, p.Threads), rows: make([][]float32, p.Threads), sums: make([][]float32, p.Threads), scaled: make([][]float32, p.Threads),
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

// idBatch returns the ids of a batch as the data loader would.
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

// fill creates all rows, with values of 0, in the shards.
func (s *sparseStep) fill(p *prepared) error {
	t := job.Default()
	t.Model.EmbeddingDim, t.Rows.Optimizer, t.Rows.Init = s.dim, adagrad(), 0
	for range p.Threads {
		rows, err := embedding.NewTable(&t, &p.arena)
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
			at := plan.Of(sign)
			if signs[at] = append(signs[at], sign); len(signs[at]) == chunk {
				if err := create(chunk); err != nil {
					return err
				}
			}
		}
	}
	return create(1)
}

// check implements stepper: the mean size of a pooled value.
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
	pieces := s.pool.Size()
	s.pool.ForEach(pieces, func(part int) {
		s.routed[part] = route.Route(s.schema, parts[part], shard.Rows(pieces))
		s.rows[part] = resized(s.rows[part], len(s.routed[part].Signs)*s.dim)
		s.found[part] = resized(s.found[part], len(s.routed[part].Signs))
	})
	s.pool.ForEach(pieces, func(shard int) {
		for part, routed := range s.routed {
			lo, hi := int(routed.Bounds[shard])*s.dim, int(routed.Bounds[shard+1])*s.dim
			if err := s.shards[shard].LookupStep(s.steps, routed.Of(shard), s.rows[part][lo:hi], s.found[part][lo/s.dim:hi/s.dim]); err != nil {
				errs[shard] = err
			}
		}
	})
	s.pool.ForEach(pieces, func(part int) {
		s.routed[part].Pool(s.pooled[part], s.schema, s.rows[part], s.dim)
		s.sums[part] = resized(s.sums[part], len(s.rows[part]))
		s.routed[part].Merge(s.sums[part], s.schema, s.grads[part], s.dim)
	})
	s.pool.ForEach(pieces, func(shard int) { s.outcome[shard] = s.apply(shard) })
	for shard, o := range s.outcome {
		if errs[shard] != nil {
			return errs[shard]
		}
		if o.Missing+o.NonFinite > 0 {
			return fmt.Errorf("%d rows are missing and %d gradients not finite after %d steps", o.Missing, o.NonFinite, s.steps)
		}
	}
	s.steps++
	return nil
}

// apply gives the rows of a shard their optimizer step: merged over the parts.
func (s *sparseStep) apply(shard int) table.Outcome {
	puts := make([]route.Put, len(s.routed))
	for part, routed := range s.routed {
		lo, hi := int(routed.Bounds[shard])*s.dim, int(routed.Bounds[shard+1])*s.dim
		puts[part] = route.Put{Rank: part, Samples: routed.Samples(), Signs: routed.Of(shard), Sums: s.sums[part][lo:hi]}
	}
	rows := s.shards[shard]
	if len(puts) == 1 {
		var o table.Outcome
		o, s.scaled[shard] = embedding.ApplyPut(rows, puts[0], s.samples, false, rows.Rate(s.steps), table.Read{Found: s.found[0]}, s.scaled[shard])
		return o
	}
	signs, grads := route.Combine(puts, s.samples, s.dim, false)
	return rows.Apply(signs, grads, rows.Rate(s.steps), nil)
}

// resized returns a slice of n values, whose contents do not matter.
func resized[T any](old []T, n int) []T { return slices.Grow(old[:0], n)[:n] }
