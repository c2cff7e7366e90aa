package cluster

import (
	"math"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/shard"
	"tandem/algo/unit"
	"tandem/sim/device"
)

// prices is what the work of one job costs on one cluster.
type prices struct {
	*resolved
	training *job.Job
	layout   *model.Layout
	workload *Workload
	plan     shard.Plan
	states   int // PSs as the roles see them
	batches  []batchPrice
	oneByOne bool // the puts of a step are applied one after the other, not merged
}

// batchPrice is what the work of a batch of one size costs, as far as it does
// not depend on how many distinct rows the batch has.
type batchPrice struct {
	shape
	split, pool               device.HostCost
	forward, backward, update unit.Tick
}

func newPrices(r *resolved, t *job.Job, layout *model.Layout, w *Workload, fold bool) *prices {
	placed := *t
	placed.Roles.EmbeddingPS = r.servers * r.serversPerHost
	p := &prices{resolved: r, training: t, layout: layout, workload: w, plan: placed.ShardPlan(), batches: make([]batchPrice, 0, 2)}
	p.states = p.plan.Servers()
	if rule, err := t.Rule(); err == nil {
		p.oneByOne = rule.InStep() && !t.MergeByStep()
	}
	if fold {
		p.states = 1
	}
	return p
}

// batch returns the prices of a batch of some samples. Few sizes occur in a run:
// ranks' parts of a global batch differ by one sample at most, and the last step
// of an epoch may be short.
func (p *prices) batch(samples int32) *batchPrice {
	for i := range p.batches {
		if p.batches[i].samples == samples {
			return &p.batches[i]
		}
	}
	s := newShape(p.training, p.workload, p.layout, samples, p.plan, p.states)
	ids := float64(p.idTime) * s.named
	values := float64(valueBytes * p.workload.RowDim)
	p.batches = append(p.batches, batchPrice{
		shape: s,
		// Every id is hashed and put into its PS's list.
		split: p.workerHost.CopyCost(s.idBytes).Add(device.HostCost{Core: unit.Tick(math.Round(ids))}),
		// Every occurrence adds its row to its sample's sum.
		pool:     p.workerHost.CopyCost(bytesOf(values * s.named)),
		forward:  p.device.Time(p.kernel(1, samples)),
		backward: p.device.Time(p.kernel(2, samples)),
		update:   p.device.Time(p.updateKernel()),
	})
	return &p.batches[len(p.batches)-1]
}

// merge is the cost of adding every occurrence's gradient to its row's.
func (p *prices) merge(samples int32, distinct float64) device.HostCost {
	return p.workerHost.CopyCost(bytesOf(float64(valueBytes*p.workload.RowDim) * (p.batch(samples).named + distinct)))
}

// readRows is the cost of a lookup on one PS. It leaves the optimizer's state
// alone.
func (p *prices) readRows(rows float64) device.HostCost {
	return p.parameterHost.RowCost(device.Rows{Count: int64(math.Round(rows)), Bytes: p.workload.RowBytes}).
		Add(p.parameterHost.CopyCost(bytesOf(float64(valueBytes*p.workload.RowDim) * rows)))
}

// apply is the cost of one optimizer step of rows on one PS.
func (p *prices) apply(rows float64) device.HostCost {
	return p.parameterHost.RowCost(device.Rows{
		Count: int64(math.Round(rows)), Bytes: p.workload.RowBytes + p.workload.RowState, Write: true,
	})
}

// kernel is a pass over a batch: forward (1) or backward (2: two products where
// forward has one, as many launches and bytes again).
func (p *prices) kernel(passes int, samples int32) device.Kernel {
	c := &p.layout.Cost
	flops := c.ForwardFLOPs
	if passes == 2 {
		flops = c.BackwardFLOPs
	}
	bytes := c.ActivationBytes*unit.Bytes(samples) + unit.Bytes(valueBytes*p.layout.Params)
	return device.Kernel{
		Launches: passes * c.Kernels, FLOPs: flops * unit.FLOPs(samples), Bytes: unit.Bytes(passes) * bytes,
		Precision: p.precision,
	}
}

// updateKernel is the dense optimizer: a launch for every tensor; parameters
// and state are read and written, gradients read.
func (p *prices) updateKernel() device.Kernel {
	return device.Kernel{
		Launches: max(1, len(p.layout.Tensors)), FLOPs: unit.FLOPs(2 * p.layout.Params),
		Bytes: p.updateBytes(p.layout.Params),
	}
}

// sweep is a kernel that passes over the dense parameters so many times.
func (p *prices) sweep(passes int) device.Kernel {
	return device.Kernel{Launches: 1, Bytes: unit.Bytes(valueBytes * p.layout.Params * passes), Precision: p.precision}
}

// applyPush is the cost of pushes that a dense PS with a shard of some bytes applies as
// one: they are added up, and the optimizer reads the gradient and reads and writes
// parameters and state.
func (p *prices) applyPush(shard unit.Bytes, pushes int) device.HostCost {
	if pushes == 0 {
		return device.HostCost{}
	}
	cost := p.parameterHost.CopyCost(p.updateBytes(int(shard/valueBytes)) / 2) // a copy reads and writes
	for range pushes - 1 {
		cost = cost.Add(p.parameterHost.CopyCost(shard))
	}
	return cost
}

// updateBytes returns what an update of some parameters reads and writes.
func (p *prices) updateBytes(params int) unit.Bytes {
	return unit.Bytes(valueBytes * (3*params + 2*p.training.Model.Optimizer.StateSize(params)))
}

// read is the cost of a global batch at the loader: ids and values are decoded
// and copied once.
func (p *prices) read(n int) device.HostCost {
	ids := p.workload.Occurrences * float64(n)
	bytes := bytesOf(signBytes*ids) + unit.Bytes(valueBytes*(p.layout.DenseWidth+p.workload.Labels)*n)
	return p.loaderHost.CopyCost(bytes).Add(device.HostCost{Core: unit.Tick(math.Round(float64(p.idTime) * ids))})
}

// applyStep is the cost of applying several puts together on one PS, where puts has the
// rows of each: they are added up and every distinct row is updated once, or,
// where merging is by rank, one put after the other is applied. How many rows
// ranks share is always the workload's expectation.
func (p *prices) applyStep(samples int, puts []float64) device.HostCost {
	var each device.HostCost
	var values unit.Bytes
	sum := 0.0
	for _, rows := range puts {
		each = each.Add(p.apply(rows))
		values += bytesOf(float64(valueBytes*p.workload.RowDim) * rows)
		sum += rows
	}
	if p.oneByOne {
		return each
	}
	distinct := min(sum, p.batch(int32(samples)).memberRows)
	return p.apply(distinct).Add(p.parameterHost.CopyCost(values))
}

// samples returns a rank's part of a global batch, as batch.Cut cuts it.
func (p *prices) samples(rank, global int) int32 {
	ranks := p.training.Roles.Ranks
	return int32((rank+1)*global/ranks - rank*global/ranks)
}

// bucketEnds returns, for every bucket, the share of backward after which it is
// final, in proportion to parameters, as the FLOPs of linear layers are.
func bucketEnds(layout *model.Layout) []float64 {
	ends := make([]float64, len(layout.Buckets))
	sum := 0
	for i, b := range layout.Buckets {
		sum += b.Hi - b.Lo
		ends[i] = float64(sum) / float64(layout.Params)
	}
	return ends
}
