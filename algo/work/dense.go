package work

import (
	"sync"

	"tandem/algo/batch"
	"tandem/algo/compress"
	"tandem/algo/model"
	"tandem/algo/msg"
	"tandem/algo/role"
	"tandem/algo/unit"
)

func (p *Performer) forward(s *Store, w role.Work, o role.Operands) (role.Result, error) {
	part := get[*batch.Part](s, o.Reads[0])
	packed := get[compress.Values](s, o.Reads[1])
	pooled, err := packed.Unpack(part.Samples * p.width)
	if err != nil {
		return role.Result{}, err
	}
	var pulled [][]float32
	if len(o.Reads) > 2 {
		pulled = get[[][]float32](s, o.Reads[2])
	}
	if err := p.dense.load(w.Rank, pulled); err != nil {
		return role.Result{}, err
	}
	p.dense.replica(w.Rank).Forward(part, pooled, p.buffers.get(len(pooled)))
	return role.Result{}, nil
}

func (p *Performer) backward(s *Store, w role.Work, o role.Operands, done func(bucket int32)) role.Result {
	replica := p.dense.replica(w.Rank)
	s.put(o.Makes[1], replica.Gradients()) // buckets may be fed before all are done
	grads, allFinite := replica.Backward(done)
	s.put(o.Makes[1], p.dense.gradients(w))
	return role.Result{NonFinite: !allFinite, Bytes: p.putValues(s, o.Makes[0], grads)}
}

// readDense copies a dense PS's shard for a rank.
func (p *Performer) readDense(at msg.Address, s *Store, o role.Operands) (role.Result, error) {
	values, err := p.dense.readShard(at.Index)
	if err != nil {
		return role.Result{}, err
	}
	s.put(o.Makes[0], values)
	return role.Result{Bytes: unit.Bytes(4 * len(values))}, nil
}

// snapshot copies a rank's replica for an averaging round.
func (p *Performer) snapshot(s *Store, w role.Work, o role.Operands) error {
	values, err := p.dense.snapshot(w.Rank)
	if err == nil {
		s.put(o.Makes[0], values)
	}
	return err
}

// rounds are the all-reduces under way, by step or averaging round.
type rounds struct {
	mu   sync.Mutex
	open map[int32]*round
}

// round is the all-reduce of all buckets of a step.
type round struct {
	sum   *model.Vector
	given []*model.Vector // by rank: what it has handed over
}

// Feed notes what a rank hands to the all-reduce. What is summed will be under c.Sum once the bucket is reduced.
func (p *Performer) Feed(s *Store, c role.Contribution) {
	if c.Bucket > 0 {
		return // the first has said it for all
	}
	p.rounds.mu.Lock()
	defer p.rounds.mu.Unlock()
	r := p.rounds.open[c.Step]
	if r == nil {
		r = &round{sum: p.dense.newSum(c.Step), given: make([]*model.Vector, p.training.Ranks)}
		if p.rounds.open == nil {
			p.rounds.open = map[int32]*round{}
		}
		p.rounds.open[c.Step] = r
	}
	if c.Source.Kind != role.NoData {
		r.given[c.Rank] = get[*model.Vector](s, c.Source)
	}
	s.put(c.Sum, r.sum)
}

// Reduce sums a bucket of a step, or averaging round, over the ranks, all of which are here and have handed the
// bucket over. It is called by one goroutine, for the buckets of a step in ascending order.
func (p *Performer) Reduce(step, bucket int32) {
	if err := p.ReduceAcross(step, bucket, together{}); err != nil {
		panic(err) // the mode has no all-reduce
	}
}

// ReduceAcross is Reduce for a process that has some of the ranks. c sums over all.
func (p *Performer) ReduceAcross(step, bucket int32, c Collective) error {
	p.rounds.mu.Lock()
	r := p.rounds.open[step]
	if int(bucket) == len(p.Layout().Buckets)-1 {
		delete(p.rounds.open, step)
	}
	p.rounds.mu.Unlock()
	var given []*model.Vector
	for rank, v := range r.given {
		if p.dense.replica(int32(rank)) != nil {
			given = append(given, v)
		}
	}
	return p.dense.reduce(r.sum, given, bucket, c)
}
