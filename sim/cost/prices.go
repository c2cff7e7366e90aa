package cost

import (
	"math"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/shard"
	"tandem/algo/unit"
	"tandem/sim/device"
)

// Prices is the cost of the work of one job on one cluster at one position of all ranges.
type Prices struct {
	*Resolved
	Job      *job.Job
	Layout   *model.Layout
	Workload *Workload
	Plan     shard.Plan
	PSStates int // embedding PSs that the roles see
	batches  []BatchPrice
	oneByOne bool // puts of a step are applied one by one, not merged
}

// BatchPrice is the cost of the work on a batch of one size, as far as it does not depend on the number of
// distinct rows.
type BatchPrice struct {
	BatchSize
	Split, Pool               device.HostCost
	Forward, Backward, Update unit.Tick
	// ForwardHost and BackwardHost are the times of the rank's thread on the host before the kernels of a
	// pass.
	ForwardHost, BackwardHost unit.Tick
}

// NewPrices returns the prices of a job on hardware at one position. If fold is set, one state machine stands
// for all embedding PSs.
func NewPrices(r *Resolved, t *job.Job, layout *model.Layout, w *Workload, fold bool) *Prices {
	placed := *t
	placed.Roles.EmbeddingPSs = r.PSHostCount * r.PSsPerHost
	p := &Prices{
		Resolved: r, Job: t, Layout: layout, Workload: w, Plan: placed.ShardPlan(),
		batches: make([]BatchPrice, 0, 2),
	}
	p.PSStates = p.Plan.Servers()
	if rule, err := t.Rule(); err == nil {
		p.oneByOne = rule.InStep() && !t.MergeByStep()
	}
	if fold {
		p.PSStates = 1
	}
	return p
}

// Batch returns the prices of a batch. Few sizes occur in a run: the parts of the ranks in a global batch
// differ by at most one sample, and the last step of an epoch may be shorter.
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
		// Every id is hashed and added to the list of its PS.
		Split: p.EWHost.CopyCost(s.IDBytes).Add(device.HostCost{Core: unit.Tick(math.Round(ids))}),
		// Every occurrence adds a row to the sum of a sample.
		Pool:     p.EWHost.CopyCost(bytesOf(values * s.rowOccurrences)),
		Forward:  p.Accelerator.Time(p.kernel(1, samples)),
		Backward: p.Accelerator.Time(p.kernel(2, samples)),
		Update:   p.Accelerator.Time(p.updateKernel()),
	})
	return &p.batches[len(p.batches)-1]
}

// Merge returns the cost of adding the gradient of every occurrence to the gradient of its row.
func (p *Prices) Merge(samples int32, distinct float64) device.HostCost {
	rows := p.Batch(samples).rowOccurrences + distinct
	return p.EWHost.CopyCost(bytesOf(float64(valueBytes*p.Workload.RowDim) * rows))
}

// ReadRows returns the cost of a lookup on one PS. It does not touch the optimizer's state.
func (p *Prices) ReadRows(rows float64) device.HostCost {
	return p.PSHost.RowCost(device.Rows{Count: int64(math.Round(rows)), Bytes: p.Workload.RowBytes}).
		Add(p.PSHost.CopyCost(bytesOf(float64(valueBytes*p.Workload.RowDim) * rows)))
}

// Apply returns the cost of one optimizer step of rows on one PS.
func (p *Prices) Apply(rows float64) device.HostCost {
	return p.PSHost.RowCost(device.Rows{
		Count: int64(math.Round(rows)), Bytes: p.Workload.RowBytes + p.Workload.RowState, Write: true,
	})
}

// kernel returns the kernel of a pass over a batch: forward (1) or backward (2). For each product of forward,
// backward has two, with the same launches and bytes each.
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

// updateKernel returns the kernel of the dense optimizer: one launch per tensor, which reads and writes
// parameters and state and reads gradients.
func (p *Prices) updateKernel() device.Kernel {
	return device.Kernel{
		Launches: max(1, len(p.Layout.Tensors)), FLOPs: unit.FLOPs(2 * p.Layout.Params),
		Bytes: p.updateBytes(p.Layout.Params),
	}
}

// SweepTime returns the time of a kernel that passes over the dense parameters a number of times.
func (p *Prices) SweepTime(passes int) unit.Tick {
	bytes := unit.Bytes(valueBytes * p.Layout.Params * passes)
	return p.Accelerator.Time(device.Kernel{Launches: 1, Bytes: bytes, Precision: p.precision})
}

// ApplyPush returns the cost of pushes that a dense PS applies together to a shard: the PS adds the pushes
// up, and the optimizer reads the gradient and reads and writes parameters and state.
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

// updateBytes returns the number of bytes that an update of parameters reads and writes.
func (p *Prices) updateBytes(params int) unit.Bytes {
	return unit.Bytes(valueBytes * (3*params + 2*p.Job.Model.Optimizer.StateSize(params)))
}

// ReadBatch returns the cost of reading a global batch of n samples at the data loader, which decodes and
// copies ids and values once.
func (p *Prices) ReadBatch(n int) device.HostCost {
	ids := p.Workload.Occurrences * float64(n)
	bytes := bytesOf(signBytes*ids) + unit.Bytes(valueBytes*(p.Layout.DenseWidth+p.Workload.Labels)*n)
	decode := device.HostCost{Core: unit.Tick(math.Round(float64(p.idTime) * ids))}
	return p.LoaderHost.CopyCost(bytes).Add(decode)
}

// ApplyStep returns the cost of applying several puts together on one PS; puts has the number of rows of
// each. The PS adds the puts up and updates every distinct row once, or, if merging is by rank, applies one
// put after the other. The number of rows that ranks share is always the workload's expectation.
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

// Samples returns the number of samples of a rank in a global batch, as batch.Cut divides it.
func (p *Prices) Samples(rank, global int) int32 {
	ranks := p.Job.Roles.Ranks
	return int32((rank+1)*global/ranks - rank*global/ranks)
}

// BucketEnds returns the share of backward after which each bucket is final. It is proportional to
// parameters, as are the FLOPs of linear layers.
func BucketEnds(layout *model.Layout) []float64 {
	ends := make([]float64, len(layout.Buckets))
	sum := 0
	for i, b := range layout.Buckets {
		sum += b.Hi - b.Lo
		ends[i] = float64(sum) / float64(layout.Params)
	}
	return ends
}
