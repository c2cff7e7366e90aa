package route_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/batch"
	"tandem/algo/rng"
	"tandem/algo/route"
)

func TestMergeIsTheSumOverOccurrences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const dim = 2
		schema, b := drawBatch(t, dim)
		width := schema.EmbeddingWidth()
		r := routeAll(schema, b, 8, 1, rapid.IntRange(1, 3).Draw(t, "PSs"))[0]
		grads := drawValues(t, b.Samples*width)
		got := r.Merge(schema, grads, dim)

		want, size := make([]float64, len(got)), make([]float64, len(got))
		for _, o := range occurrences(schema, b) {
			if o.lo < 0 {
				continue
			}
			at := slices.Index(r.Signs, o.sign) * dim
			for j, g := range grads[o.sample*width+o.lo:][:dim] {
				want[at+j] += float64(g)
				size[at+j] += math.Abs(float64(g))
			}
		}
		for i := range want {
			// Each of fewer than 3·20·4 additions errs by at most 2⁻²⁴ of a partial
			// sum, which is no larger than the sum of sizes.
			if math.Abs(float64(got[i])-want[i]) > 240*size[i]/(1<<24) {
				t.Fatalf("sign %d, value %d: %v, want %v", i/dim, i%dim, got[i], want[i])
			}
		}
	})
}

// With whole numbers, of which float32 adds small ones exactly, what goes in
// comes out: no gradient is lost or counted twice on the way from model inputs
// through ranks and PSs to rows.
func TestGradientMassIsConserved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const dim = 2
		schema, b := drawBatch(t, dim)
		ranks := 1 << rapid.IntRange(0, 3).Draw(t, "ranks")
		width := schema.EmbeddingWidth()
		grads := make([]float32, b.Samples*width)
		for i := range grads {
			grads[i] = float32(rapid.IntRange(-100, 100).Draw(t, "gradient"))
		}
		want, got := float32(0), float32(0)
		for _, o := range occurrences(schema, b) {
			if o.lo >= 0 {
				for _, g := range grads[o.sample*width+o.lo:][:dim] {
					want += g
				}
			}
		}
		servers := rapid.IntRange(1, 3).Draw(t, "PSs")
		for _, puts := range putsByServer(schema, b, grads, dim, 8, ranks, servers) {
			_, sums := route.Combine(puts, 1, dim, false)
			for _, g := range sums {
				got += g
			}
		}
		if got != want {
			t.Fatalf("mass %v, want %v", got, want)
		}
	})
}

func TestMergePanics(t *testing.T) {
	schema, b := criteo(2)
	r := routeAll(schema, b, 1, 1, 1)[0]
	mustPanic(t, "route: len(grads) = 5, want 832", func() { r.Merge(schema, make([]float32, 5), 16) }) // 2·26·16
}

func BenchmarkMerge(b *testing.B) {
	schema, all := criteo(512)
	r := route.Route(schema, batch.Cut(all, 8, 1)[0], 4)
	grads := make([]float32, 512*schema.EmbeddingWidth())
	for i := range grads {
		grads[i] = rng.Unit(1, i)
	}
	b.ReportAllocs()
	for b.Loop() {
		r.Merge(schema, grads, 16)
	}
	reportRows(b, 512*26)
}
