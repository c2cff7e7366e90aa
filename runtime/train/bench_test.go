package train

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/role"
	"tandem/algo/rng"
)

// criteoShaped draws samples of 26 slots of one id, Zipf 1.05 over up to ten million,
// and 13 numbers, in batches of 4096, as cmd/train/jobs/criteo-shaped.yaml has them.
func criteoShaped(batches int) *rows {
	const slots, numbers, size = 26, 13, 4096
	r := &rows{size: size, schema: batch.Schema{Dense: make([]string, numbers), Labels: []string{"click"},
		PrefixBits: 8}}
	b := &batch.Batch{Samples: batches * size}
	draw := rng.New(1, "criteo-shaped")
	for s := range slots {
		column := batch.Jagged{Offsets: []int32{0}}
		zipf := rand.NewZipf(draw, 1.05, 1, uint64(10)<<(s%20))
		for i := range b.Samples {
			column.IDs = append(column.IDs, rng.Mix(zipf.Uint64()+uint64(s)<<32))
			column.Offsets = append(column.Offsets, int32(i+1))
		}
		b.Slots = append(b.Slots, column)
		r.schema.Slots = append(r.schema.Slots, batch.Slot{Name: fmt.Sprint(s), Dim: 16})
	}
	for range b.Samples {
		for range numbers {
			b.Dense = append(b.Dense, float32(draw.NormFloat64()))
		}
		b.Labels = append(b.Labels, float32(draw.IntN(2)))
	}
	r.all = b
	return r
}

// BenchmarkShare trains a net of 64-32 on rows of Criteo's shape with all roles in
// this process, and reports samples a second, the share of the bound that the
// costs of the work set, and these costs in nanoseconds a sample on one core.
func BenchmarkShare(b *testing.B) {
	r := criteoShaped(60)
	for _, layout := range []struct{ ranks, servers int }{{1, 1}, {1, 2}, {2, 1}, {2, 2}} {
		b.Run(fmt.Sprintf("ranks=%d/PSs=%d", layout.ranks, layout.servers), func(b *testing.B) {
			t := job.Default()
			t.Model.Spec = model.Spec{Kind: model.FeedForward, EmbeddingDim: 16, Top: []int{64, 32},
				Activation: model.ReLU}
			t.Training.GlobalBatch, t.Roles.Ranks, t.Roles.EmbeddingWorkers, t.Roles.EmbeddingPSs = r.size,
				layout.ranks, 1, layout.servers
			staleness := 3
			t.Training.Staleness = &staleness
			for b.Loop() {
				s, err := MeasureShare(b.Context(), t, r, backend.Backend{})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(s.SamplesPerSecond, "samples/s")
				b.ReportMetric(100*s.Share(), "%bound")
				b.ReportMetric(1e9*(s.CPU.Wall-s.CPU.Total()), "ns/sample-between")
				for _, kind := range []role.WorkKind{role.Read, role.Split, role.ReadRows, role.Pool,
					role.Forward, role.Backward,
					role.Merge, role.Apply, role.DenseApply} {
					b.ReportMetric(1e9*s.CPU.Work[kind], "ns/sample-"+kind.String())
				}
			}
		})
	}
}
