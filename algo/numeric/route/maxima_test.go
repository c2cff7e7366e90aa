package route_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/route"
	"tandem/algo/numeric/shard"
)

// drawMaxima draws a batch as drawBatch does, with a Max slot or two among the others.
func drawMaxima(t *rapid.T, dim int) (*batch.Schema, *batch.Batch) {
	schema, b := drawBatch(t, dim)
	for s := range schema.Slots {
		slot := &schema.Slots[s]
		if slot.HashStack.Rounds == 0 && rapid.Bool().Draw(t, "maximum") {
			*slot = batch.Slot{Dim: dim, Group: slot.Group, Pooling: batch.Max}
			b.Slots[s].Weights = nil
		}
	}
	return schema, b
}

// What Pool writes of Max slots, and where Merge's gradients come from, in plain loops: a row gets what it
// has won in each group of samples, and whole numbers add exactly.
func TestMaximaArePlainLoops(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const dim, groups = 3, 4
		schema, b := drawMaxima(t, dim)
		servers := rapid.IntRange(1, 3).Draw(t, "PSs")
		r := routeAll(schema, b, groups, 1, servers)[0]
		width, won := schema.EmbeddingWidth(), schema.Winners()
		rows := make([]float32, len(r.Signs)*dim)
		for i := range rows { // few values, so that several rows have the largest
			rows[i] = float32(rapid.IntRange(-2, 1).Draw(t, "value"))
		}
		grads := make([]float32, b.Samples*width)
		for i := range grads {
			grads[i] = float32(rapid.IntRange(-100, 100).Draw(t, "gradient"))
		}
		pooled, winners := make([]float32, len(grads)), make([]int32, b.Samples*won)
		r.PoolOn(nil, pooled, winners, schema, rows, dim)
		sums := make([]float32, len(rows))
		r.MergeOn(nil, sums, schema, grads, winners, dim)

		want := make([]float32, len(rows))
		first := 0
		for s, slot := range schema.Slots {
			for i := range b.Samples {
				if slot.Pooling != batch.Max {
					continue
				}
				for j := range dim {
					best, of := float32(0), -1
					for _, id := range b.Slots[s].SampleIDs(i) {
						row := slices.Index(r.Signs, schema.Signer(s).Sign(id, 0))
						if value := rows[row*dim+j]; of < 0 || value > best {
							best, of = value, row
						}
					}
					if got := pooled[i*width+first+j]; got != best {
						t.Fatalf("slot %d, sample %d, value %d: %v, want %v", s, i, j, got, best)
					}
					if of >= 0 {
						want[of*dim+j] += grads[i*width+first+j]
					}
				}
			}
			first += slot.Width()
		}
		addSums(want, schema, b, r, grads, dim)
		for i := range want {
			if diff := sums[i] - want[i]; diff < -0.01 || diff > 0.01 { // scaled sums round
				t.Fatalf("merged %v, want %v", sums, want)
			}
		}
		if err := r.CheckWinners(schema, winners); err != nil {
			t.Fatal(err)
		}
	})
}

// addSums adds the gradients of the rows of slots that are not Max.
func addSums(want []float32, schema *batch.Schema, b *batch.Batch, r *route.Routed, grads []float32,
	dim int) {
	width := schema.EmbeddingWidth()
	at := 0
	for _, o := range occurrences(schema, b) {
		s, n := 0, at
		for n >= len(b.Slots[s].IDs)*schema.Slots[s].RowsPerID() {
			n -= len(b.Slots[s].IDs) * schema.Slots[s].RowsPerID()
			s++
		}
		at++
		if schema.Slots[s].Pooling == batch.Max || o.lo < 0 {
			continue
		}
		row := slices.Index(r.Signs, o.sign)
		for j := range dim {
			want[row*dim+j] += o.weight * float32(o.scale) * grads[o.sample*width+o.lo+j]
		}
	}
}

