package role

import "slices"

// request is a lookup, put, pull or push in a PS.
type request struct {
	rank, step  int32
	samples     int32
	stepSamples int32
	group       int32 // of a put or push that is being applied: the number of its group
}

// gradients are the puts or pushes that a PS holds. The groups of those that are being applied end in the
// order in which they begin.
type gradients struct {
	waiting  []request // in no group, ordered by step and rank
	applying Queue[request]
	groups   int32 // number of groups so far
}

// waits reports whether a gradient is here and in no group.
func (g *gradients) waits(rank, step int32) bool { return has(g.waiting, rank, step) }

// holds reports whether a gradient is here. Cost: proportional to the number of those that are being applied.
func (g *gradients) holds(rank, step int32) bool {
	return g.waits(rank, step) || slices.ContainsFunc(g.applying.Items(), func(r request) bool {
		return r.rank == rank && r.step == step
	})
}

// begin moves the gradients of a group, those that count and the others, to those that are being applied.
func (g *gradients) begin(next *group) {
	g.groups++
	for _, list := range [][]int{next.apply, next.drop} {
		for _, i := range list {
			g.waiting[i].group = g.groups
		}
	}
	kept := g.waiting[:0]
	for _, r := range g.waiting {
		if r.group > 0 {
			g.applying.Push(r)
		} else {
			kept = append(kept, r)
		}
	}
	g.waiting = kept
}

// finishOldest ends the work on the oldest group. It releases its gradients, which have handles of a kind,
// and calls finished for each.
func (g *gradients) finishOldest(kind HandleKind, out *Outputs, finished func(rank, step int32)) {
	if g.applying.Len() == 0 {
		return
	}
	for oldest := g.applying.Front().group; g.applying.Len() > 0 && g.applying.Front().group == oldest; {
		r := g.applying.Pop()
		out.release(kind, r.rank, r.step)
		finished(r.rank, r.step)
	}
}

func (g *gradients) clone() gradients {
	return gradients{slices.Clone(g.waiting), g.applying.Clone(), g.groups}
}

func (g *gradients) appendState(dst []byte) []byte {
	dst = appendRequests(dst, g.waiting)
	before := int32(0) // only the order of group numbers matters
	if g.applying.Len() > 0 {
		before = g.applying.Front().group - 1
	}
	dst = appendInts(dst, int32(g.applying.Len()))
	for _, r := range g.applying.Items() {
		dst = appendInts(dst, r.rank, r.step, r.group-before)
	}
	return dst
}

func appendRequests(dst []byte, rs []request) []byte {
	dst = appendInts(dst, int32(len(rs)))
	for _, r := range rs {
		dst = appendInts(dst, r.rank, r.step)
	}
	return dst
}

// orderKey orders requests by step, then by rank.
func orderKey(rank, step int32) uint64 { return uint64(uint32(step))<<32 | uint64(uint32(rank)) }

// place returns the index of the first request that is not before a rank and step. Requests are ordered by
// step, then by rank.
func place(rs []request, rank, step int32) int {
	key := orderKey(rank, step)
	low, high := 0, len(rs)
	for low < high {
		if middle := int(uint(low+high) >> 1); orderKey(rs[middle].rank, rs[middle].step) < key {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// has reports whether a request is there.
func has(rs []request, rank, step int32) bool {
	i := place(rs, rank, step)
	return i < len(rs) && rs[i].rank == rank && rs[i].step == step
}

// insert adds a request and returns its index.
func insert(rs []request, r request) ([]request, int) {
	i := place(rs, r.rank, r.step)
	return slices.Insert(rs, i, r), i
}

// remove removes a request, if it is there.
func remove(rs []request, rank, step int32) []request {
	if has(rs, rank, step) {
		i := place(rs, rank, step)
		return slices.Delete(rs, i, i+1)
	}
	return rs
}
