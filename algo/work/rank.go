package work

import (
	"math"
	"slices"

	"tandem/algo/batch"
	"tandem/algo/collective"
	"tandem/algo/compress"
	"tandem/algo/kernel"
	"tandem/algo/model"
	"tandem/algo/role"
)

// rank is the scratch of one rank's dense work: a pass and a gradient buffer
// for each of its groups.
type rank struct {
	passes []model.Pass
	grads  [][]float32
	loss   float64
	pooled []float32 // gradients of the pooled embeddings of the step in hand
}

func newRank(engine model.Engine, groups, samplesMax int) *rank {
	r := &rank{}
	for range groups {
		r.passes = append(r.passes, engine.NewPass(samplesMax))
		r.grads = append(r.grads, make([]float32, engine.Layout().Params))
	}
	return r
}

// input returns group g of a part as the network sees it.
func input(part *batch.Part, pooled []float32, width, g int) model.Input {
	lo, hi := part.Bounds[g], part.Bounds[g+1]
	dense, labels := 0, 0 // of a sample
	if part.Samples > 0 {
		dense, labels = len(part.Dense)/part.Samples, len(part.Labels)/part.Samples
	}
	return model.Input{
		Samples: hi - lo, Embeddings: pooled[lo*width : hi*width],
		Dense: part.Dense[lo*dense : hi*dense], Labels: part.Labels[lo*labels : hi*labels],
	}
}

// forward runs every group of a part and sums their losses. Backward will leave the
// gradients of the pooled embeddings in grads, as long.
func (r *rank) forward(d *Dense, part *batch.Part, pooled, grads []float32, width int) {
	r.loss, r.pooled = 0, grads
	for g, pass := range r.passes {
		in := input(part, pooled, width, g)
		in.EmbeddingGrad = r.groupGrads(part, width, g)
		_, loss := pass.Forward(d.Params, d.Running, in, true)
		r.loss += loss
	}
}

// groupGrads returns the gradients of one group's pooled embeddings.
func (r *rank) groupGrads(part *batch.Part, width, g int) []float32 {
	return r.pooled[part.Bounds[g]*width : part.Bounds[g+1]*width]
}

// backward runs every group of a part, bucket by bucket, and leaves the sums
// over the groups, along the tree, in r.grads[0]. It returns the gradients of
// the pooled embeddings, and whether loss and gradients are finite.
func (r *rank) backward(d *Dense, part *batch.Part, width int, done func(bucket int32)) (grads []float32, allFinite bool) {
	buckets := make([][]float32, len(r.passes))
	allFinite = finite(r.loss)
	for b, bucket := range d.layout.Buckets {
		for g, pass := range r.passes {
			pass.Backward(d.Params, b, r.grads[g])
			buckets[g] = r.grads[g][bucket.Lo:bucket.Hi]
		}
		collective.Tree(buckets)
		// The bucket is in others' hands once it is done.
		allFinite = kernel.Finite(buckets[0]) && allFinite
		done(int32(b))
	}
	for g, pass := range r.passes {
		own, at := pass.EmbeddingGrad(), r.groupGrads(part, width, g)
		if len(own) > 0 && &own[0] != &at[0] { // an engine that had its own place
			copy(at, own)
		}
	}
	return r.pooled, allFinite && kernel.Finite(r.pooled)
}

// finite reports whether a loss is neither NaN nor infinite.
func finite(loss float64) bool { return !math.IsNaN(loss) && !math.IsInf(loss, 0) }

func (p *Performer) forward(s *Store, w role.Work, o role.Operands) (role.Result, error) {
	part := get[*batch.Part](s, o.Reads[0])
	packed := get[compress.Values](s, o.Reads[1])
	pooled, err := packed.Unpack(part.Samples * p.width)
	if err != nil {
		return role.Result{}, err
	}
	if p.served != nil {
		pulled := get[[][]float32](s, o.Reads[2])
		if err := p.served.install(w.Rank, pulled); err != nil {
			return role.Result{}, err
		}
	}
	p.ranks[w.Rank].forward(p.replica(w.Rank), part, pooled, p.buffers.get(len(pooled)), p.width)
	return role.Result{}, nil
}