// Ranks, PSs and parts of rows do not change a bit of what maxima give, nor do goroutines.
func TestRanksAndServersDoNotChangeAMaximum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const dim, groups = 2, 8
		schema, b := drawMaxima(t, dim)
		width := schema.EmbeddingWidth()
		grads := drawValues(t, b.Samples*width)
		value := func(sign uint64, j int) float32 { return float32((sign*7+uint64(j)*3)%5) - 2 }
		sumsOf := func(ranks, servers int) map[uint64][]float32 {
			all := make([][]route.Put, servers)
			at := 0
			for rank, part := range batch.Cut(b, groups, ranks) {
				r := route.Route(schema, part, shard.Rows(servers))
				rows := make([]float32, 0, len(r.Signs)*dim)
				for _, sign := range r.Signs {
					for j := range dim {
						rows = append(rows, value(sign, j))
					}
				}
				winners := make([]int32, part.Samples*schema.Winners())
				r.PoolOn(nil, make([]float32, part.Samples*width), winners, schema, rows, dim)
				sums := make([]float32, len(rows))
				r.MergeOn(nil, sums, schema, grads[at*width:(at+part.Samples)*width], winners, dim)
				at += part.Samples
				for ps := range servers {
					lo, hi := int(r.Bounds[ps]), int(r.Bounds[ps+1])
					all[ps] = append(all[ps], route.Put{Rank: rank, Samples: part.Samples,
						Signs: r.ShardSigns(ps), Sums: sums[lo*dim : hi*dim]})
				}
			}
			out := map[uint64][]float32{}
			for _, puts := range all {
				signs, sums := combined(puts, max(b.Samples, 1), dim, false)
				for i, sign := range signs {
					out[sign] = sums[i*dim : (i+1)*dim]
				}
			}
			return out
		}
		want := sumsOf(1, 1)
		got := sumsOf(1<<rapid.IntRange(0, 3).Draw(t, "ranks"), rapid.IntRange(1, 3).Draw(t, "PSs"))
		if len(got) != len(want) {
			t.Fatalf("%d rows, want %d", len(got), len(want))
		}
		for sign, sums := range want {
			if !sameBits(got[sign], sums) {
				t.Fatalf("row %x: %v, want %v", sign, got[sign], sums)
			}
		}
	})
}

// A NaN is the maximum wherever it is in a bag, so that no other value hides it.
func TestNaNIsAMaximum(t *testing.T) {
	schema := &batch.Schema{PrefixBits: 8, Slots: []batch.Slot{{Name: "tags", Dim: 1, Pooling: batch.Max}}}
	nan := float32(math.NaN())
	for at := range int32(3) {
		b := &batch.Batch{Samples: 1, Slots: []batch.Jagged{{Offsets: []int32{0, 3},
			IDs: []uint64{0, 1, 2}}}}
		r := routeAll(schema, b, 1, 1, 1)[0]
		rows, pooled, winners := []float32{1, 3, 2}, make([]float32, 1), make([]int32, 1)
		rows[r.Index[0][at]] = nan
		r.PoolOn(nil, pooled, winners, schema, rows, 1)
		if pooled[0] == pooled[0] || winners[0] != at {
			t.Errorf("NaN at %d: %v of id %d", at, pooled[0], winners[0])
		}
	}
}

// Long bags of long rows have more gradients of maxima, or of ids with weights, than there is room for: an
// error, and no panic.
func TestTooManyGradientsOfMaximaAreRefused(t *testing.T) {
	const dim = 1 << 16
	for _, c := range []struct {
		slot    batch.Slot
		ids     int
		weights []float32
		fine    bool
	}{
		{batch.Slot{Pooling: batch.Max}, 8193, nil, false}, {batch.Slot{Pooling: batch.Max}, 8192, nil, true},
		{batch.Slot{Weighted: true}, 8193, make([]float32, 8193), false},
		{batch.Slot{Weighted: true, HashStack: batch.HashStack{Rounds: 2, Rows: 9}}, 4097,
			make([]float32, 4097), false},
		{batch.Slot{Weighted: true}, 8193, nil, true}, {batch.Slot{}, 8193, nil, true},
	} {
		c.slot.Name, c.slot.Dim = "tags", dim
		schema := &batch.Schema{PrefixBits: 8, Slots: []batch.Slot{c.slot}}
		b := &batch.Batch{Samples: 1, Slots: []batch.Jagged{{Offsets: []int32{0, int32(c.ids)},
			IDs: make([]uint64, c.ids), Weights: c.weights}}}
		r := routeAll(schema, b, 1, 1, 1)[0]
		if err := r.CheckApart(schema); (err == nil) != c.fine {
			t.Errorf("%d rows of 65536 values in %+v: %v", c.ids, c.slot, err)
		}
	}
}

// What another process says of winners may be false: those of no id are refused.
func TestWinnersOfNoIDAreRefused(t *testing.T) {
	schema := &batch.Schema{PrefixBits: 8, Slots: []batch.Slot{{Name: "tags", Dim: 1, Pooling: batch.Max}}}
	b := &batch.Batch{Samples: 2, Slots: []batch.Jagged{{Offsets: []int32{0, 2, 2}, IDs: []uint64{1, 2}}}}
	r := routeAll(schema, b, 1, 1, 1)[0]
	for _, c := range []struct {
		winners []int32
		fine    bool
	}{{[]int32{1, 0}, true}, {[]int32{2, 0}, false}, {[]int32{-1, 0}, false}, {[]int32{0, 1}, false}} {
		if err := r.CheckWinners(schema, c.winners); (err == nil) != c.fine {
			t.Errorf("winners %v: error %v", c.winners, err)
		}
	}
}
