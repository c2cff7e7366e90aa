package vec

import (
	"encoding/binary"
	"fmt"
	"math"
)

// joinLimit is above every level of SumTrees.
const joinLimit = 32

// SumTrees sums vectors of dim values of src along trees, sum by sum:
//
//	dst[k·dim + c] = tree over ends[k] ≤ j < ends[k+1] of src[at[j] + c],  c < dim
//
// for every k below len(ends)−1. It sums the gradients of a row over the groups of a batch. A tree
// is given by the level on which each vector joins what is to its left, in joins:
//
//	0      the vector is added to the leaf of the vector before it
//	ℓ > 0  it begins a leaf; sums of branches to its left that meet below or on level ℓ are
//	       added first, then its own branch, once it is complete, is added to theirs
//
// The level of the first vector of a sum does not matter. A sum of no vector is −0. For leaves that
// are numbered, the level bits.Len(number before ^ number) gives the tree of package collective.
//
// Dst and src may not overlap. SumTrees panics if ends descend, if a level is 32 or more,
// or if a vector lies outside its slice. Cost: one read of each vector, fetched before its
// turn, one addition for each but the first of a sum, and one write of each sum; no allocation.
func SumTrees(dst []float32, dim int, src []float32, at []int32, joins []uint8, ends []int32) {
	count := len(ends) - 1
	if count < 1 || dim < 1 {
		return
	}
	checkSegments(dst, dim, src, 1, at, ends, dim)
	if len(joins) != len(at) {
		panic(fmt.Sprintf("kernel: %d levels of %d vectors", len(joins), len(at)))
	}
	checkJoins(joins[ends[0]:ends[count]])
	if ends[0] == ends[count] { // nothing is summed
		sumTrees(dst, dim, src, at, joins, ends)
		return
	}
	active.sumTrees(dst, dim, src, at, joins, ends)
}

// checkJoins panics if a level is too large.
func checkJoins(joins []uint8) {
	var bits uint64 // of all levels
	for ; len(joins) >= 8; joins = joins[8:] {
		bits |= binary.LittleEndian.Uint64(joins)
	}
	for _, level := range joins {
		bits |= uint64(level)
	}
	const tooLarge = 0xff &^ (joinLimit - 1) * 0x01010101_01010101
	if bits&tooLarge != 0 {
		panic(fmt.Sprintf("kernel: a level of %d or more", joinLimit))
	}
}

// sumTrees is SumTrees in Go, a column at a time.
func sumTrees(dst []float32, dim int, src []float32, at []int32, joins []uint8, ends []int32) {
	for k := range len(ends) - 1 {
		lo, hi := ends[k], ends[k+1]
		for c := range dim {
			dst[k*dim+c] = sumTree(src[c:], at[lo:hi], joins[lo:hi])
		}
	}
}

// sumTree sums the values at some places along a tree.
func sumTree(values []float32, at []int32, joins []uint8) float32 {
	if len(at) == 0 {
		return float32(math.Copysign(0, -1))
	}
	// Branches that wait for their right neighbours, whose levels descend.
	var sums [joinLimit]float32
	var levels [joinLimit]uint8
	waiting := 0
	sum := values[at[0]]
	for j := 1; j < len(at); j++ {
		if joins[j] == 0 {
			sum += values[at[j]]
			continue
		}
		for waiting > 0 && levels[waiting-1] <= joins[j] {
			waiting--
			sum = sums[waiting] + sum
		}
		sums[waiting], levels[waiting] = sum, joins[j]
		waiting++
		sum = values[at[j]]
	}
	for waiting > 0 {
		waiting--
		sum = sums[waiting] + sum
	}
	return sum
}