func (p *Performer) backward(s *Store, w role.Work, o role.Operands, done func(bucket int32)) role.Result {
	r := p.ranks[w.Rank]
	part := get[*batch.Part](s, o.Reads[0])
	s.put(o.Makes[1], r.grads[0]) // buckets may be fed before all are done
	grads, allFinite := r.backward(p.replica(w.Rank), part, p.width, done)
	if p.served != nil {
		s.put(o.Makes[1], p.served.gradient(r.grads[0], w.Samples, r.passes))
	}
	return role.Result{NonFinite: !allFinite, Bytes: p.putValues(s, o.Makes[0], grads)}
}

// denseApply performs a rank's optimizer step: of the replica that all share, or
// of its own.
func (p *Performer) denseApply(s *Store, w role.Work, o role.Operands) {
	if p.averaged != nil {
		p.averaged.step(p.ranks[w.Rank], get[[]float32](s, o.Reads[0]), w)
		return
	}
	p.dense.apply(int(w.Step), int(w.StepSamples))
}

// Feed notes what a rank hands to the all-reduce. What is summed will be under c.Sum once the bucket is reduced.
func (p *Performer) Feed(s *Store, c role.Contribution) {
	p.fed[c.Rank] = get[[]float32](s, c.Source)
	if c.Bucket == 0 {
		s.put(c.Sum, p.sum())
	}
}

// sum returns where the sums of the all-reduces lie. A step, or averaging round, is
// over before the next is fed, so that there is one.
func (p *Performer) sum() []float32 {
	if p.averaged != nil {
		return p.averaged.sum
	}
	return p.dense.grads
}

// Reduce sums a bucket of dense gradients over the ranks, along the tree; where
// replicas are averaged, the bucket is a part of their copies. All ranks are here.
// It is called once all have handed the bucket over, and by one goroutine for a
// bucket.
func (p *Performer) Reduce(bucket int32) {
	b := p.Layout().Buckets[bucket]
	if p.averaged != nil {
		p.averaged.reduce(p.fed, p.averaged.part(bucket))
		return
	}
	parts := make([][]float32, len(p.ranks))
	for i, fed := range p.fed {
		parts[i] = fed[b.Lo:b.Hi]
	}
	collective.Tree(parts)
	copy(p.dense.grads[b.Lo:b.Hi], parts[0])
	if int(bucket) == len(p.Layout().Buckets)-1 {
		p.dense.stats = p.dense.stats[:0]
		for _, r := range p.ranks {
			for _, pass := range r.passes {
				p.dense.stats = append(p.dense.stats, pass.Stats()...)
			}
		}
	}
}

// Collective is what ranks in several processes compute together. Every rank
// calls the same methods in the same order.
type Collective interface {
	// Sum replaces values by their sum over all ranks, along the tree over rank
	// numbers (algo/collective). All ranks give as many.
	Sum(values []float32) error
	// Gather returns the values of all ranks, in rank order.
	Gather(values []float32) ([]float32, error)
}

// ReduceAcross is Reduce for a process that has one of the ranks.
func (p *Performer) ReduceAcross(bucket int32, c Collective) error {
	here := slices.IndexFunc(p.ranks, func(r *rank) bool { return r != nil })
	if p.averaged != nil {
		return p.averaged.reduceAcross(p.fed[here], p.averaged.part(bucket), c)
	}
	r := p.ranks[here]
	b := p.Layout().Buckets[bucket]
	values := p.fed[here][b.Lo:b.Hi]
	if err := c.Sum(values); err != nil {
		return err
	}
	copy(p.dense.grads[b.Lo:b.Hi], values)
	if int(bucket) != len(p.Layout().Buckets)-1 || len(p.dense.Running) == 0 {
		return nil
	}
	var stats []float32
	for _, pass := range r.passes {
		stats = append(stats, pass.Stats()...)
	}
	all, err := c.Gather(stats)
	p.dense.stats = all
	return err
}
