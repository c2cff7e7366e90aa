package dense

import (
	"sync"

	"tandem/algo/numeric/model"
	"tandem/algo/protocol/role"
)

// reduced is the strategy of sync and hybrid: ranks sum their gradients in every step and train in lock step.
// All weights are equal, so the ranks of one process share those in the memory of the host: the first rank
// to reach the optimizer step takes it, and the others find it taken. No rank can still be reading the
// parameters then, because the sums of a step are complete only after every rank's backward pass. On devices,
// every rank has weights of its own.
type reduced struct {
	replicas
	mu sync.Mutex
	// sum has the gradients of the current step. One vector is enough, because a step ends before the next is
	// fed.
	sum    *model.Vector
	summer Summer // nil: gradients are summed in the memory of the host
	// taken is the number of optimizer steps before the run. It differs from first if the run begins with a
	// model of another training, or with none.
	taken int
}

func newReduced(c Config) (*reduced, error) {
	d := &reduced{sum: model.NewVector(c.Engine.Layout())}
	if summer, ok := c.Trainer.(Summer); ok && summer.Sums() {
		d.summer = summer
	}
	// A process without ranks needs no initial values, which a module of PyTorch takes seconds to give.
	shared := sync.OnceValues(c.newWeights)
	var err error
	d.replicas, err = newReplicas(c, replicaKind{optimizer: &c.Job.Model.Optimizer, summed: d.summer != nil},
		shared)
	return d, err
}

// BeginAt implements Strategy. The weights are those that the run begins with.
func (d *reduced) BeginAt(step int) {
	d.replicas.BeginAt(step)
	for _, own := range d.byRank {
		if own != nil {
			d.taken = own.Steps()
			return
		}
	}
}

// ApplyGradients takes the optimizer step of a training step, unless another rank has with the same weights.
func (d *reduced) ApplyGradients(w role.Work, sum *model.Vector) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if own := d.byRank[w.Rank]; own.Steps() <= d.taken+int(w.Step) {
		return own.StepSum(sum, int(w.StepSamples), d.first+int(w.Step))
	}
	return nil
}

// sumBuckets sums buckets, on the devices of the ranks if these do.
func (d *reduced) sumBuckets(sum *model.Vector, given []*model.Vector, b Buckets, c Collective) error {
	if d.summer != nil {
		for bucket := b.First; bucket <= b.Last; bucket++ {
			if err := d.summer.SumBucket(bucket, given, c); err != nil {
				return err
			}
		}
		return nil
	}
	span := b.span(d.layout())
	values := bucketOf(given, span, false)
	if err := c.Sum(values); err != nil {
		return err
	}
	copy(sum.Bucket(span), values[0])
	return nil
}

func (d *reduced) NewSum(int32) *model.Vector { return d.sum }

func (d *reduced) Reduce(sum *model.Vector, given []*model.Vector, b Buckets, c Collective) error {
	if err := d.sumBuckets(sum, given, b, c); err != nil {
		return err
	}
	return d.gatherStats(sum, given, b, c)
}

// gatherStats gathers the statistics of all ranks, with the last bucket.
func (d *reduced) gatherStats(sum *model.Vector, given []*model.Vector, b Buckets, c Collective) error {
	if layout := d.layout(); !b.atEnd(layout) || layout.Stats == 0 {
		return nil
	}
	stats := make([][]float32, len(given))
	for i, v := range given {
		if v != nil {
			stats[i] = v.Stats
		}
	}
	var err error
	sum.Stats, err = c.Gather(stats)
	return err
}
