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
type Prices struct {
	*Resolved
	Job      *job.Job
	Layout   *model.Layout
	Workload *Workload
	Plan     shard.Plan
	PSStates int // PSs as the roles see them
	batches  []BatchPrice
	oneByOne bool // the puts of a step are applied one after the other, not merged
}

// BatchPrice is what the work of a batch of one size costs, as far as it does
// not depend on how many distinct rows the batch has.
type BatchPrice struct {
	BatchSize
	Split, Pool               device.HostCost
	Forward, Backward, Update unit.Tick
}

// NewPrices returns what the work of a job costs on hardware at one position of its ranges. Fold makes one state
// machine stand for all embedding PSs.
func NewPrices(r *Resolved, t *job.Job, layout *model.Layout, w *Workload, fold bool) *Prices {
	placed := *t
	placed.Roles.EmbeddingPSs = r.PSHostCount * r.PSsPerHost
	p := &Prices{Resolved: r, Job: t, Layout: layout, Workload: w, Plan: placed.ShardPlan(), batches: make([]BatchPrice, 0, 2)}
	p.PSStates = p.Plan.Servers()
	if rule, err := t.Rule(); err == nil {
		p.oneByOne = rule.InStep() && !t.MergeByStep()
	}
	if fold {
		p.PSStates = 1
	}
	return p
}

// Batch returns the prices of a batch of some samples. Few sizes occur in a run:
// ranks' parts of a global batch differ by one sample at most, and the last step
// of an epoch may be short.
func (p *Prices) Batch(samples int32) *BatchPrice {
	for i := range p.batches {
		if p.batches[i].Samples == samples {
			return &p.batches[i]
		}
	}
	s := newBatchSize(p.Job, p.Workload, p.Layout, samples, p.Plan, p.PSStates)
	ids := float64(p.idTime) * s.rowOccurrences
	values := float64(valueBytes * p.Workload.RowDim)
	p.batches = append(p.batches, BatchPrice{
		BatchSize: s,
		// Every id is hashed and put into its PS's list.
		Split: p.EWHost.CopyCost(s.IDBytes).Add(device.HostCost{Core: unit.Tick(math.Round(ids))}),
		// Every occurrence adds its row to its sample's sum.
		Pool:     p.EWHost.CopyCost(bytesOf(values * s.rowOccurrences)),
		Forward:  p.Accelerator.Time(p.kernel(1, samples)),
		Backward: p.Accelerator.Time(p.kernel(2, samples)),
		Update:   p.Accelerator.Time(p.updateKernel()),
	})
	return &p.batches[len(p.batches)-1]
}

// Merge is the cost of adding every occurrence's gradient to its row's.
func (p *Prices) Merge(samples int32, distinct float64) device.HostCost {
	return p.EWHost.CopyCost(bytesOf(float64(valueBytes*p.Workload.RowDim) * (p.Batch(samples).rowOccurrences + distinct)))
}

// ReadRows is the cost of a lookup on one PS. It leaves the optimizer's state
// alone.
func (p *Prices) ReadRows(rows float64) device.HostCost {
	return p.PSHost.RowCost(device.Rows{Count: int64(math.Round(rows)), Bytes: p.Workload.RowBytes}).
		Add(p.PSHost.CopyCost(bytesOf(float64(valueBytes*p.Workload.RowDim) * rows)))
}

// Apply is the cost of one optimizer step of rows on one PS.
func (p *Prices) Apply(rows float64) device.HostCost {
	return p.PSHost.RowCost(device.Rows{
		Count: int64(math.Round(rows)), Bytes: p.Workload.RowBytes + p.Workload.RowState, Write: true,
	})
}

