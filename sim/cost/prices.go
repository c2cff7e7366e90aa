package cost

import (
	"math"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/shard"
	"tandem/algo/numeric/table"
	"tandem/algo/unit"
	"tandem/sim/device"
	"tandem/sim/system"
)

// Prices is the cost of the work of one job on one cluster at one position of all ranges.
type Prices struct {
	*Resolved
	Job      *job.Job
	Layout   *model.Layout
	Workload *Workload
	by       placement // of Workload
	Plan     shard.Plan
	PSStates int // embedding PSs that the roles see
	batches  []BatchPrice
	// hotUpdates are the known results of HotUpdate.
	hotUpdates map[hotUpdate]unit.Tick
	oneByOne   bool // puts of a step are applied one by one, not merged
	// Of rows that are alike: their only class, and the waits.
	alike []batchClass
	waits rowWaits
}

// rowWaits is how long a core of a PS waits for memory at a row that it reads or updates, in nanoseconds, in
// the mean over the rows of a batch.
type rowWaits struct{ read, update float64 }

// BatchPrice is the cost of the work on a batch of one size, as far as it does not depend on the number of
// distinct rows.
type BatchPrice struct {
	BatchSize
	device                    int // of Devices
	Split, Pool               device.HostCost
	Forward, Backward, Update unit.Tick
	// What hot rows add: see hotPrices.
	HotForward, HotBackward   unit.Tick
	ForwardHost, BackwardHost unit.Tick // of the host thread that launches them
	waits                     rowWaits
	Rows                      *GPURows // nil unless rows are on GPUs
}

// NewPrices returns the prices of a job on hardware at one position. If fold is set, one state machine stands
// for all embedding PSs.
func NewPrices(r *Resolved, t *job.Job, layout *model.Layout, w *Workload, fold bool) *Prices {
	placed := *t
	placed.Roles.EmbeddingPSs = r.PSHostCount * r.EmbeddingPSs.PerHost
	p := &Prices{
		Resolved: r, Job: t, Layout: layout, Workload: w, Plan: placed.ShardPlan(),
		by:      w.placedBy(t, layout.EmbeddingWidth),
		batches: make([]BatchPrice, 0, 2*len(r.Devices)), hotUpdates: map[hotUpdate]unit.Tick{},
	}
	p.PSStates = p.Plan.Servers()
	if rule, err := t.Rule(); err == nil {
		p.oneByOne = rule.InStep() && !t.MergeByStep()
	}
	if fold {
		p.PSStates = 1
	}
	if len(p.by.ps.Classes) == 0 {
		p.alike = p.by.ps.alike(0)
		p.waits = p.waitsOf(p.alike, float64(max(1, p.PSHostCount)), p.by.ps.psRows())
	}
	return p
}

// waitsOf returns how long a core waits at a row of some classes, where there are a number of rows on a
// number of hosts: as many dependent accesses as the system has misses or, on a machine whose memory was
// measured, what device.Host.RowTime says. A machine whose rows were timed as a whole has no waits apart.
func (p *Prices) waitsOf(classes []batchClass, hosts, all float64) (w rowWaits) {
	if p.machine != nil && p.machine.Access != nil {
		var reads, updates []device.Region
		for _, c := range classes {
			rows := p.rowsOf(&c, all)
			index := device.Region{Bytes: bytesOf(rows * table.IndexBytes / hosts), Touches: c.share,
				Behind: table.Displaced(int(rows / hosts))}
			row := table.HeaderBytes + c.Bytes + c.State
			memory := device.Region{Bytes: bytesOf(rows * float64(row) / hosts), Touches: c.share}
			memory.Next = linesBehind(row-c.State, row) // a read leaves the state, which is behind
			reads = append(reads, index, memory)
			memory.Next, memory.Write = linesBehind(row, row), true
			updates = append(updates, memory) // the read has found where they are
		}
		return rowWaits{1e9 * p.PSHost.RowTime(reads...), 1e9 * p.PSHost.RowTime(updates...)}
	}
	if p.PSHost.MemoryLatency == 0 {
		return w
	}
	held := 0.0
	for _, c := range classes {
		held += p.rowsOf(&c, all) * float64(c.Bytes+c.State+table.Overhead)
	}
	access := 1e9 * p.PSHost.Access(bytesOf(held/hosts)).Time
	ps := &p.System.EmbeddingPS
	return rowWaits{float64(ps.Read.Misses.Mid) * access, float64(ps.Update.Misses.Mid) * access}
}

