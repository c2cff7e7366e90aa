package role

import "fmt"

// Reduction is the barrier of the all-reduces over ranks: it counts which rank has fed which bucket. Every
// rank feeds the buckets of a step, or of an averaging round, in order, and the steps in order.
type Reduction struct {
	buckets int32
	next    []int64 // by rank: the number, step × buckets + bucket, that it feeds next
	counts  []int32 // ranks that have fed number base + i
	base    int64   // the first number that some rank has not fed
}

// NewReduction returns the barrier of a run over some number of ranks, all of them or those of one process.
func NewReduction(ranks, buckets int) *Reduction {
	return &Reduction{buckets: int32(buckets), next: make([]int64, ranks)}
}

// Feed notes that a rank, 0 ≤ rank < ranks, has handed over a bucket, and reports whether it was the last.
// It returns an error if the rank feeds out of order. Cost: constant.
func (r *Reduction) Feed(rank int, step, bucket int32) (complete bool, err error) {
	number := int64(step)*int64(r.buckets) + int64(bucket)
	if number != r.next[rank] || bucket < 0 || bucket >= r.buckets {
		return false, fmt.Errorf("role: the %d-th rank feeds bucket %d of step %d; want bucket %d of step %d",
			rank, bucket, step, r.next[rank]%int64(r.buckets), r.next[rank]/int64(r.buckets))
	}
	r.next[rank]++
	i := int(number - r.base)
	if i == len(r.counts) {
		r.counts = append(r.counts, 0)
	}
	r.counts[i]++
	if int(r.counts[i]) < len(r.next) {
		return false, nil
	}
	// Ranks feed in order, so a complete bucket is the first.
	r.counts = append(r.counts[:0], r.counts[1:]...)
	r.base++
	return true, nil
}

// Clone returns an independent copy.
func (r *Reduction) Clone() *Reduction {
	c := *r
	c.next = append([]int64(nil), r.next...)
	c.counts = append([]int32(nil), r.counts...)
	return &c
}

// AppendState appends a canonical form of the state.
func (r *Reduction) AppendState(dst []byte) []byte {
	for _, n := range r.next {
		dst = appendInts(dst, int32(n))
	}
	return dst
}