// kernel is a pass over a batch: forward (1) or backward (2: two products where
// forward has one, as many launches and bytes again).
func (p *Prices) kernel(passes int, samples int32) device.Kernel {
	c := &p.Layout.Cost
	flops := c.ForwardFLOPs
	if passes == 2 {
		flops = c.BackwardFLOPs
	}
	bytes := c.ActivationBytes*unit.Bytes(samples) + unit.Bytes(valueBytes*p.Layout.Params)
	return device.Kernel{
		Launches: passes * c.Kernels, FLOPs: flops * unit.FLOPs(samples), Bytes: unit.Bytes(passes) * bytes,
		Precision: p.precision,
	}
}

// updateKernel is the dense optimizer: a launch for every tensor; parameters
// and state are read and written, gradients read.
func (p *Prices) updateKernel() device.Kernel {
	return device.Kernel{
		Launches: max(1, len(p.Layout.Tensors)), FLOPs: unit.FLOPs(2 * p.Layout.Params),
		Bytes: p.updateBytes(p.Layout.Params),
	}
}

// sweep is a kernel that passes over the dense parameters so many times.
func (p *Prices) sweep(passes int) device.Kernel {
	return device.Kernel{Launches: 1, Bytes: unit.Bytes(valueBytes * p.Layout.Params * passes), Precision: p.precision}
}

// ApplyPush is the cost of pushes that a dense PS with a shard of some bytes applies as
// one: they are added up, and the optimizer reads the gradient and reads and writes
// parameters and state.
func (p *Prices) ApplyPush(shard unit.Bytes, pushes int) device.HostCost {
	if pushes == 0 {
		return device.HostCost{}
	}
	cost := p.PSHost.CopyCost(p.updateBytes(int(shard/valueBytes)) / 2) // a copy reads and writes
	for range pushes - 1 {
		cost = cost.Add(p.PSHost.CopyCost(shard))
	}
	return cost
}

// updateBytes returns what an update of some parameters reads and writes.
func (p *Prices) updateBytes(params int) unit.Bytes {
	return unit.Bytes(valueBytes * (3*params + 2*p.Job.Model.Optimizer.StateSize(params)))
}

// ReadBatch is the cost of a global batch at the loader: ids and values are decoded
// and copied once.
func (p *Prices) ReadBatch(n int) device.HostCost {
	ids := p.Workload.Occurrences * float64(n)
	bytes := bytesOf(signBytes*ids) + unit.Bytes(valueBytes*(p.Layout.DenseWidth+p.Workload.Labels)*n)
	return p.LoaderHost.CopyCost(bytes).Add(device.HostCost{Core: unit.Tick(math.Round(float64(p.idTime) * ids))})
}

// ApplyStep is the cost of applying several puts together on one PS, where puts has the
// rows of each: they are added up and every distinct row is updated once, or,
// where merging is by rank, one put after the other is applied. How many rows
// ranks share is always the workload's expectation.
func (p *Prices) ApplyStep(samples int, puts []float64) device.HostCost {
	var each device.HostCost
	var values unit.Bytes
	sum := 0.0
	for _, rows := range puts {
		each = each.Add(p.Apply(rows))
		values += bytesOf(float64(valueBytes*p.Workload.RowDim) * rows)
		sum += rows
	}
	if p.oneByOne {
		return each
	}
	distinct := min(sum, p.Batch(int32(samples)).RowsPerPS)
	return p.Apply(distinct).Add(p.PSHost.CopyCost(values))
}

// Samples returns a rank's part of a global batch, as batch.Cut cuts it.
func (p *Prices) Samples(rank, global int) int32 {
	ranks := p.Job.Roles.Ranks
	return int32((rank+1)*global/ranks - rank*global/ranks)
}

// BucketEnds returns, for every bucket, the share of backward after which it is
// final, in proportion to parameters, as the FLOPs of linear layers are.
func BucketEnds(layout *model.Layout) []float64 {
	ends := make([]float64, len(layout.Buckets))
	sum := 0
	for i, b := range layout.Buckets {
		sum += b.Hi - b.Lo
		ends[i] = float64(sum) / float64(layout.Params)
	}
	return ends
}
