package route_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/route"
	"tandem/algo/numeric/shard"
	"tandem/algo/rng"
)

// drawBatch draws a batch of up to 20 samples in one to three slots, summed or
// raw, scaled or not, with weights or not, of rows of dim values. Ids are few, so that they repeat
// within a sample, across samples, groups and the slots of a feature group, and
// beyond what a raw slot keeps; the ids of a hash-stack have rows in common.
func drawBatch(t *rapid.T, dim int) (*batch.Schema, *batch.Batch) {
	schema := &batch.Schema{PrefixBits: 8}
	stacks := map[string]batch.HashStack{} // of the feature groups
	for _, group := range []string{"users", "items"} {
		if rapid.Bool().Draw(t, "hash-stack") {
			stacks[group] = batch.HashStack{Rounds: rapid.IntRange(1, 3).Draw(t, "rounds"),
				Rows: rapid.IntRange(1, 4).Draw(t, "rows")}
		}
	}
	b := &batch.Batch{Samples: rapid.IntRange(0, 20).Draw(t, "samples")}
	for range rapid.IntRange(1, 3).Draw(t, "slots") {
		slot := batch.Slot{Dim: dim, Scale: rapid.SampledFrom([]batch.Scale{batch.Unscaled,
			batch.SqrtScaled, batch.Mean}).Draw(t, "scaling")}
		if rapid.Bool().Draw(t, "raw") {
			slot.Pooling, slot.FixedSize = batch.Raw, rapid.IntRange(1, 3).Draw(t, "fixed size")
		}
		slot.Group = rapid.SampledFrom([]string{"", "users", "items"}).Draw(t, "group")
		slot.HashStack = stacks[slot.Group]
		column := batch.Jagged{Offsets: []int32{0}}
		for range b.Samples {
			ids := rapid.SliceOfN(rapid.Uint64Range(0, 9), 0, 4).Draw(t, "ids")
			column.IDs = append(column.IDs, ids...)
			column.Offsets = append(column.Offsets, int32(len(column.IDs)))
		}
		if slot.Weighted = slot.Pooling == batch.Sum && rapid.Bool().Draw(t, "weighted"); slot.Weighted {
			for range column.IDs {
				column.Weights = append(column.Weights, rapid.SampledFrom([]float32{1, 0.5, 3, 7}).Draw(t,
					"weight"))
			}
		}
		schema.Slots = append(schema.Slots, slot)
		b.Slots = append(b.Slots, column)
	}
	return schema, b
}

// routeAll routes the parts of all ranks.
func routeAll(schema *batch.Schema, b *batch.Batch, groups, ranks, servers int) []*route.Routed {
	var routed []*route.Routed
	for _, part := range batch.Cut(b, groups, ranks) {
		routed = append(routed, route.Route(schema, part, shard.Rows(servers)))
	}
	return routed
}

// drawValues draws n values whose sums round, zeros of both signs among them.
func drawValues(t *rapid.T, n int) []float32 {
	return rapid.SliceOfN(rapid.OneOf(
		rapid.Float32Range(-1e3, 1e3), rapid.SampledFrom([]float32{0, float32(math.Copysign(0, -1))}),
	), n, n).Draw(t, "values")
}

// occurrence is one row of one id of one sample, and where the sum that it is
// part of lies in the sample's model inputs; lo < 0 if a raw slot has dropped it.
type occurrence struct {
	sign       uint64
	sample, lo int
	raw        bool
	scale      float64 // of the sum
	weight     float32 // of the id
}

// occurrences lists, from the definition of the layout, what Pool reads and
// Merge adds up.
func occurrences(schema *batch.Schema, b *batch.Batch) []occurrence {
	var all []occurrence
	first := 0
	for s, slot := range schema.Slots {
		for i := range b.Samples {
			ids := b.Slots[s].SampleIDs(i)
			for k, id := range ids {
				for round := range slot.RowsPerID() {
					o := occurrence{sign: schema.Signer(s).Sign(id, round), sample: i, lo: first,
						raw: slot.Pooling == batch.Raw, scale: 1, weight: 1}
					summed, squares := float64(len(ids)*slot.RowsPerID()), float64(len(ids)*slot.RowsPerID())
					if weights := b.Slots[s].SampleWeights(i); weights != nil {
						summed, squares, o.weight = 0, 0, weights[k]
						for range slot.RowsPerID() {
							for _, w := range weights {
								summed, squares = summed+float64(w), squares+float64(w)*float64(w)
							}
						}
					}
					if o.raw {
						summed, squares = float64(slot.RowsPerID()), float64(slot.RowsPerID())
						o.lo += k * (slot.Dim + 1)
						if k >= slot.FixedSize {
							o.lo = -1
						}
					}
					switch slot.Scale {
					case batch.SqrtScaled:
						o.scale = 1 / math.Sqrt(squares)
					case batch.Mean:
						o.scale = 1 / summed
					}
					all = append(all, o)
				}
			}
		}
		first += slot.Width()
	}
	return all
}

// criteo returns a batch of the shape of Criteo's: 26 slots of one id, of which
// every tenth occurs once and the others come from 200.
func criteo(samples int) (*batch.Schema, *batch.Batch) {
	schema, b := &batch.Schema{PrefixBits: 8}, &batch.Batch{Samples: samples}
	draw := rng.New(1, "criteo")
	for range 26 {
		column := batch.Jagged{Offsets: []int32{0}}
		for i := range samples {
			id := draw.Uint64N(200)
			if draw.IntN(10) == 0 {
				id = 1000 + uint64(i)
			}
			column.IDs = append(column.IDs, id)
			column.Offsets = append(column.Offsets, int32(i+1))
		}
		schema.Slots = append(schema.Slots, batch.Slot{Dim: 16})
		b.Slots = append(b.Slots, column)
	}
	return schema, b
}

// merge returns what Merge writes.
func merge(r *route.Routed, schema *batch.Schema, grads []float32, dim int) []float32 {
	sums := make([]float32, len(r.Signs)*dim)
	r.Merge(sums, schema, grads, dim)
	return sums
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

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b,
		func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// combined returns the signs and all gradients of Combine.
func combined(puts []route.Put, stepSamples, dim int, byRank bool) (signs []uint64, grads []float32) {
	c := route.Combine(puts, stepSamples, dim, byRank)
	defer c.Release()
	return slices.Clone(c.Signs), c.Gradients(make([]float32, len(c.Signs)*dim), 0, len(c.Signs))
}