// rowsOf returns how many of a number of rows are of a class.
func (p *Prices) rowsOf(c *batchClass, all float64) float64 {
	if len(p.by.ps.Classes) == 0 || p.by.ps.Rows == 0 {
		return all
	}
	return all * c.Rows / p.by.ps.Rows
}

// classes returns what batches of a size have of every class of rows.
func (p *Prices) classes(samples int32) ([]batchClass, rowWaits) {
	if len(p.by.ps.Classes) == 0 {
		return p.alike, p.waits
	}
	b := p.Batch(samples)
	return b.classes, b.waits
}

// linesBehind returns the number of cache lines that the first bytes of a row reach behind the first line,
// in the mean over rows that lie one behind the other from the start of a line.
func linesBehind(bytes, row unit.Bytes) float64 {
	const line = 64
	sum := unit.Bytes(0)
	for i := range unit.Bytes(line) { // the offsets repeat after at most a line of rows
		sum += (i*row%line + bytes - 1) / line
	}
	return float64(sum) / line
}

// Batch returns the prices of a batch, on the first of Devices.
func (p *Prices) Batch(samples int32) *BatchPrice { return p.BatchOn(0, samples) }

// BatchOn returns the prices of a batch on one of Devices. Few sizes occur in a run: the parts of the ranks
// in a global batch differ by at most one sample, and the last step of an epoch may be shorter.
func (p *Prices) BatchOn(on int, samples int32) *BatchPrice {
	for i := range p.batches {
		if p.batches[i].Samples == samples && p.batches[i].device == on {
			return &p.batches[i]
		}
	}
	a := p.Devices[on]
	s := newBatchSize(p.Job, p.Workload, p.Layout, samples, p.Plan, p.PSStates)
	ew := &p.System.EmbeddingWorker
	values := p.by.ps.namedDim() * s.rowOccurrences
	pooled := float64(p.by.psWidth) * float64(samples)
	hot := p.hotPrices(a, &s)
	waits := p.waits
	if len(p.by.ps.Classes) > 0 {
		waits = p.waitsOf(s.classes, float64(max(1, p.PSHostCount)), p.by.ps.psRows())
	}
	p.batches = append(p.batches, BatchPrice{
		BatchSize: s, device: on, waits: waits,
		// Every id that is not passed on is hashed and added to the list of its PS.
		Split: p.EWHost.CopyCost(s.resolvedBytes).Add(coreCost(p.EWHost,
			float64(ew.IDTime.Mid)*s.rowOccurrences)).Add(hot.split),
		// Every occurrence adds a row to the sum of a sample.
		Pool: memoryCost(p.EWHost, valueBytes*values).Add(coreCost(p.EWHost,
			float64(ew.PoolIDTime.Mid)*s.rowOccurrences+float64(ew.PoolValueTime.Mid)*values+
				float64(ew.ConvertTime.Mid)*(pooled-hot.notPooled))).Add(hot.pool),
		HotForward: hot.forward, HotBackward: hot.backward,
		Forward:  a.Time(p.kernel(1, samples)),
		Backward: a.Time(p.kernel(2, samples)),
		Update:   a.Time(p.updateKernel()),

		ForwardHost: p.hostTime(p.Layout.Cost.Kernels + hot.launches.forward),
		BackwardHost: p.hostTime(2*p.Layout.Cost.Kernels + max(1, len(p.Layout.Tensors)) +
			hot.launches.backward),
		Rows: p.gpuRows(a, &s),
	})
	b := &p.batches[len(p.batches)-1]
	if p.by.mixed { // the EW moves the columns of slots on PSs together
		b.Pool = b.Pool.Add(memoryCost(p.EWHost, valueBytes*pooled))
	}
	return b
}

