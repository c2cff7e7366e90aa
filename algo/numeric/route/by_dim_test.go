package route_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/route"
	"tandem/algo/numeric/shard"
	"tandem/algo/rng"
)

// drawMixed draws a batch as drawBatch does, of slots that may differ in dimension.
func drawMixed(t *rapid.T) (*batch.Schema, *batch.Batch) {
	schema, b := drawBatch(t, 1)
	dim := rapid.SampledFrom([]int{1, 2, 5})
	groups := map[string]int{}
	for s := range schema.Slots {
		slot := &schema.Slots[s]
		if slot.Dim = groups[slot.Group]; slot.Group == "" || slot.Dim == 0 {
			slot.Dim = dim.Draw(t, "dim")
			groups[slot.Group] = slot.Dim
		}
	}
	return schema, b
}

// alike returns a schema that gives all slots one dimension.
func alike(schema *batch.Schema, dim int) *batch.Schema {
	same := *schema
	same.Slots = slices.Clone(schema.Slots)
	for s := range same.Slots {
		same.Slots[s].Dim = dim
	}
	return &same
}

// rowsOfDim returns rows of signs, whose values follow from sign and dimension.
func rowsOfDim(signs []uint64, dim int) (values []float32) {
	for _, sign := range signs {
		for i := range dim {
			values = append(values, rng.Unit(rng.Mix(sign+uint64(dim)), i)-0.5)
		}
	}
	return values
}

// columns returns the model inputs of a slot, sample by sample.
func columns(inputs []float32, schema *batch.Schema, slot int) (values []float32) {
	first, width := 0, schema.EmbeddingWidth()
	for s := range slot {
		first += schema.Slots[s].Width()
	}
	for at := first; at < len(inputs); at += width {
		values = append(values, inputs[at:at+schema.Slots[slot].Width()]...)
	}
	return values
}

// Slots that differ in dimension get the model input, and their rows the gradient sums, that they have where
// all slots have their dimension. Rows and sums travel owner after owner.
func TestSlotsOfEachDimensionAreRoutedAsIfAllHadIt(t *testing.T) {
	mixed := 0
	rapid.Check(t, func(t *rapid.T) {
		schema, b := drawMixed(t)
		plan := shard.Rows(rapid.IntRange(1, 3).Draw(t, "owners"))
		part := batch.Cut(b, rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "groups"), 1)[0]
		byDim, dims := route.RouteByDim(nil, schema, part, plan), schema.Dims()
		if len(dims.Lengths()) > 1 {
			mixed++
		}
		var rows []float32
		for p := range byDim.Owners() {
			cut, err := dims.Cut(byDim.ShardSigns(p))
			if err != nil {
				t.Fatal(err)
			}
			before := len(rows)
			for place, signs := range cut {
				rows = append(rows, rowsOfDim(signs, dims.Lengths()[place])...)
			}
			if n := len(rows) - before; n != byDim.ShardValues(p) {
				t.Fatalf("owner %d has %d values, want %d", p, byDim.ShardValues(p), n)
			}
		}
		if len(rows) != byDim.Values() {
			t.Fatalf("%d values, want %d", byDim.Values(), len(rows))
		}
		pooled := make([]float32, b.Samples*schema.EmbeddingWidth())
		byDim.Pool(nil, pooled, nil, schema, byDim.Gather(make([]float32, len(rows)), rows))
		grads, sums := drawValues(t, len(pooled)), make([]float32, len(rows))
		byDim.Merge(nil, byDim.Cut(sums), schema, grads, nil)
		travel := make([]float32, len(rows))
		byDim.Scatter(travel, sums)

		want := map[uint64][]float32{} // sums, by sign
		for s, slot := range schema.Slots {
			same := alike(schema, slot.Dim)
			routed := route.Route(same, part, plan)
			inputs := make([]float32, b.Samples*same.EmbeddingWidth())
			routed.Pool(inputs, same, rowsOfDim(routed.Signs, slot.Dim), slot.Dim)
			if !sameBits(columns(pooled, schema, s), columns(inputs, same, s)) {
				t.Fatalf("slot %d of %d values: another model input", s, slot.Dim)
			}
			ofSlots := make([]float32, len(inputs)) // with the gradients of the slots of this dimension
			for other, of := range schema.Slots {
				if of.Dim == slot.Dim {
					setColumns(ofSlots, same, other, columns(grads, schema, other))
				}
			}
			all := merge(routed, same, ofSlots, slot.Dim)
			for i, sign := range routed.Signs {
				if d := schema.Dims(); dimOf(d, sign) == slot.Dim {
					want[sign] = all[i*slot.Dim:][:slot.Dim]
				}
			}
		}
		for p := range byDim.Owners() {
			for _, sign := range byDim.ShardSigns(p) {
				n := len(want[sign])
				if !sameBits(travel[:n], want[sign]) {
					t.Fatalf("sign %#x: sum %v, want %v", sign, travel[:n], want[sign])
				}
				travel = travel[n:]
			}
		}
	})
	if mixed == 0 {
		t.Error("no schema had several dimensions")
	}
}

// setColumns sets the model inputs of a slot, sample by sample.
func setColumns(inputs []float32, schema *batch.Schema, slot int, values []float32) {
	first, width, own := 0, schema.EmbeddingWidth(), schema.Slots[slot].Width()
	for s := range slot {
		first += schema.Slots[s].Width()
	}
	for at := first; at < len(inputs); at += width {
		copy(inputs[at:at+own], values)
		values = values[own:]
	}
}

// dimOf returns the length of the row of a sign.
func dimOf(dims batch.Dims, sign uint64) int {
	n, _ := dims.Values([]uint64{sign})
	return n
}

// The puts of one PS are cut by dimension.
func TestPutsAreCutByDimension(t *testing.T) {
	schema := &batch.Schema{PrefixBits: 8, Slots: []batch.Slot{{Dim: 2}, {Dim: 1}, {Dim: 2}}}
	sign := func(slot int, id uint64) uint64 { return schema.Signer(slot).Sign(id, 0) }
	put := route.Put{Rank: 3, Samples: 4, Signs: []uint64{sign(0, 1), sign(2, 1), sign(1, 5)},
		Sums: []float32{1, 2, 3, 4, 5}}
	byDim, err := put.ByDim(schema.Dims())
	if err != nil || len(byDim) != 2 || !slices.Equal(byDim[0].Signs, put.Signs[:2]) ||
		!slices.Equal(byDim[0].Sums, put.Sums[:4]) || !slices.Equal(byDim[1].Sums, put.Sums[4:]) ||
		byDim[1].Rank != 3 || byDim[1].Samples != 4 {
		t.Errorf("%+v, %v", byDim, err)
	}
	put.Signs[1], put.Signs[2] = put.Signs[2], put.Signs[1]
	if _, err := put.ByDim(schema.Dims()); err == nil {
		t.Error("signs in another order are cut")
	}
}
