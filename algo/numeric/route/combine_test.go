package route_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/route"
)

// putsByServer routes and merges the parts of all ranks, as EWs do, and returns
// the puts of each PS in rank order.
func putsByServer(schema *batch.Schema, b *batch.Batch, grads []float32, dim, groups, ranks,
	servers int) [][]route.Put {
	puts := make([][]route.Put, servers)
	for rank, r := range routeAll(schema, b, groups, ranks, servers) {
		own := grads[:r.Samples()*schema.EmbeddingWidth()]
		grads = grads[len(own):]
		sums := merge(r, schema, own, dim)
		for p := range servers {
			puts[p] = append(puts[p], route.Put{
				Rank: rank, Samples: r.Samples(), Signs: r.ShardSigns(p),
				Sums: sums[int(r.Bounds[p])*dim : int(r.Bounds[p+1])*dim],
			})
		}
	}
	return puts
}

// The invariant of sync training: for any number of ranks and PSs that share a step, the gradient that a
// row's optimizer sees has the same bits, as long as each rank has 2ᵏ of the groups.
func TestRanksAndServersDoNotChangeAGradient(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const dim = 2
		groups := rapid.IntRange(1, 24).Draw(t, "groups")
		schema, b := drawBatch(t, dim)
		grads := drawValues(t, b.Samples*schema.EmbeddingWidth())
		samples := max(b.Samples, 1)
		alone := putsByServer(schema, b, grads, dim, groups, 1, 1)[0]
		signs, want := combined(alone, samples, dim, false)
		for own := 1; groups%own == 0; own *= 2 {
			ranks := groups / own
			servers := rapid.IntRange(1, 4).Draw(t, "PSs")
			rows := 0
			for _, puts := range putsByServer(schema, b, grads, dim, groups, ranks, servers) {
				some, got := combined(puts, samples, dim, false)
				rows += len(some)
				for i, sign := range some {
					at := slices.Index(signs, sign)
					if at < 0 || !sameBits(got[i*dim:][:dim], want[at*dim:][:dim]) {
						t.Fatalf("%d ranks, %d PSs, sign %x: %v, want %v", ranks, servers, sign,
							got[i*dim:][:dim], want[at*dim:])
					}
				}
			}
			if rows != len(signs) {
				t.Fatalf("%d ranks, %d PSs: %d rows, want %d", ranks, servers, rows, len(signs))
			}
		}
	})
}

// Two ranks of 2 and 6 samples. Row 7 has the sums 4 and 12, row 8 only 6 of rank
// 1. Over all 8 samples the mean gradients are 16/8 and 6/8; rank by rank,
// as Persia, 4/2 + 12/6 and 6/6.
func TestCombineScales(t *testing.T) {
	puts := []route.Put{
		{Rank: 0, Samples: 2, Signs: []uint64{7}, Sums: []float32{4}},
		{Rank: 1, Samples: 6, Signs: []uint64{8, 7}, Sums: []float32{6, 12}},
	}
	for _, c := range []struct {
		byRank bool
		want   []float32
	}{{false, []float32{2, 0.75}}, {true, []float32{4, 1}}} {
		signs, grads := combined(puts, 8, 1, c.byRank)
		if !slices.Equal(signs, []uint64{7, 8}) || !slices.Equal(grads, c.want) {
			t.Errorf("by rank %t: signs %d, gradients %v; want [7 8], %v", c.byRank, signs, grads, c.want)
		}
	}
	if !slices.Equal(puts[0].Sums, []float32{4}) || !slices.Equal(puts[1].Sums, []float32{6, 12}) {
		t.Errorf("the puts have changed: %v", puts)
	}
}