// coreCost is core time of a host, given for a core of speed 1.
func coreCost(h *device.Host, nanos float64) device.HostCost {
	return device.HostCost{Core: unit.Tick(math.Ceil(nanos / h.CoreSpeed))}
}

// memoryCost is the memory's part of reading bytes and writing as many.
func memoryCost(h *device.Host, bytes float64) device.HostCost {
	return device.HostCost{Memory: h.CopyCost(bytesOf(bytes)).Memory}
}

// Merge returns the cost of adding the gradient of every occurrence to the gradient of its row. Occurrences
// of hot rows are ordered with the others, but not added. Rows on GPUs leave nothing to an EW. Where other
// rows are there, gradients are first moved to their places among those of all slots.
func (p *Prices) Merge(samples int32, distinct float64) device.HostCost {
	ew, s := &p.System.EmbeddingWorker, p.Batch(samples)
	values := p.by.ps.namedDim() * (s.rowOccurrences - s.Hot.Occurrences)
	pooled, moved := float64(p.by.psWidth)*float64(samples), 0.0
	if p.Workload.HasHotRows() {
		pooled = s.Hot.ToEW
	}
	if p.by.mixed {
		moved = pooled
	}
	return memoryCost(p.EWHost,
		valueBytes*(values+dimOf(s.classes)*distinct+moved)).Add(coreCost(p.EWHost,
		float64(ew.MergeIDTime.Mid)*s.rowOccurrences+float64(ew.MergeValueTime.Mid)*values+
			float64(ew.ConvertTime.Mid)*pooled))
}

// ReadRows returns the cost of a lookup of rows on one PS, of batches of a size. It does not touch the
// optimizer's state.
func (p *Prices) ReadRows(rows float64, samples int32) device.HostCost {
	classes, waits := p.classes(samples)
	var cost device.HostCost
	for _, c := range classes {
		cost = cost.Add(p.rowWork(&p.System.EmbeddingPS.Read, c.Dim, rows*c.share, waits.read,
			c.Bytes, false))
	}
	return cost
}

// CreateRows returns the extra cost of a lookup, some of whose rows do not exist yet: in batches of a size,
// their share is the mean over the training.
func (p *Prices) CreateRows(rows float64, samples int32) device.HostCost {
	create := &p.System.EmbeddingPS.Create
	nanos := 0.0
	for _, c := range p.Batch(samples).classes {
		nanos += rows * c.share * c.fresh *
			(float64(create.RowTime.Mid) + float64(create.ValueTime.Mid)*float64(c.Dim))
	}
	return coreCost(p.PSHost, nanos)
}

// Apply returns the cost of one optimizer step of rows on one PS, of batches of a size.
func (p *Prices) Apply(rows float64, samples int32) device.HostCost {
	classes, waits := p.classes(samples)
	var cost device.HostCost
	for _, c := range classes {
		cost = cost.Add(p.rowWork(&p.System.EmbeddingPS.Update, c.Dim, rows*c.share, waits.update,
			c.Bytes+c.State, true))
	}
	return cost
}

// rowWork prices rows of one class, which have dim values, on a PS: the core time of the system's code, the
// wait for the memory of each, and the traffic of the memory.
func (p *Prices) rowWork(w *system.RowWork, dim int, rows, wait float64, bytes unit.Bytes,
	write bool) device.HostCost {
	cost := coreCost(p.PSHost,
		rows*(float64(w.RowTime.Mid)+float64(w.ValueTime.Mid)*float64(dim)))
	cost.Wait = unit.Tick(math.Ceil(rows * wait))
	cost.Core += cost.Wait
	cost.Memory = p.PSHost.RowTraffic(device.Rows{
		Count: int64(math.Round(rows)), Bytes: bytes, Write: write,
	})
	return cost
}

