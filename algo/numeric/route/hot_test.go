package route_test

import (
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/route"
	"tandem/algo/numeric/shard"
)

// Whichever rows are hot, what an EW and a rank pool and sum together has the bits that it has without hot
// rows: of the pooled embeddings, and of the gradient sum of every row. The EW pools without the hot rows and
// the rank without any other row but those that share a bag with hot ones.
func TestHotRowsChangeNoSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const dim = 2
		schema, b := drawBatch(t, dim)
		part := batch.Cut(b, 4, 2)[rapid.IntRange(0, 1).Draw(t, "rank")]
		servers := rapid.IntRange(1, 3).Draw(t, "servers")
		plain := route.Route(schema, part, shard.Rows(servers))
		var hot []uint64
		raw := rowsOfRawSlots(schema, part)
		for _, sign := range plain.Signs {
			if !raw[sign] && rapid.Bool().Draw(t, "hot") {
				hot = append(hot, sign)
			}
		}
		plan := shard.Rows(servers).WithHot(shard.NewHot(hot))
		if len(hot) == 0 {
			return
		}
		routed := route.Route(schema, part, plan)
		values := map[uint64][]float32{}
		rowsOf := func(signs []uint64) (rows []float32) {
			for _, sign := range signs {
				if values[sign] == nil {
					values[sign] = drawValues(t, dim)
				}
				rows = append(rows, values[sign]...)
			}
			return rows
		}
		width := schema.EmbeddingWidth()
		wantPooled := make([]float32, part.Samples*width)
		plain.Pool(wantPooled, schema, rowsOf(plain.Signs), dim)

		// The EW does not know the hot rows: any values stand for them.
		first := int(routed.Bounds[servers])
		cold := rowsOf(routed.Signs[:first])
		mixed := routed.Mixed(schema)
		pooled := make([]float32, part.Samples*width)
		routed.Pool(pooled, schema, append(cold, drawValues(t, (len(routed.Signs)-first)*dim)...), dim)
		compact := make([]float32, mixed.PooledValues())
		mixed.Compact(compact, pooled)
		var shared []float32
		for _, at := range mixed.Cold {
			shared = append(shared, cold[int(at)*dim:][:dim]...)
		}

		// The rank.
		own := route.NewMixed(schema, part.Samples, mixed.Slots, len(mixed.Cold), mixed.Hot)
		bags := own.Routed(schema, part)
		got := make([]float32, part.Samples*width)
		bags.Pool(got, schema, append(shared, rowsOf(routed.Signs[first:])...), dim)
		own.Expand(got, compact)
		if !sameBits(got, wantPooled) {
			t.Fatalf("pooled %v, want %v", got, wantPooled)
		}

		grads := drawValues(t, part.Samples*width)
		want := map[uint64][]float32{}
		for i, sums := 0, merge(plain, schema, grads, dim); i < len(plain.Signs); i++ {
			want[plain.Signs[i]] = sums[i*dim:][:dim]
		}
		hotSums := make([]float32, own.Hot*dim)
		bags.MergeRange(nil, hotSums, schema, grads, nil, dim, len(own.Cold), len(own.Cold)+own.Hot)
		sent, expanded := make([]float32, own.GradValues()), drawValues(t, part.Samples*width)
		own.CompactGrads(sent, grads)
		mixed.ExpandGrads(expanded, sent)
		sums := make([]float32, first*dim)
		routed.MergeRange(nil, sums, schema, expanded, nil, dim, 0, first)
		for i, sign := range routed.Signs {
			if got := append(sums, hotSums...)[i*dim:][:dim]; !sameBits(got, want[sign]) {
				t.Fatalf("gradient sum of %#x: %v, want %v", sign, got, want[sign])
			}
		}
	})
}

// rowsOfRawSlots returns the rows that occur in slots that cannot be hot: raw ones, and those with weights.
func rowsOfRawSlots(schema *batch.Schema, part batch.Part) map[uint64]bool {
	raw := map[uint64]bool{}
	for s, slot := range schema.Slots {
		if !slot.CanBeHot() {
			for _, sign := range schema.Signer(s).AppendSigns(nil, part.Slots[s].IDs) {
				raw[sign] = true
			}
		}
	}
	return raw
}

// A bag whose rows are all hot travels in neither direction, and one without a hot row in both.
func TestBagsTravelOnlyWhereTheyAreNeeded(t *testing.T) {
	schema := &batch.Schema{PrefixBits: 8, Slots: []batch.Slot{{Name: "a", Dim: 3}}}
	// The ids of four samples: hot, cold, both, none.
	part := batch.Cut(&batch.Batch{Samples: 4, Slots: []batch.Jagged{{IDs: []uint64{1, 2, 1, 2},
		Offsets: []int32{0, 1, 2, 4, 4}}}}, 1, 1)[0]
	signs := schema.Signer(0).AppendSigns(nil, []uint64{1})
	m := route.Route(schema, part, shard.Rows(1).WithHot(shard.NewHot(signs))).Mixed(schema)
	// Pooled values of the cold and of the empty bag; gradients of these and of the mixed one.
	if m.PooledValues() != 2*3 || m.GradValues() != 3*3 || len(m.Cold) != 1 || m.Hot != 1 {
		t.Errorf("%d pooled values, %d gradients, %d cold rows, %d hot; want 6, 9, 1, 1", m.PooledValues(),
			m.GradValues(), len(m.Cold), m.Hot)
	}
}
