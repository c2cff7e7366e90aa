package exec

import (
	"slices"
	"sync"

	"tandem/algo/numeric/collective"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/role"
)

// rounds are the all-reduces under way, by step or averaging round. Its methods may be called from several
// goroutines.
type rounds struct {
	dense   denseStrategy
	ranks   int
	buckets int
	mu      sync.Mutex
	open    map[int32]*round
}

func newRounds(dense denseStrategy, ranks, buckets int) *rounds {
	return &rounds{dense: dense, ranks: ranks, buckets: buckets, open: map[int32]*round{}}
}

// round is the all-reduce of all buckets of a step.
type round struct {
	sum   *model.Vector
	given []*model.Vector // by rank: what it has handed over
}

// feed notes what a rank hands over.
func (r *rounds) feed(s *Store, c role.Contribution) {
	if c.Bucket > 0 {
		return // the first bucket has the vector of all
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.open[c.Step]
	if own == nil {
		own = &round{sum: r.dense.newSum(c.Step), given: make([]*model.Vector, r.ranks)}
		r.open[c.Step] = own
	}
	if c.Source.Kind != role.NoData {
		own.given[c.Rank] = get[*model.Vector](s, c.Source)
	}
	s.put(c.Sum, own.sum)
}

// reduce sums a bucket.
func (r *rounds) reduce(step, bucket int32, c Collective) error {
	r.mu.Lock()
	own := r.open[step]
	if int(bucket) == r.buckets-1 {
		delete(r.open, step)
	}
	r.mu.Unlock()
	var given []*model.Vector
	for rank, v := range own.given {
		if r.dense.replica(int32(rank)) != nil {
			given = append(given, v)
		}
	}
	return r.dense.reduce(own.sum, given, bucket, c)
}

// Collective is what ranks compute together. Every process calls the same methods in the same order, with what
// each of its ranks gives, in the order of their numbers.
type Collective interface {
	// Sum leaves in given[0] the sum over all ranks, along the tree over rank numbers (algo/numeric/collective). All ranks
	// give as many values. The others of given are scratch afterwards.
	Sum(given [][]float32) error
	// Gather returns the values of all ranks, in rank order.
	Gather(given [][]float32) ([]float32, error)
}

// together is the Collective of ranks that are all in this process.
type together struct{}

// Sum implements Collective.
func (together) Sum(given [][]float32) error {
	collective.Tree(given)
	return nil
}

// Gather implements Collective.
func (together) Gather(given [][]float32) ([]float32, error) { return slices.Concat(given...), nil }

// bucketOf returns a bucket of what every rank here has given, zeros for nothing. Copies leave what was given as
// it is.
func bucketOf(given []*model.Vector, b model.Bucket, copies bool) [][]float32 {
	values := make([][]float32, len(given))
	for i, v := range given {
		switch {
		case v == nil:
			values[i] = make([]float32, b.Hi-b.Lo)
		case copies:
			values[i] = slices.Clone(v.Bucket(b))
		default:
			values[i] = v.Bucket(b)
		}
	}
	return values
}
