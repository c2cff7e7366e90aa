package collective

import (
	"fmt"
	"math/bits"

	"tandem/algo/numeric/kernel/vec"
)

// Tree adds bufs[1:] to bufs[0] along the binary tree over their positions:
// neighbours first, then pairs of neighbours, and so on. The contents of the other
// buffers are undefined afterwards. A buffer without a neighbour moves up unchanged.
//
//	Tree(a b c d)     = (a+b) + (c+d)
//	Tree(a b c d e f) = ((a+b) + (c+d)) + (e+f)
//
// It panics if there are no buffers or their lengths differ. Cost: len(bufs)−1
// additions an element; no allocation.
func Tree(bufs [][]float32) {
	n := len(bufs)
	if n == 0 {
		panic("collective: no buffers")
	}
	for _, b := range bufs {
		mustBeAsLong(bufs[0], b)
	}
	// Three levels of the tree at a time where possible: one pass over eight buffers
	// moves half the bytes of seven additions.
	for stride := 1; stride < n; stride *= 8 {
		for i := 0; i < n; i += 8 * stride {
			branch(bufs[i:min(i+8*stride, n)], stride)
		}
	}
}

// branch adds up to eight sums, stride buffers apart, along their tree.
func branch(bufs [][]float32, stride int) {
	at := func(k int) []float32 { return bufs[k*stride] }
	switch n := (len(bufs)-1)/stride + 1; n {
	case 2:
		vec.Add(at(0), at(1))
	case 4:
		vec.AddFour(at(0), at(1), at(2), at(3))
	case 8:
		vec.AddEight(at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7))
	default:
		for span := 1; span < n; span *= 2 {
			for k := 0; k+span < n; k += 2 * span {
				vec.Add(at(k), at(k+span))
			}
		}
	}
}

// Leaf is a term of a sum: Values at position Index of the tree.
type Leaf struct {
	Index  int
	Values []float32
}

// SparseTree is Tree with absent leaves, which it skips as if the tree had no branch
// there. It writes the sum to the values of the first leaf and returns them. The values
// of the other leaves are undefined afterwards.
//
// It panics if there are no leaves, if their lengths differ, or unless the
// indices ascend within [0, size). Cost: len(leaves)−1 additions an element; no
// allocation.
func SparseTree(leaves []Leaf, size int) []float32 {
	mustBeLeaves(leaves, size)
	return sparse(leaves, 0, 1<<bits.Len(uint(size-1)))
}

func mustBeLeaves(leaves []Leaf, size int) {
	if len(leaves) == 0 {
		panic("collective: no leaves")
	}
	before := -1
	for _, leaf := range leaves {
		if leaf.Index <= before || leaf.Index >= size {
			panic(fmt.Sprintf("collective: leaf %d after %d, want ascending in [0, %d)", leaf.Index, before,
				size))
		}
		before = leaf.Index
	}
}

// sparse sums the leaves of the subtree over positions [lo, lo+size).
func sparse(leaves []Leaf, lo, size int) []float32 {
	if len(leaves) == 1 {
		return leaves[0].Values
	}
	half := size / 2
	cut := 0
	for cut < len(leaves) && leaves[cut].Index < lo+half {
		cut++
	}
	switch cut {
	case 0:
		return sparse(leaves, lo+half, half)
	case len(leaves):
		return sparse(leaves, lo, half)
	}
	sum := sparse(leaves[:cut], lo, half)
	add(sum, sparse(leaves[cut:], lo+half, half))
	return sum
}

// add adds src to dst, which must be as long.
func add(dst, src []float32) {
	mustBeAsLong(dst, src)
	vec.Add(dst, src)
}

func mustBeAsLong(dst, src []float32) {
	if len(dst) != len(src) {
		panic(fmt.Sprintf("collective: %d values added to %d", len(src), len(dst)))
	}
}
