package route_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/batch"
)

// Sums with weights by hand: rows 10 and 4 with weights 3 and −1, gradient 6 of what is pooled. The sum is
// 3·10 − 4 = 26. The mean, of weights 3 and 1, is 34/4, and the third divides 26 by √(9 + 1). A hash-stack of
// one row makes both ids of a sample the same row, twice.
func TestWeightsByHand(t *testing.T) {
	root := float32(1 / math.Sqrt(10))
	for name, c := range map[string]struct {
		slot    batch.Slot
		weights []float32
		pooled  float32
		grads   []float32
	}{
		"sum":  {batch.Slot{}, []float32{3, -1}, 26, []float32{18, -6}},
		"mean": {batch.Slot{Scale: batch.Mean}, []float32{3, 1}, 8.5, []float32{4.5, 1.5}},
		"sqrt": {batch.Slot{Scale: batch.SqrtScaled}, []float32{3, -1}, 26 * root,
			[]float32{3 * (6 * root), -(6 * root)}},
		"zero": {batch.Slot{Scale: batch.Mean}, []float32{0, 2}, 4, []float32{0, 6}},
		"hash-stack, sum": {batch.Slot{HashStack: batch.HashStack{Rounds: 1, Rows: 1}}, []float32{3, -1}, 20,
			[]float32{12}},
		"hash-stack, mean": {batch.Slot{Scale: batch.Mean, HashStack: batch.HashStack{Rounds: 2, Rows: 1}},
			[]float32{3, 1}, 7, []float32{3, 3}}, // (10 + 4)·(3 + 1) / (2·(3 + 1)); 6·(3 + 1) / (2·(3 + 1))
	} {
		c.slot.Dim, c.slot.Weighted = 1, true
		schema := &batch.Schema{PrefixBits: 8, Slots: []batch.Slot{c.slot}}
		b := &batch.Batch{Samples: 2, Slots: []batch.Jagged{{Offsets: []int32{0, 0, 2}, IDs: []uint64{1, 2},
			Weights: c.weights}}}
		r, pooled := routeAll(schema, b, 1, 1, 1)[0], make([]float32, 2)
		r.Pool(pooled, schema, []float32{10, 4}[:len(r.Signs)], 1)
		sums := merge(r, schema, []float32{7, 6}, 1)
		if pooled[0] != 0 || pooled[1] != c.pooled || !slices.Equal(sums, c.grads) {
			t.Errorf("%s: %v and gradients %v, want [0 %v] and %v", name, pooled, sums, c.pooled, c.grads)
		}
	}
}

// Weights of 1 change no bit of what is pooled and merged.
func TestWeightsOfOneAreNone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const dim = 3
		schema, b := drawBatch(t, dim)
		grads := drawValues(t, b.Samples*schema.EmbeddingWidth())
		var rows []float32
		pooled, sums := [2][]float32{}, [2][]float32{}
		for side := range 2 {
			for s := range b.Slots {
				if b.Slots[s].Weights = nil; side == 1 && schema.Slots[s].Weighted {
					b.Slots[s].Weights = slices.Repeat([]float32{1}, len(b.Slots[s].IDs))
				}
			}
			r := routeAll(schema, b, 4, 1, 2)[0]
			if rows == nil {
				rows = drawValues(t, len(r.Signs)*dim)
			}
			pooled[side] = make([]float32, len(grads))
			r.Pool(pooled[side], schema, rows, dim)
			sums[side] = merge(r, schema, grads, dim)
		}
		if !sameBits(pooled[0], pooled[1]) || !sameBits(sums[0], sums[1]) {
			t.Fatalf("pooled %v, with weights of 1 %v; gradients %v and %v", pooled[0], pooled[1], sums[0],
				sums[1])
		}
	})
}

// Rows that are multiplied by weights are no copies.
func TestWeightedRowsAreNotSpread(t *testing.T) {
	schema := &batch.Schema{PrefixBits: 8, Slots: []batch.Slot{{Dim: 1, Weighted: true}}}
	for _, weights := range [][]float32{nil, {2}} {
		b := &batch.Batch{Samples: 1, Slots: []batch.Jagged{{Offsets: []int32{0, 1}, IDs: []uint64{5},
			Weights: weights}}}
		if routeAll(schema, b, 1, 1, 1)[0].Spreads(schema) != (weights == nil) {
			t.Errorf("weights %v: spreads %t", weights, weights != nil)
		}
	}
}
