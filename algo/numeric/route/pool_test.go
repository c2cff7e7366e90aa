package route_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/route"
	"tandem/algo/numeric/shard"
	"tandem/algo/rng"
)

// Two samples in a summed and a raw slot that keeps two ids. Rows are 10u and
// 10u+1 for the u-th distinct id: 5, 6, 7 of the first slot, 5, 6, 8 of the other.
func TestPoolByHand(t *testing.T) {
	schema := &batch.Schema{PrefixBits: 8, Slots: []batch.Slot{
		{Name: "sum", Dim: 2}, {Name: "raw", Dim: 2, Pooling: batch.Raw, FixedSize: 2},
	}}
	b := &batch.Batch{Samples: 2, Slots: []batch.Jagged{
		{Offsets: []int32{0, 4, 4}, IDs: []uint64{5, 6, 5, 7}},
		{Offsets: []int32{0, 1, 4}, IDs: []uint64{5, 6, 5, 8}},
	}}
	r := routeAll(schema, b, 1, 1, 1)[0]
	rows := []float32{0, 1, 10, 11, 20, 21, 30, 31, 40, 41, 50, 51}
	dst := []float32{9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9} // left over from before
	r.Pool(dst, schema, rows, 2)
	want := []float32{
		0 + 10 + 0 + 20, 1 + 11 + 1 + 21 /* one row, then padding: */, 30, 31, 1, 0, 0, 0,
		0, 0 /* no id; two rows, the third is dropped: */, 40, 41, 1, 30, 31, 1,
	}
	if !slices.Equal(dst, want) {
		t.Errorf("%v, want %v", dst, want)
	}
}

func TestPoolIsTheSumOfItsOccurrences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const dim = 2
		schema, b := drawBatch(t, dim)
		r := routeAll(schema, b, 1, 1, rapid.IntRange(1, 3).Draw(t, "PSs"))[0]
		rows := drawValues(t, len(r.Signs)*dim)
		width := schema.EmbeddingWidth()
		got, want := make([]float32, b.Samples*width), make([]float32, b.Samples*width)
		r.Pool(got, schema, rows, dim)

		scales := map[int]float64{} // of the sums, by where they begin
		for _, o := range occurrences(schema, b) {
			if o.lo < 0 {
				continue
			}
			out := want[o.sample*width+o.lo:]
			scales[o.sample*width+o.lo] = o.scale
			for j, v := range rows[slices.Index(r.Signs, o.sign)*dim:][:dim] {
				out[j] += float32(o.weight * v)
			}
			if o.raw {
				out[dim] = 1
			}
		}
		for at, scale := range scales {
			for j := range want[at:][:dim] {
				want[at+j] *= float32(scale)
			}
		}
		if !sameBits(got, want) {
			t.Fatalf("pooled %v, want %v", got, want)
		}
	})
}

// Two ids of two rows each are four rows, whose sum is halved: (1 + 3 + 5 + 7)/2;
// in a raw slot each id is two rows, whose sum is divided by √2. Means divide by 4 and 2.
func TestScalingCountsTheRowsOfASum(t *testing.T) {
	stack := batch.HashStack{Rounds: 2, Rows: 1 << 30} // large enough that no row repeats
	schema := &batch.Schema{PrefixBits: 8, Slots: []batch.Slot{
		{Name: "sum", Dim: 1, HashStack: stack, Scale: batch.SqrtScaled, Group: "items"},
		{Name: "raw", Dim: 1, HashStack: stack, Scale: batch.SqrtScaled, Group: "items", Pooling: batch.Raw,
			FixedSize: 3},
	}}
	ids := batch.Jagged{Offsets: []int32{0, 2}, IDs: []uint64{5, 6}}
	r := routeAll(schema, &batch.Batch{Samples: 1, Slots: []batch.Jagged{ids, ids}}, 1, 1, 1)[0]
	if len(r.Signs) != 4 {
		t.Fatalf("%d rows, want 4: slots of one group share theirs", len(r.Signs))
	}
	got := make([]float32, 7)
	r.Pool(got, schema, []float32{1, 3, 5, 7}, 1)
	root := float32(1 / math.Sqrt2)
	if want := []float32{8, 4 * root, 1, 12 * root, 1, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("pooled %v, want %v", got, want)
	}
	grads := []float32{2, 1, 9, 3, 9, 9, 9}
	want := []float32{1 + root, 1 + root, 1 + 3*root, 1 + 3*root}
	if got := merge(r, schema, grads, 1); !slices.Equal(got, want) {
		t.Errorf("merged %v, want %v", got, want)
	}
	schema.Slots[0].Scale, schema.Slots[1].Scale = batch.Mean, batch.Mean
	r.Pool(got, schema, []float32{1, 3, 5, 7}, 1)
	if want := []float32{4, 2, 1, 6, 1, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("pooled means %v, want %v", got, want)
	}
	if got, want := merge(r, schema, grads, 1), []float32{1, 1, 2, 2}; !slices.Equal(got, want) {
		t.Errorf("merged %v under means, want %v", got, want)
	}
}

func TestPoolPanics(t *testing.T) {
	schema, b := criteo(2)
	r := routeAll(schema, b, 1, 1, 1)[0]
	rows := make([]float32, len(r.Signs)*16)
	dst := make([]float32, 2*26*16)
	mustPanic(t, "route: len(dst) = 831, want 832", func() { r.Pool(dst[1:], schema, rows, 16) })
	mustPanic(t, fmt.Sprintf("route: len(rows) = %d, want %d", len(rows)-1, len(rows)), func() {
		r.Pool(dst, schema, rows[1:], 16)
	})
}

func BenchmarkPool(b *testing.B) {
	schema, all := criteo(512)
	r := route.Route(schema, batch.Cut(all, 8, 1)[0], shard.Rows(4))
	rows := make([]float32, len(r.Signs)*16)
	for i := range rows {
		rows[i] = rng.Unit(1, i)
	}
	dst := make([]float32, 512*schema.EmbeddingWidth())
	b.ReportAllocs()
	for b.Loop() {
		r.Pool(dst, schema, rows, 16)
	}
	reportRows(b, 512*26)
}
