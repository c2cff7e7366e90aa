package role

import "fmt"

// Reduction is the barrier of the all-reduces over ranks. Every rank feeds the buckets of a step, or of an
// averaging round, in ascending order, and the steps in ascending order.
type Reduction struct {
	buckets int32
	next    []int64 // by rank: the number of the next bucket, step × buckets + bucket
	counts  []int32 // by number − base: how many ranks have fed the bucket
	base    int64   // the lowest number that is not complete
}

// Fed says what follows when a rank has fed a bucket.
type Fed uint8

// The values of Fed.
const (
	Waits    Fed = iota // some rank has not fed the bucket
	Complete            // all ranks have: the driver sums the bucket, and every rank receives it
	Again               // it was complete before: the rank, which is back, receives the sum that others have
)

// NewReduction returns the barrier of a run over a number of ranks: all ranks, or those of one process.
func NewReduction(ranks, buckets int) *Reduction {
	return &Reduction{buckets: int32(buckets), next: make([]int64, ranks)}
}

// Feed records that a rank, 0 ≤ rank < ranks, has fed a bucket, and returns what follows. It
// returns an error if the rank feeds out of order. Cost: constant.
func (r *Reduction) Feed(rank int, step, bucket int32) (Fed, error) {
	number := int64(step)*int64(r.buckets) + int64(bucket)
	if number != r.next[rank] || bucket < 0 || bucket >= r.buckets {
		return Waits, fmt.Errorf("role: rank %d of the reduction feeds bucket %d of step %d; "+
			"want bucket %d of step %d",
			rank, bucket, step, r.next[rank]%int64(r.buckets), r.next[rank]/int64(r.buckets))
	}
	r.next[rank]++
	if number < r.base {
		return Again, nil
	}
	i := int(number - r.base)
	if i == len(r.counts) {
		r.counts = append(r.counts, 0)
	}
	r.counts[i]++
	if int(r.counts[i]) < len(r.next) {
		return Waits, nil
	}
	// Ranks feed in order, so the complete bucket is the one with the lowest number.
	r.counts = append(r.counts[:0], r.counts[1:]...)
	r.base++
	return Complete, nil
}

// Withdraw takes back what a rank that is lost has fed of buckets that are not complete. The rank feeds all
// buckets of step Open again, and until then no later bucket is completed.
func (r *Reduction) Withdraw(rank int) {
	for number := r.base; number < r.next[rank]; number++ {
		r.counts[number-r.base]--
	}
	r.next[rank] = int64(r.Open()) * int64(r.buckets)
}

// Rewind makes a rank that is back feed all buckets of a step again, which is at most Open, and later ones.
func (r *Reduction) Rewind(rank int, step int32) { r.next[rank] = int64(step) * int64(r.buckets) }

// Skip makes a step the first one, before any bucket is fed: all ranks have the sums of earlier ones.
func (r *Reduction) Skip(step int32) {
	r.base = int64(step) * int64(r.buckets)
	for rank := range r.next {
		r.next[rank] = r.base
	}
}

// Open returns the first step of which a bucket is not complete.
func (r *Reduction) Open() int32 { return int32(r.base / int64(r.buckets)) }

// OpenBucket returns the first bucket of step Open that is not complete.
func (r *Reduction) OpenBucket() int32 { return int32(r.base % int64(r.buckets)) }

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
	dst = appendInts(dst, int32(r.base)) // above a number in next once a rank has withdrawn
	return dst
}
