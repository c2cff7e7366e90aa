package work

import (
	"slices"

	"tandem/algo/collective"
	"tandem/algo/job"
	"tandem/algo/model"
	"tandem/algo/msg"
	"tandem/algo/role"
)

// averagedDense is the dense network where every rank trains a replica of its
// own, and all are averaged now and then.
type averagedDense struct {
	layout   *model.Layout
	replicas []*Dense // by rank; nil where it is not here
	// sum of the copies of the last round. The next round is reduced only when
	// every rank has folded this one in, because it gives its next copy after that.
	sum []float32
}

func newAveragedDense(t *job.Training, engine model.Engine, here func(msg.Address) bool) (*averagedDense, error) {
	layout := engine.Layout()
	d := &averagedDense{layout: layout, replicas: make([]*Dense, t.Ranks), sum: make([]float32, layout.Params+layout.Running)}
	for i := range d.replicas {
		if !here(msg.Address{Role: msg.NNWorker, Index: int32(i)}) {
			continue
		}
		var err error
		if d.replicas[i], err = NewDense(t, engine); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// step gives a rank's replica the optimizer step of its own mean gradient.
func (d *averagedDense) step(r *rank, sums []float32, w role.Work) {
	replica := d.replicas[w.Rank]
	copy(replica.grads, sums)
	replica.stats = replica.stats[:0]
	for _, pass := range r.passes {
		replica.stats = append(replica.stats, pass.Stats()...)
	}
	replica.apply(int(w.Step), int(max(w.Samples, 1)))
}

// snapshot copies a rank's replica for a round: parameters, then running statistics.
func (d *averagedDense) snapshot(rank int32) []float32 {
	return slices.Concat(d.replicas[rank].Params, d.replicas[rank].Running)
}

// part returns what of a copy a bucket is: with the last, the running statistics
// too, which no bucket covers.
func (d *averagedDense) part(bucket int32) []model.Bucket {
	layout := d.layout
	parts := layout.Buckets[bucket : bucket+1 : bucket+1]
	if int(bucket) == len(layout.Buckets)-1 && layout.Running > 0 {
		parts = append(parts, model.Bucket{Lo: layout.Params, Hi: layout.Params + layout.Running})
	}
	return parts
}

// reduce sums parts of the copies, all of which are here, along the tree.
func (d *averagedDense) reduce(copies [][]float32, parts []model.Bucket) {
	for _, part := range parts {
		values := make([][]float32, len(copies))
		for i, c := range copies {
			values[i] = slices.Clone(c[part.Lo:part.Hi])
		}
		collective.Tree(values)
		copy(d.sum[part.Lo:part.Hi], values[0])
	}
}

// reduceAcross is reduce for a process that has one of the ranks.
func (d *averagedDense) reduceAcross(given []float32, parts []model.Bucket, c Collective) error {
	for _, part := range parts {
		values := slices.Clone(given[part.Lo:part.Hi])
		if err := c.Sum(values); err != nil {
			return err
		}
		copy(d.sum[part.Lo:part.Hi], values)
	}
	return nil
}

// fold adds mean − copy to a rank's replica.
func (d *averagedDense) fold(rank int32, given, sum []float32) {
	replica, ranks := d.replicas[rank], float32(len(d.replicas))
	params := len(replica.Params)
	for i := range replica.Params {
		replica.Params[i] += sum[i]/ranks - given[i]
	}
	for i := range replica.Running {
		replica.Running[i] += sum[params+i]/ranks - given[params+i]
	}
}

// meanOf returns the mean of replicas, along the tree. They are scratch
// afterwards.
func meanOf(replicas []DenseValues) DenseValues {
	var params, running [][]float32
	for _, r := range replicas {
		params, running = append(params, r.Params), append(running, r.Running)
	}
	for _, values := range [][][]float32{params, running} {
		collective.Tree(values)
		for i := range values[0] {
			values[0][i] /= float32(len(values))
		}
	}
	return DenseValues{params[0], running[0]}
}
