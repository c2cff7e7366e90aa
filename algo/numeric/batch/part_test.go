package batch_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/numeric/batch"
)

// Seven samples in four groups: sample i belongs to the group g with
// ⌊7g/4⌋ ≤ i < ⌊7(g+1)/4⌋, that is [0,1), [1,3), [3,5), [5,7).
func TestCutByHand(t *testing.T) {
	parts := batch.Cut(numbered(7), 4, 2)
	for rank, want := range []struct {
		lo, hi, firstGroup int
		bounds             [3]int
	}{
		{0, 3, 0, [3]int{0, 1, 3}},
		{3, 7, 2, [3]int{0, 2, 4}},
	} {
		p := parts[rank]
		mustBeSamples(t, p.Batch, numbers(want.lo, want.hi))
		if p.FirstGroup != want.firstGroup || p.Groups() != 2 || [3]int(p.Bounds) != want.bounds {
			t.Errorf("rank %d: first group %d, bounds %v; want %d, %v", rank, p.FirstGroup, p.Bounds,
				want.firstGroup, want.bounds)
		}
	}
}

// groupSizes returns the sample counts of all groups, checking that ranks own
// neighbouring groups and that group by group the samples are those of the batch.
func groupSizes(t rapid.TB, samples, groups, ranks int) []int {
	var sizes []int
	first := 0
	for rank, p := range batch.Cut(numbered(samples), groups, ranks) {
		if p.FirstGroup != rank*groups/ranks || p.Groups() != groups/ranks || p.Bounds[0] != 0 {
			t.Fatalf("rank %d of %d owns %d groups from %d on, bounds %v", rank, ranks, p.Groups(),
				p.FirstGroup, p.Bounds)
		}
		mustBeSamples(t, p.Batch, numbers(first, first+p.Samples))
		first += p.Samples
		for g := range p.Groups() {
			sizes = append(sizes, p.Bounds[g+1]-p.Bounds[g])
		}
		if p.Bounds[p.Groups()] != p.Samples {
			t.Fatalf("rank %d: bounds %v of %d samples", rank, p.Bounds, p.Samples)
		}
	}
	if first != samples {
		t.Fatalf("%d of %d samples are in a part", first, samples)
	}
	return sizes
}

// Group sizes differ by at most one and do not depend on the number of ranks;
// of a short batch some groups are empty.
func TestCutIsEvenAndIndependentOfRanks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := rapid.IntRange(0, 50).Draw(t, "samples")
		groups := rapid.IntRange(1, 24).Draw(t, "groups")
		alone := groupSizes(t, samples, groups, 1)
		for ranks := 2; ranks <= groups; ranks++ {
			if groups%ranks != 0 {
				continue
			}
			sizes := groupSizes(t, samples, groups, ranks)
			for g, size := range sizes {
				if size != alone[g] || size < samples/groups || size > (samples+groups-1)/groups {
					t.Fatalf("%d ranks: group sizes %v; one rank %v", ranks, sizes, alone)
				}
			}
		}
	})
}

func TestCutPanicsUnlessRanksDivideGroups(t *testing.T) {
	for _, c := range []struct{ groups, ranks int }{{8, 3}, {8, 16}, {8, 0}, {8, -2}, {0, 1}} {
		want := fmt.Sprintf("batch: %d ranks do not divide %d groups", c.ranks, c.groups)
		t.Run(want, func(t *testing.T) {
			defer func() {
				if got := recover(); got != want {
					t.Errorf("panic %v, want %q", got, want)
				}
			}()
			batch.Cut(numbered(8), c.groups, c.ranks)
		})
	}
}