// Message returns the cost of one end of a message on a host. A payload is serialised and, if it crosses a
// network, copied.
func (p *Prices) Message(h *device.Host, payload unit.Bytes, remote bool) device.HostCost {
	m := &p.System.Messages
	cost := coreCost(h, float64(m.Time.Mid)+float64(m.ByteTime.Mid)*float64(payload))
	if remote {
		cost = cost.Add(h.CopyCost(payload))
	}
	return cost
}

// hostTime returns the time of the host thread of a rank for a pass over a batch: half of that for a step and
// its slot tensors, which it hands to the accelerator before forward and takes back after backward, and for
// launches that are not in a captured graph.
func (p *Prices) hostTime(launches int) unit.Tick {
	w := &p.System.NNWorker
	nanos := (float64(w.StepTime.Mid)+float64(w.SlotTime.Mid)*float64(p.Workload.Slots))/2 +
		float64(w.LaunchTime.Mid)*float64(launches)*(1-w.Captured.Mid)
	return unit.Tick(math.Ceil(nanos / p.ServerHost.CoreSpeed))
}

// kernel returns the kernel of a pass over a batch: forward (1) or backward (2). For each product of forward,
// backward has two, with the same launches and bytes each.
func (p *Prices) kernel(passes int, samples int32) device.Kernel {
	c := &p.Layout.Cost
	flops := c.ForwardFLOPs
	if passes == 2 {
		flops = c.BackwardFLOPs
	}
	bytes := p.activations(samples) + unit.Bytes(valueBytes*p.Layout.Params)
	return device.Kernel{
		Launches: passes * c.Kernels, FLOPs: flops * unit.FLOPs(samples), Bytes: unit.Bytes(passes) * bytes,
		Precision: p.Precision,
	}
}

// activations returns the bytes of the activations of a number of samples, in the precision of the products.
func (p *Prices) activations(samples int32) unit.Bytes {
	bytes := p.Layout.Cost.ActivationBytes * unit.Bytes(samples)
	if p.Precision == device.Half {
		bytes /= 2
	}
	return bytes
}

// updateKernel returns the kernel of the dense optimizer: one launch per tensor, which reads and writes
// parameters and state and reads gradients.
func (p *Prices) updateKernel() device.Kernel {
	return device.Kernel{
		Launches: max(1, len(p.Layout.Tensors)), FLOPs: unit.FLOPs(2 * p.Layout.Params),
		Bytes: p.updateBytes(p.Layout.Params),
	}
}

// SweepTime returns the time of a kernel on one of Devices that passes over the dense parameters a number of
// times.
func (p *Prices) SweepTime(on, passes int) unit.Tick {
	bytes := unit.Bytes(valueBytes * p.Layout.Params * passes)
	return p.Devices[on].Time(device.Kernel{Launches: 1, Bytes: bytes, Precision: p.Precision})
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
	l := &p.System.Loader
	return p.LoaderHost.CopyCost(bytes).Add(coreCost(p.LoaderHost,
		float64(l.IDTime.Mid)*ids+float64(l.BatchTime.Mid)*float64(p.Job.Roles.Ranks)))
}

// ApplyStep returns the cost of applying several puts together on one PS; puts has the number of rows of
// each. The PS adds the puts up and updates every distinct row once, or, if merging is by rank, applies one
// put after the other. The number of rows that ranks share is always the workload's expectation.
func (p *Prices) ApplyStep(samples int, puts []float64) device.HostCost {
	var each device.HostCost
	var values unit.Bytes
	sum, part := 0.0, max(p.Samples(0, samples), 1) // of a rank: a short last step leaves out some
	classes, _ := p.classes(part)
	for _, rows := range puts {
		each = each.Add(p.Apply(rows, part))
		values += bytesOf(valueBytes * dimOf(classes) * rows)
		sum += rows
	}
	if p.oneByOne {
		return each
	}
	distinct := min(sum, p.Batch(int32(samples)).HottestRows)
	return p.Apply(distinct, int32(samples)).Add(p.PSHost.CopyCost(values))
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
