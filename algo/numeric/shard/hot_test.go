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

// The ranks own all rows of some feature groups; those of the others, and signs of no group, stay where they
// are.
func TestGroupsOnRanksBelongToTheRanks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bits, servers := rapid.IntRange(1, 16).Draw(t, "prefix bits"), rapid.IntRange(1, 5).Draw(t, "servers")
		groups := rapid.SliceOfNDistinct(rapid.Uint64Range(1, 1<<bits-1), 1, 6,
			func(g uint64) uint64 { return g }).Draw(t, "groups")
		var prefixes []uint64
		for _, g := range groups {
			prefixes = append(prefixes, g<<(64-bits))
		}
		without := shard.Rows(servers)
		plan := without.WithGroupsOnRanks(prefixes, 64-bits)
		if plan.Owners() != servers+1 || plan.Servers() != servers || plan.AllOnRanks() {
			t.Fatalf("%d owners, %d PSs, all on ranks: %v", plan.Owners(), plan.Servers(), plan.AllOnRanks())
		}
		if plan != without.WithGroupsOnRanks(prefixes, 64-bits) || plan == without {
			t.Fatal("plans of the same groups are not equal, or those of others are")
		}
		for range 20 {
			group := rapid.OneOf(rapid.SampledFrom(groups), rapid.Uint64Range(0, 1<<bits-1)).Draw(t, "group")
			sign := group<<(64-bits) + rapid.Uint64Range(0, 1<<(64-bits)-1).Draw(t, "id")
			want := without.Owner(sign)
			if slices.Contains(groups, group) {
				want = servers
			}
			if got := plan.Owner(sign); got != want {
				t.Fatalf("sign %#x of group %d: owner %d, want %d", sign, group, got, want)
			}
		}
	})
}
