package dense

import (
	"tandem/algo/numeric/collective"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/msg"
)

// averaged is the strategy of async-average: every rank trains a replica of its own, and a background round
// averages all replicas every few steps.
type averaged struct {
	replicas
	// sum has the copies of the last round, summed. One vector is enough: a rank contributes its next copy
	// only after it has applied this sum, so the next round is reduced when no rank reads sum any more.
	sum *model.Vector
}

func newAveraged(c Config) (*averaged, error) {
	c.Pool = nil // no other rank waits for an optimizer step
	own, err := newReplicas(c, replicaKind{optimizer: &c.Job.Model.Optimizer}, c.newWeights)
	sum := model.NewVector(c.Engine.Layout())
	sum.Stats = make([]float32, c.Engine.Layout().Running)
	return &averaged{own, sum}, err
}

// Snapshot copies a rank's parameters and running statistics.
func (d *averaged) Snapshot(rank int32) (*model.Vector, error) {
	values, err := d.byRank[rank].Snapshot()
	return &model.Vector{Values: values.Params, Stats: values.Running}, err
}

// Average adds the difference between the mean and the rank's copy to the rank's replica, which keeps the
// steps that the rank has taken since the copy.
func (d *averaged) Average(rank int32, given, sum *model.Vector) error {
	return d.byRank[rank].Shift(given, sum, d.Job.Roles.Ranks)
}

func (d *averaged) NewSum(int32) *model.Vector { return d.sum }

// Reduce sums copies of replicas, and with the last bucket their running statistics. The copies stay as they
// are, because Average reads them.
func (d *averaged) Reduce(sum *model.Vector, given []*model.Vector, b Buckets, c Collective) error {
	layout := d.layout()
	span := b.span(layout)
	values := bucketOf(given, span, true)
	if err := c.Sum(values); err != nil {
		return err
	}
	copy(sum.Bucket(span), values[0])
	if !b.atEnd(layout) || layout.Running == 0 {
		return nil
	}
	stats := make([]*model.Vector, len(given))
	for i, v := range given {
		if v != nil {
			stats[i] = &model.Vector{Values: v.Stats}
		}
	}
	values = bucketOf(stats, model.Bucket{Hi: layout.Running}, true)
	if err := c.Sum(values); err != nil {
		return err
	}
	copy(sum.Stats, values[0])
	return nil
}

// HolderRoles returns all ranks.
func (d *averaged) HolderRoles() (all []msg.Address) {
	for i := range d.byRank {
		all = append(all, nnWorkerAt(int32(i)))
	}
	return all
}

// Import implements Holders.
func (d *averaged) Import(at msg.Address, parts []Part) error {
	return d.importFrom(at, parts, len(d.byRank))
}

// Join returns the mean of the replicas, summed along the tree over ranks.
func (d *averaged) Join(parts []model.Values) model.Values {
	var params, running [][]float32
	for _, r := range parts {
		params, running = append(params, r.Params), append(running, r.Running)
	}
	for _, values := range [][][]float32{params, running} {
		collective.Tree(values)
		for i := range values[0] {
			values[0][i] /= float32(len(values))
		}
	}
	return model.Values{Params: params[0], Running: running[0]}
}
