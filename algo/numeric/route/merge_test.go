package route_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/collective"
	"tandem/algo/numeric/kernel/vec"
	"tandem/algo/numeric/route"
	"tandem/algo/numeric/shard"
	"tandem/algo/rng"
)

func TestMergeIsTheSumOverOccurrences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const dim = 2
		schema, b := drawBatch(t, dim)
		width := schema.EmbeddingWidth()
		r := routeAll(schema, b, 8, 1, rapid.IntRange(1, 3).Draw(t, "PSs"))[0]
		grads := drawValues(t, b.Samples*width)
		got := merge(r, schema, grads, dim)

		want, size := make([]float64, len(got)), make([]float64, len(got))
		for _, o := range occurrences(schema, b) {
			if o.lo < 0 {
				continue
			}
			at := slices.Index(r.Signs, o.sign) * dim
			for j, g := range grads[o.sample*width+o.lo:][:dim] {
				term := o.scale * float64(o.weight) * float64(g)
				want[at+j] += term
				size[at+j] += math.Abs(term)
			}
		}
		for i := range want {
			// Each of fewer than 3·20·4·3 additions errs by at most 2⁻²⁴ of a partial
			// sum, which is no larger than the sum of sizes; scaling errs by twice
			// that of a term, or by less than the smallest number.
			if math.Abs(float64(got[i])-want[i]) > 722*size[i]/(1<<24)+722*math.SmallestNonzeroFloat32 {
				t.Fatalf("sign %d, value %d: %v, want %v", i/dim, i%dim, got[i], want[i])
			}
		}
	})
}

// mergePlain is the plain form of Merge: every gradient is added to its row's sum of
// the group, and these along the tree.
func mergePlain(r *route.Routed, schema *batch.Schema, b *batch.Batch, groups int, grads []float32, dim int,
) []float32 {
	bounds, width := batch.Cut(b, groups, 1)[0].Bounds, schema.EmbeddingWidth()
	sums := make([]map[uint64][]float32, groups)
	for g := range sums {
		sums[g] = map[uint64][]float32{}
		for _, o := range occurrences(schema, b) { // slot by slot, sample by sample
			if o.lo < 0 || o.sample < bounds[g] || o.sample >= bounds[g+1] {
				continue
			}
			grad := slices.Clone(grads[o.sample*width+o.lo:][:dim])
			for j := range grad {
				grad[j] = float32(grad[j]*float32(o.scale)) * o.weight
			}
			if sum, known := sums[g][o.sign]; known {
				vec.Add(sum, grad)
			} else {
				sums[g][o.sign] = grad
			}
		}
	}
	var all []float32
	for _, sign := range r.Signs {
		var leaves []collective.Leaf
		for g := range sums {
			if sum, known := sums[g][sign]; known {
				leaves = append(leaves, collective.Leaf{Index: g, Values: sum})
			}
		}
		if len(leaves) == 0 { // a raw slot has dropped it wherever it was read
			all = append(all, slices.Repeat([]float32{float32(math.Copysign(0, -1))}, dim)...)
			continue
		}
		all = append(all, collective.SparseTree(leaves, groups)...)
	}
	return all
}

func TestMergeIsItsPlainForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.IntRange(1, 3).Draw(t, "dim")
		schema, b := drawBatch(t, dim)
		groups := 1 << rapid.IntRange(0, 5).Draw(t, "levels")
		r := routeAll(schema, b, groups, 1, rapid.IntRange(1, 3).Draw(t, "PSs"))[0]
		grads := drawValues(t, b.Samples*schema.EmbeddingWidth())
		got, want := merge(r, schema, grads, dim), mergePlain(r, schema, b, groups, grads, dim)
		if !sameBits(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

// The same for a batch of thousands of rows, some in all of its many groups.
func TestMergeOfALargeBatchIsItsPlainForm(t *testing.T) {
	const dim, groups = 16, 64
	schema, b := criteo(600)
	grads := make([]float32, b.Samples*schema.EmbeddingWidth())
	for i := range grads {
		grads[i] = rng.Unit(1, i) - 0.5
	}
	for _, servers := range []int{1, 2} {
		r := routeAll(schema, b, groups, 1, servers)[0]
		if !sameBits(merge(r, schema, grads, dim), mergePlain(r, schema, b, groups, grads, dim)) {
			t.Errorf("%d PSs: the sums differ", servers)
		}
	}
}

// With whole numbers, of which float32 adds small ones exactly, what goes in
// comes out: no gradient is lost or counted twice on the way from model inputs
// through ranks and PSs to rows.
func TestGradientMassIsConserved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const dim = 2
		schema, b := drawBatch(t, dim)
		for s := range schema.Slots {
			schema.Slots[s].Scale = batch.Unscaled // whole numbers stay whole
		}
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
					want += o.weight * g
				}
			}
		}
		servers := rapid.IntRange(1, 3).Draw(t, "PSs")
		for _, puts := range putsByServer(schema, b, grads, dim, 8, ranks, servers) {
			_, sums := combined(puts, 1, dim, false)
			for _, g := range sums {
				got += g
			}
		}
		if got != want {
			t.Fatalf("mass %v, want %v", got, want)
		}
	})
}

// Merge is the adjoint of Pool, which is linear in the rows: for all rows x and
// gradients g, ⟨Pool(x), g⟩ = ⟨x, Merge(g)⟩. That is what makes the gradients
// right under every setting of a slot.
func TestMergeIsTheAdjointOfPool(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const dim = 2
		schema, b := drawBatch(t, dim)
		width := schema.EmbeddingWidth()
		r := routeAll(schema, b, 8, 1, 2)[0]
		rows, pooled := drawValues(t, len(r.Signs)*dim), make([]float32, b.Samples*width)
		grads := drawValues(t, b.Samples*width)
		r.Pool(pooled, schema, rows, dim)
		first := 0
		for _, slot := range schema.Slots { // a mask is no function of the rows
			for i := range b.Samples {
				if slot.Pooling == batch.Raw {
					for k := range slot.FixedSize {
						grads[i*width+first+k*(dim+1)+dim] = 0
					}
				}
			}
			first += slot.Width()
		}
		forward, size := dot(pooled, grads)
		backward, _ := dot(rows, merge(r, schema, grads, dim))
		for _, o := range occurrences(schema, b) {
			if o.lo >= 0 {
				for j, v := range rows[slices.Index(r.Signs, o.sign)*dim:][:dim] {
					size += math.Abs(o.scale * float64(v) * float64(grads[o.sample*width+o.lo+j]))
				}
			}
		}
		if math.Abs(forward-backward) > 1500*size/(1<<24) { // both sums as in the test above
			t.Fatalf("⟨Pool(x), g⟩ = %v, ⟨x, Merge(g)⟩ = %v", forward, backward)
		}
	})
}

// dot returns the product of two vectors, and the sum of the sizes of its terms.
func dot(a, b []float32) (product, size float64) {
	for i, v := range a {
		product += float64(v) * float64(b[i])
		size += math.Abs(float64(v) * float64(b[i]))
	}
	return product, size
}

func TestMergePanics(t *testing.T) {
	schema, b := criteo(2)
	r := routeAll(schema, b, 1, 1, 1)[0]
	// 2·26·16
	mustPanic(t, "route: len(grads) = 5, want 832", func() { merge(r, schema, make([]float32, 5), 16) })
	mustPanic(t, fmt.Sprintf("route: len(sums) = 1, want %d", 16*len(r.Signs)), func() {
		r.Merge(make([]float32, 1), schema, make([]float32, 832), 16)
	})
}

func BenchmarkMerge(b *testing.B) {
	schema, all := criteo(512)
	r := route.Route(schema, batch.Cut(all, 8, 1)[0], shard.Rows(4))
	grads := make([]float32, 512*schema.EmbeddingWidth())
	for i := range grads {
		grads[i] = rng.Unit(1, i)
	}
	sums := make([]float32, 16*len(r.Signs))
	b.ReportAllocs()
	for b.Loop() {
		r.Merge(sums, schema, grads, 16)
	}
	reportRows(b, 512*26)
}
