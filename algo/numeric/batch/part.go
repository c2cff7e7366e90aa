package batch

import "fmt"

// Part is the part of a global batch that one rank trains on: neighbouring groups.
type Part struct {
	*Batch
	FirstGroup int // number of its first group in the global batch
	// Bounds cut the part's samples into its groups: group g of the part holds
	// the samples [Bounds[g], Bounds[g+1]), possibly none.
	Bounds []int
}

// Cut cuts a global batch into the parts of its ranks. Sample i of n belongs to
// the group g with ⌊g·n/groups⌋ ≤ i < ⌊(g+1)·n/groups⌋, so group sizes differ
// by at most one, and a batch shorter than groups leaves some of them empty.
// Rank r owns the groups from r·groups/ranks on.
//
// It panics unless ranks divides groups, both at least 1. Parts alias b.
func Cut(b *Batch, groups, ranks int) []Part {
	if ranks < 1 || groups < 1 || groups%ranks != 0 {
		panic(fmt.Sprintf("batch: %d ranks do not divide %d groups", ranks, groups))
	}
	parts := make([]Part, ranks)
	own := groups / ranks
	for r := range parts {
		first := r * own
		lo := first * b.Samples / groups
		bounds := make([]int, own+1)
		for g := range bounds {
			bounds[g] = (first+g)*b.Samples/groups - lo
		}
		parts[r] = Part{Slice(b, lo, lo+bounds[own]), first, bounds}
	}
	return parts
}

// Groups returns the number of groups of the part.
func (p *Part) Groups() int { return len(p.Bounds) - 1 }
