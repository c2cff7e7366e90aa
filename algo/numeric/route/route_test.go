package route_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/route"
	"tandem/algo/numeric/shard"
)

func TestRoute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		schema, b := drawBatch(t, 2)
		servers := rapid.IntRange(1, 5).Draw(t, "PSs")
		r := routeAll(schema, b, 1, 1, servers)[0]

		for s, slot := range b.Slots {
			rounds := schema.Slots[s].RowsPerID()
			if len(r.Index[s]) != len(slot.IDs)*rounds {
				t.Fatalf("slot %d: %d places of %d ids of %d rows", s, len(r.Index[s]), len(slot.IDs), rounds)
			}
			for i, at := range r.Index[s] {
				want := schema.Signer(s).Sign(slot.IDs[i/rounds], i%rounds)
				if got := r.Signs[at]; got != want {
					t.Fatalf("slot %d, id %d, round %d points at sign %x, want %x", s, i/rounds, i%rounds,
						got, want)
				}
			}
		}
		// The definition of the order: by PS, then by first occurrence.
		var want []uint64
		for p := range servers {
			for _, o := range occurrences(schema, b) {
				if shard.Rows(servers).Owner(o.sign) == p && !slices.Contains(want, o.sign) {
					want = append(want, o.sign)
				}
			}
			if int(r.Bounds[p+1]) != len(want) || !slices.Equal(r.ShardSigns(p), want[r.Bounds[p]:]) {
				t.Fatalf("PS %d owns %x, want %x", p, r.ShardSigns(p), want[r.Bounds[p]:])
			}
		}
		if !slices.Equal(r.Signs, want) || r.Samples() != b.Samples {
			t.Fatalf("signs %x of %d samples, want %x of %d", r.Signs, r.Samples(), want, b.Samples)
		}
	})
}

// reportRows reports the id occurrences that a benchmark has seen to.
func reportRows(b *testing.B, rows int) {
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkRoute(b *testing.B) {
	schema, all := criteo(512)
	part := batch.Cut(all, 8, 1)[0]
	b.ReportAllocs()
	for b.Loop() {
		route.Route(schema, part, shard.Rows(4))
	}
	reportRows(b, 512*26)
}
