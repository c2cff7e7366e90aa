package role

import "fmt"

// Reduction is the barrier of the all-reduces over ranks. Every rank feeds the buckets of a step, or of an
// averaging round, in ascending order, and the steps in ascending order.
type Reduction struct {
	buckets int32
	next    []int64 // by rank: the number of the next bucket, step × buckets + bucket
	counts  []int32 // by number − base: how many ranks have fed the bucket
	base    int64   // the lowest number that some rank has not fed
}

// NewReduction returns the barrier of a run over a number of ranks: all ranks, or those of one process.
func NewReduction(ranks, buckets int) *Reduction {
	return &Reduction{buckets: int32(buckets), next: make([]int64, ranks)}
}

// Feed records that a rank, 0 ≤ rank < ranks, has fed a bucket, and reports whether all ranks now have. It
// returns an error if the rank feeds out of order. Cost: constant.
func (r *Reduction) Feed(rank int, step, bucket int32) (complete bool, err error) {
	number := int64(step)*int64(r.buckets) + int64(bucket)
	if number != r.next[rank] || bucket < 0 || bucket >= r.buckets {
		return false, fmt.Errorf("role: rank %d of the reduction feeds bucket %d of step %d; "+
			"want bucket %d of step %d",
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
	// Ranks feed in order, so the complete bucket is the one with the lowest number.
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
