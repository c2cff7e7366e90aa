package collective

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// referenceTree is the definition of the sum: the sum of the left half plus the
// sum of the right half. A nil leaf is absent, and so is a half without leaves.
// Behind the last leaf, as many are absent as the next power of two takes.
func referenceTree(leaves [][]float32) []float32 {
	for len(leaves)&(len(leaves)-1) != 0 {
		leaves = append(leaves[:len(leaves):len(leaves)], nil)
	}
	if len(leaves) == 1 {
		return slices.Clone(leaves[0])
	}
	half := len(leaves) / 2
	left, right := referenceTree(leaves[:half]), referenceTree(leaves[half:])
	switch {
	case left == nil:
		return right
	case right == nil:
		return left
	}
	for i, v := range right {
		left[i] += v
	}
	return left
}

// drawLeaves draws buffers of one length, of values whose sums round, one for
// each of a number of positions. If some may be absent, those are nil, but never
// all of them.
func drawLeaves(t *rapid.T, positions int, mayBeAbsent bool) [][]float32 {
	leaves := make([][]float32, positions)
	length := rapid.IntRange(0, 3).Draw(t, "length")
	present := rapid.IntRange(0, len(leaves)-1).Draw(t, "present")
	for i := range leaves {
		if mayBeAbsent && i != present && rapid.Bool().Draw(t, "absent") {
			continue
		}
		leaves[i] = make([]float32, length)
		for j := range leaves[i] {
			leaves[i][j] = rapid.Float32Range(-1e6, 1e6).Draw(t, "value")
		}
	}
	return leaves
}

// anyNumber draws a number of leaves, a powerOfTwo one of those.
func anyNumber(t *rapid.T) int  { return rapid.IntRange(1, 140).Draw(t, "leaves") }
func powerOfTwo(t *rapid.T) int { return 1 << rapid.IntRange(0, 5).Draw(t, "levels") }

func cloneAll(bufs [][]float32) [][]float32 {
	clone := make([][]float32, len(bufs))
	for i, b := range bufs {
		clone[i] = slices.Clone(b)
	}
	return clone
}

// present returns copies of the leaves that are there.
func present(leaves [][]float32) []Leaf {
	var found []Leaf
	for i, values := range leaves {
		if values != nil {
			found = append(found, Leaf{i, slices.Clone(values)})
		}
	}
	return found
}

func mustBeSameBits(t rapid.TB, got, want []float32) {
	t.Helper()
	same := func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }
	if !slices.EqualFunc(got, want, same) {
		t.Fatalf("sum %v, want %v", got, want)
	}
}

// Behind six leaves two are absent, so the last two meet the first four as one.
// From left to right the sum would be 2²⁴: 2²⁴+1 rounds to 2²⁴, 2²⁴+2 is exact.
func TestTreeOfSixIsThatOfEightWithoutTheLast(t *testing.T) {
	const big = 1 << 24
	bufs := [][]float32{{big}, {0}, {0}, {0}, {1}, {1}}
	Tree(bufs)
	mustBeSameBits(t, bufs[0], []float32{big + 2})
}

// Rounding distinguishes orders of addition: 2²⁴+1 is 2²⁴ in float32, 2²⁴+2 is exact. From left to right the
// sum would be 2²⁴.
func TestTreeAddsNeighboursFirst(t *testing.T) {
	const big = 1 << 24
	bufs := [][]float32{{big}, {0}, {1}, {1}}
	Tree(bufs)
	mustBeSameBits(t, bufs[0], []float32{big + 2})
}

func TestTreeIsItsRecursiveDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bufs := drawLeaves(t, anyNumber(t), false)
		want := referenceTree(bufs)
		Tree(bufs)
		mustBeSameBits(t, bufs[0], want)
	})
}

func TestSparseTreeOfAllLeavesIsTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bufs := drawLeaves(t, anyNumber(t), false)
		sparse := SparseTree(present(bufs), len(bufs))
		Tree(bufs)
		mustBeSameBits(t, sparse, bufs[0])
	})
}

func TestSparseTreePassesAbsentBranchesOver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bufs := drawLeaves(t, anyNumber(t), true)
		leaves := present(bufs)
		got := SparseTree(leaves, len(bufs))
		mustBeSameBits(t, got, referenceTree(bufs))
		mustBeSameBits(t, leaves[0].Values, got) // left in the first leaf
	})
}

func TestPanics(t *testing.T) {
	one := func(indices ...int) []Leaf {
		var leaves []Leaf
		for _, i := range indices {
			leaves = append(leaves, Leaf{i, []float32{1}})
		}
		return leaves
	}
	for _, c := range []struct {
		want string
		call func()
	}{
		{"collective: no buffers", func() { Tree(nil) }},
		{"collective: 1 values added to 2", func() { Tree([][]float32{{1, 2}, {1}}) }},
		{"collective: no leaves", func() { SparseTree(nil, 4) }},
		{"collective: leaf 5 after 1, want ascending in [0, 5)", func() { SparseTree(one(1, 5), 5) }},
		{"collective: leaf 0 after -1, want ascending in [0, 0)", func() { SparseTree(one(0), 0) }},
		{"collective: leaf 4 after -1, want ascending in [0, 4)", func() { SparseTree(one(4), 4) }},
		{"collective: leaf -1 after -1, want ascending in [0, 4)", func() { SparseTree(one(-1), 4) }},
		{"collective: leaf 2 after 2, want ascending in [0, 4)", func() { SparseTree(one(2, 2), 4) }},
		{"collective: leaf 0 after 1, want ascending in [0, 4)", func() { SparseTree(one(1, 0), 4) }},
		{"collective: 2 values added to 1", func() {
			SparseTree([]Leaf{{0, []float32{1}},
				{3, []float32{1, 2}}}, 4)
		}},
	} {
		t.Run(c.want, func(t *testing.T) {
			defer func() {
				if got := fmt.Sprint(recover()); got != c.want {
					t.Errorf("panic %q, want %q", got, c.want)
				}
			}()
			c.call()
		})
	}
}

func TestTreesAllocateNothing(t *testing.T) {
	bufs := [][]float32{{1}, {2}, {3}, {4}}
	leaves := []Leaf{{0, []float32{1}}, {2, []float32{2}}, {3, []float32{3}}}
	if n := testing.AllocsPerRun(10, func() { Tree(bufs); SparseTree(leaves, 4) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestTreeDoesNotAllocate(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 6, 8, 16, 23, 32, 100} {
		bufs := make([][]float32, n)
		for i := range bufs {
			bufs[i] = make([]float32, 1000)
		}
		if allocs := testing.AllocsPerRun(3, func() { Tree(bufs) }); allocs != 0 {
			t.Errorf("%d buffers: %v allocations, want 0", n, allocs)
		}
	}
}
