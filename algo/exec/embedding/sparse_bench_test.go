package embedding

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/route"
	"tandem/algo/numeric/shard"
	"tandem/algo/numeric/table"
	"tandem/algo/rng"
)

// BenchmarkSparseStep measures all work of a step on embedding rows, on one core: ids become signs, distinct
// ones are found and looked up, pooled, and their gradients merged and applied by either Adagrad. 26 slots of
// one id share 2²⁰ rows, all of which exist. It reports occurrences of ids a second: PyTorch's EmbeddingBag
// with sparse Adagrad does 0.8 million on a core of the machine that this was written on.
func BenchmarkSparseStep(b *testing.B) {
	for _, optimizer := range []string{opt.Adagrad, opt.RowwiseAdagrad} {
		for _, dim := range []int{16, 32, 64, 128} {
			b.Run(fmt.Sprintf("%s/dim=%d", optimizer, dim), func(b *testing.B) {
				s := newSparseStep(b, optimizer, dim)
				for _, size := range []int{256, 4096} {
					for _, distribution := range []string{"uniform", "zipf-1.05"} {
						s.measure(b, size, distribution)
					}
				}
			})
		}
	}
}

// measure measures steps of a batch size.
func (s *sparseStep) measure(b *testing.B, size int, distribution string) {
	b.Run(fmt.Sprintf("batch=%d/%s", size, distribution), func(b *testing.B) {
		parts := s.draw(size, distribution)
		for stage := range s.took {
			s.took[stage] = s.took[stage][:0]
		}
		for i := 0; b.Loop(); i++ {
			s.step(b, i, parts[i%len(parts)])
		}
		occurrences := float64(size*sparseSlots) * float64(b.N)
		b.ReportMetric(occurrences/b.Elapsed().Seconds()/1e6, "Mrows/s")
		for stage, took := range s.took {
			slices.Sort(took)
			quartile := float64(took[len(took)/4]) / float64(size*sparseSlots)
			b.ReportMetric(quartile, sparseStages[stage]+"-ns/row")
		}
	})
}

// sparseSlots of sparseIDs each have the rows of the benchmark.
const (
	sparseSlots = 26
	sparseIDs   = 1<<20/sparseSlots + 1
)

// sparseStep is a PS and an EW in one, with memory that serves step after step.
type sparseStep struct {
	schema      batch.Schema
	dim         int
	shard       *Shard
	pooled      []float32
	occurrences []route.Occurrences
	took        [len(sparseStages)][]time.Duration // by step of a measurement
	last        time.Time                          // the end of the stage before
}

// sparseStages are the stages of a step, whose times are reported by occurrence: the lower quartile of all
// steps, which other work on the machine hardly changes. Reads order the occurrences of rows, find the rows
// and pool them; updates sum the gradients of each row first.
var sparseStages = [...]string{"route", "read", "update"}

// end takes the time since the end of the stage before as that of a stage.
func (s *sparseStep) end(stage int) {
	now := time.Now()
	s.took[stage] = append(s.took[stage], now.Sub(s.last))
	s.last = now
}

// newSparseStep creates every row.
func newSparseStep(b *testing.B, optimizer string, dim int) *sparseStep {
	t := job.Default()
	t.Rows.Optimizer.Kind = optimizer
	t.Model.Spec = model.Spec{Kind: model.FeedForward, EmbeddingDim: dim, Top: []int{8},
		Activation: model.ReLU}
	rows, err := NewTable(&t, dim, table.Heap{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	s := &sparseStep{schema: batch.Schema{PrefixBits: 8}, dim: dim,
		occurrences: make([]route.Occurrences, 1), shard: NewShard(batch.Dims{}, []*table.Table{rows}, nil)}
	for range sparseSlots {
		s.schema.Slots = append(s.schema.Slots, batch.Slot{Dim: dim})
	}
	ids, values := make([]uint64, sparseIDs), make([]float32, sparseIDs*dim)
	for id := range ids {
		ids[id] = rng.Mix(uint64(id))
	}
	for slot := range sparseSlots {
		if err := rows.Lookup(s.schema.Signer(slot).AppendSigns(nil, ids), values); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// draw returns some batches.
func (s *sparseStep) draw(size int, distribution string) (parts []batch.Part) {
	random := rng.New(1, "sparse step")
	zipf := rand.NewZipf(random, 1.05, 1, sparseIDs-1)
	for range 8 {
		all := &batch.Batch{Samples: size}
		for range sparseSlots {
			column := batch.Jagged{Offsets: []int32{0}}
			for i := range size {
				id := random.Uint64N(sparseIDs)
				if distribution != "uniform" {
					id = zipf.Uint64()
				}
				column.IDs, column.Offsets = append(column.IDs, rng.Mix(id)),
					append(column.Offsets, int32(i+1))
			}
			all.Slots = append(all.Slots, column)
		}
		parts = append(parts, batch.Cut(all, 8, 1)[0])
	}
	return parts
}

func (s *sparseStep) step(b *testing.B, i int, part batch.Part) {
	name := BatchKey{Step: int32(i)}
	s.last = time.Now()
	routed := route.RouteByDim(nil, &s.schema, part, shard.Rows(1))
	s.pooled = sized(s.pooled, part.Samples*s.schema.EmbeddingWidth())
	s.end(0)
	if err := s.shard.LookupPooled(name, routed, &s.schema, s.occurrences, s.pooled, nil); err != nil {
		b.Fatal(err)
	}
	s.end(1)
	rows, o := routed.Routed[0], &s.occurrences[0]
	rows.Take(o, &s.schema, s.pooled, nil) // gradients as good as any
	put := route.Put{Samples: part.Samples, Signs: rows.Signs, Pending: o}
	if err := s.shard.Apply(BatchPut{name, []route.Put{put}}, part.Samples, false); err != nil {
		b.Fatal(err)
	}
	s.end(2)
}

// sized returns n values, which may be anything.
func sized(old []float32, n int) []float32 {
	if cap(old) < n {
		return make([]float32, n, n+n/4)
	}
	return old[:n]
}
