package exec

import (
	"sync"

	"tandem/algo/exec/dense"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/role"
)

// rounds has the all-reduces under way, by step or averaging round. It is safe for concurrent use.
type rounds struct {
	dense   dense.Strategy
	ranks   int
	buckets int
	mu      sync.Mutex
	open    map[int32]*round
}

func newRounds(dense dense.Strategy, ranks, buckets int) *rounds {
	return &rounds{dense: dense, ranks: ranks, buckets: buckets, open: map[int32]*round{}}
}

// round is the all-reduce of all buckets of a step.
type round struct {
	sum   *model.Vector
	given []*model.Vector // the contributions, by rank
}

// feed records the contribution of a rank.
func (r *rounds) feed(s *Store, c role.Contribution) {
	if c.Bucket > 0 {
		return // the vector of the first bucket has all buckets
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.open[c.Step]
	if own == nil {
		own = &round{sum: r.dense.NewSum(c.Step), given: make([]*model.Vector, r.ranks)}
		r.open[c.Step] = own
	}
	if c.Source.Kind != role.NoData {
		own.given[c.Rank] = get[*model.Vector](s, c.Source)
	}
	s.set(c.Sum, own.sum)
}

// reduce sums buckets.
func (r *rounds) reduce(step int32, b dense.Buckets, c dense.Collective) error {
	r.mu.Lock()
	own := r.open[step]
	if int(b.Last) == r.buckets-1 {
		delete(r.open, step)
	}
	r.mu.Unlock()
	var given []*model.Vector
	for rank, v := range own.given {
		if r.dense.Replica(int32(rank)) != nil {
			given = append(given, v)
		}
	}
	return r.dense.Reduce(own.sum, given, b, c)
}