func TestQuotientsOfOnePut(t *testing.T) {
	put := route.Put{Samples: 2, Signs: []uint64{7, 8, 9}, Sums: []float32{1, 1, 4, -8, 1, 1}}
	quotients := func(byRank bool) []float32 {
		dst := make([]float32, 2)
		put.Quotients(dst, 1, 2, 2, put.Divisor(8, byRank))
		return dst
	}
	if got := quotients(false); !slices.Equal(got, []float32{0.5, -1}) {
		t.Errorf("over the step: %v", got)
	}
	if got := quotients(true); !slices.Equal(got, []float32{2, -4}) {
		t.Errorf("over the rank's part: %v", got)
	}
	if put.Sums[2] != 4 {
		t.Error("the put has changed")
	}
	// A part of one sample is a part like any other: its sums are its means.
	put.Samples = 1
	if got := quotients(true); !slices.Equal(got, []float32{4, -8}) {
		t.Errorf("over the rank's only sample: %v", got)
	}
}

// Sums that are pending are those of Merge, bit for bit, for any rows that they are asked for; alone and
// combined with the put of another rank.
func TestPendingSumsAreThoseOfMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.IntRange(1, 3).Draw(t, "dim")
		schema, b := drawBatch(t, dim)
		parts := routeAll(schema, b, 8, 2, 1)
		byRank := rapid.Bool().Draw(t, "by rank")
		var merged, pending []route.Put
		for rank, r := range parts {
			grads := drawValues(t, r.Samples()*schema.EmbeddingWidth())
			p := route.Put{Rank: rank, Samples: max(r.Samples(), 1), Signs: r.Signs}
			p.Sums = merge(r, schema, grads, dim)
			merged = append(merged, p)
			p.Sums, p.Pending = nil, new(route.Occurrences)
			r.Order(p.Pending, schema, dim)
			r.Take(p.Pending, schema, grads, nil)
			pending = append(pending, p)
		}
		divisor := merged[0].Divisor(b.Samples, byRank)
		for lo := 0; lo < len(merged[0].Signs); {
			hi := rapid.IntRange(lo+1, len(merged[0].Signs)).Draw(t, "end")
			want, got := make([]float32, (hi-lo)*dim), make([]float32, (hi-lo)*dim)
			merged[0].Quotients(want, lo, hi, dim, divisor)
			pending[0].Quotients(got, lo, hi, dim, divisor)
			if !sameBits(got, want) {
				t.Fatalf("rows %d to %d: %v, want %v", lo, hi, got, want)
			}
			lo = hi
		}
		signs, want := combined(merged, b.Samples, dim, byRank)
		signsPending, got := combined(pending, b.Samples, dim, byRank)
		if !slices.Equal(signs, signsPending) || !sameBits(got, want) {
			t.Fatalf("combined: %v %v, want %v %v", signsPending, got, signs, want)
		}
	})
}

// A PS in sync mode closes a step in which no rank has a row on it.
func TestCombineOfEmptyPuts(t *testing.T) {
	for _, byRank := range []bool{false, true} {
		signs, grads := combined([]route.Put{{Rank: 0}, {Rank: 1}}, 8, 4, byRank)
		if len(signs) != 0 || len(grads) != 0 {
			t.Errorf("signs %v, gradients %v", signs, grads)
		}
	}
}

func TestCombinePanics(t *testing.T) {
	mustPanic(t, "route: no puts", func() { route.Combine(nil, 1, 1, false) })
	mustPanic(t, "route: put 0 is of rank 1, want rank order",
		func() { route.Combine([]route.Put{{Rank: 1}, {Rank: 0}}, 1, 1, false) })
}

func BenchmarkCombine(b *testing.B) {
	schema, all := criteo(512)
	grads := make([]float32, 512*schema.EmbeddingWidth())
	puts := putsByServer(schema, all, grads, 16, 8, 4, 1)[0]
	rows := 0
	for _, p := range puts {
		rows += len(p.Signs)
	}
	block := make([]float32, 32*16)
	b.ReportAllocs()
	for b.Loop() {
		c := route.Combine(puts, 512, 16, false)
		for lo := 0; lo < len(c.Signs); lo += 32 { // as a table asks for them
			hi := min(lo+32, len(c.Signs))
			c.Gradients(block[:(hi-lo)*16], lo, hi)
		}
		c.Release()
	}
	reportRows(b, rows)
}
