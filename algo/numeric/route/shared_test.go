package route_test

import (
	"fmt"
	"slices"
	"testing"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/internal/pooltest"
	"tandem/algo/numeric/route"
	"tandem/algo/numeric/shard"
	"tandem/algo/rng"
)

// A pool shares Route, Pool, Order and Merge of a large batch and changes nothing; a small batch is not
// shared.
func TestAPoolChangesNothing(t *testing.T) {
	const dim, groups = 16, 8
	for _, samples := range []int{600, 30} {
		schema, b := criteo(samples)
		part := batch.Cut(b, groups, 1)[0]
		grads := make([]float32, samples*schema.EmbeddingWidth())
		for i := range grads {
			grads[i] = rng.Unit(1, i) - 0.5
		}
		for _, servers := range []int{1, 3} {
			helpers := &pooltest.Pool{}
			want, got := route.Route(schema, part, shard.Rows(servers)), route.RouteOn(helpers, schema, part,
				shard.Rows(servers))
			if !slices.Equal(got.Signs, want.Signs) || !slices.Equal(got.Bounds, want.Bounds) ||
				fmt.Sprint(got.Index) != fmt.Sprint(want.Index) {
				t.Errorf("%d samples, %d PSs: a pool routes otherwise", samples, servers)
			}
			rows := grads[:len(got.Signs)*dim] // as good as any
			pooled, wanted := make([]float32, len(grads)), make([]float32, len(grads))
			got.PoolOn(helpers, pooled, nil, schema, rows, dim)
			want.Pool(wanted, schema, rows, dim)
			if !sameBits(pooled, wanted) {
				t.Errorf("%d samples, %d PSs: a pool pools otherwise", samples, servers)
			}
			o := route.Occurrences{Pool: helpers}
			got.Order(&o, schema, dim)
			got.Take(&o, schema, grads, nil)
			sums := make([]float32, len(got.Signs)*dim)
			o.Sum(sums, 0, len(got.Signs))
			if !sameBits(sums, merge(want, schema, grads, dim)) {
				t.Errorf("%d samples, %d PSs: the sums differ", samples, servers)
			}
			clear(sums)
			got.MergeOn(helpers, sums, schema, grads, nil, dim)
			if !sameBits(sums, merge(want, schema, grads, dim)) {
				t.Errorf("%d samples, %d PSs: a pool merges otherwise", samples, servers)
			}
			// Route shares twice, Pool once, Order once if slot by slot, and so Merge once or twice.
			calls := map[int]int{1: 2 + 1 + 1 + 2, 3: 2 + 1 + 0 + 1}[servers]
			if samples == 30 {
				calls = 0
			}
			if helpers.Calls != calls {
				t.Errorf("%d samples, %d PSs: %d calls of the pool, want %d", samples, servers,
					helpers.Calls, calls)
			}
		}
	}
}
