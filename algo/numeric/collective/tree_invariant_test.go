package collective

import (
	"testing"

	"pgregory.net/rapid"
)

// The invariant of the package: for every number of ranks N that divides
// the V groups, each rank summing its own subtree and then the sums of the ranks
// being summed gives the bits of the tree over all groups.
func TestRanksDoNotChangeTheSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		groups := drawLeaves(t, powerOfTwo(t), false)
		want := referenceTree(groups)
		for ranks := 1; ranks <= len(groups); ranks *= 2 {
			bufs := cloneAll(groups)
			own := len(groups) / ranks
			var sums [][]float32
			for lo := 0; lo < len(bufs); lo += own {
				Tree(bufs[lo : lo+own])
				sums = append(sums, bufs[lo])
			}
			Tree(sums)
			mustBeSameBits(t, sums[0], want)
		}
	})
}

// The same where groups may be absent: a rank all of whose groups are absent is
// absent itself.
func TestRanksDoNotChangeTheSparseSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		groups := drawLeaves(t, powerOfTwo(t), true)
		want := referenceTree(groups)
		for ranks := 1; ranks <= len(groups); ranks *= 2 {
			own := len(groups) / ranks
			var sums []Leaf
			for rank := range ranks {
				if leaves := present(groups[rank*own:][:own]); leaves != nil {
					sums = append(sums, Leaf{rank, SparseTree(leaves, own)})
				}
			}
			mustBeSameBits(t, SparseTree(sums, ranks), want)
		}
	})
}

// The same for any number of ranks with 2ᵏ groups each: each rank owns a branch.
func TestAnyNumberOfRanksOwnsBranches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		own, ranks := powerOfTwo(t), rapid.IntRange(1, 25).Draw(t, "ranks")
		groups := drawLeaves(t, own*ranks, false)
		bufs := cloneAll(groups)
		var sums [][]float32
		for rank := range ranks {
			Tree(bufs[rank*own : (rank+1)*own])
			sums = append(sums, bufs[rank*own])
		}
		Tree(sums)
		mustBeSameBits(t, sums[0], referenceTree(groups))
	})
}
