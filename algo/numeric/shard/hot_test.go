package shard_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/shard"
)

// Hot rows belong to the ranks, the owner after the last PS; other rows stay where they are.
func TestHotRowsBelongToTheRanks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		signs := rapid.SliceOfDistinct(rapid.Uint64(), func(s uint64) uint64 { return s }).Draw(t, "hot")
		servers := rapid.IntRange(1, 5).Draw(t, "servers")
		without := shard.Rows(servers)
		plan := without.WithHot(shard.NewHot(signs))
		if want := servers + min(len(signs), 1); plan.Owners() != want || plan.Servers() != servers {
			t.Fatalf("%d owners, %d PSs; want %d, %d", plan.Owners(), plan.Servers(), want, servers)
		}
		for _, sign := range append(signs, rapid.SliceOf(rapid.Uint64()).Draw(t, "others")...) {
			want := without.Owner(sign)
			if slices.Contains(signs, sign) {
				want = servers
			}
			place, hot := plan.Hot().Place(sign)
			if plan.Owner(sign) != want || hot != (want == servers) ||
				hot && plan.Hot().Signs()[place] != sign {
				t.Fatalf("sign %#x: owner %d, want %d; place %d", sign, plan.Owner(sign), want, place)
			}
		}
	})
}
