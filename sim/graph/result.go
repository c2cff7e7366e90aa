package graph

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"tandem/algo/rng"
	"tandem/algo/unit"
	"tandem/sim/device"
	"tandem/sim/model"
)

// Result is what simulating a job showed.
type Result struct {
	GlobalBatch int
	StepTime    unit.Tick   // mean
	Steps       []unit.Tick // of each step after the warm-up
	Throughput  float64     // samples a second
	Parts       []Part      // of a step, in the order of the constants
	Exposed     unit.Tick   // of a step: a collective runs and no kernel
	Stations    []Station
	Bottlenecks []Bottleneck // the largest first
	Memory      Memory
	Placement   []Shard
	Ranks       []RankTables // what each rank has of the tables
	// Balance is the mean work of the ranks on tables, as a share of that of the rank with the most.
	Balance float64
	Step    *Step
	Events  int
}

// Part is a part of a step.
type Part struct {
	Name string
	// Time is the sum of its nodes' times when nothing else runs. Critical is its time on the critical path.
	Time, Critical unit.Tick
}

// Station is a stream with the share of time in which it worked.
type Station struct {
	Name string
	Busy float64
}

// Bottleneck is a resource with its share of the critical path.
type Bottleneck struct {
	Resource string
	Share    float64
}

// Run simulates a job. It is safe for concurrent use. The same job gives the same result.
func Run(ctx context.Context, j Job) (*Result, error) {
	if err := j.validate(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b, memory, plans, err := prepare(&j)
	if err != nil {
		return nil, err
	}
	b, trace, err := b.runFastest(plans)
	if err != nil {
		return nil, err
	}
	if j.Timeline != nil {
		*j.Timeline = trace.timeline()
	}
	b.account(memory)
	steps := j.Steps
	r := &Result{GlobalBatch: j.GlobalBatch, Memory: *memory, Placement: b.placer.shards(b.plan),
		Ranks: b.plan.ranks(j.GPUs), Balance: b.plan.mean / b.plan.peak, Step: &b.Step, Events: trace.Events}
	for i := range steps {
		r.Steps = append(r.Steps, trace.Ends[stepsWarm+i]-trace.Ends[stepsWarm+i-1])
	}
	total := float64(trace.Ends[stepsWarm+steps-1] - trace.Ends[stepsWarm-1])
	perStep := func(nanos float64) unit.Tick { return unit.Tick(math.Round(nanos / float64(steps))) }
	r.StepTime, r.Exposed = perStep(total), perStep(trace.Exposed)
	r.Throughput = float64(j.GlobalBatch) * float64(steps) * 1e9 / total
	times := map[string]unit.Tick{}
	for i := range b.Nodes {
		n := &b.Nodes[i]
		times[n.Part] += n.Time
		times[PartHost] += n.Launch
	}
	for _, name := range []string{PartHost, PartInput, PartCopy, PartEmbeddingForward, PartEmbeddingBackward,
		PartDenseForward, PartDenseBackward, PartAllToAll, PartAllReduce, PartOptimizer} {
		r.Parts = append(r.Parts, Part{name, times[name], perStep(trace.Parts[name])})
	}
	for s := range streams {
		r.Stations = append(r.Stations, Station{s.String(), trace.Busy[s] / total})
	}
	path := 0.0
	for _, name := range slices.Sorted(maps.Keys(trace.Resources)) {
		path += trace.Resources[name]
		r.Bottlenecks = append(r.Bottlenecks, Bottleneck{name, trace.Resources[name]})
	}
	for i := range r.Bottlenecks {
		r.Bottlenecks[i].Share /= path
	}
	r.Bottlenecks = slices.DeleteFunc(r.Bottlenecks, func(b Bottleneck) bool { return !(b.Share > 0) })
	slices.SortFunc(r.Bottlenecks, func(a, b Bottleneck) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Resource, b.Resource))
	})
	return r, nil
}

// runFastest runs the steps of every placement, and returns the one that ends first. Of many placements, only
// those with the fastest first steps run to the end.
func (b *builder) runFastest(plans []*plan) (fastest *builder, best Trace, err error) {
	if len(plans) > plansMost {
		took := map[*plan]unit.Tick{}
		for _, p := range plans {
			_, trace, err := b.runPlan(p, stepsFirst)
			if err != nil {
				return nil, best, err
			}
			took[p] = trace.took()
		}
		plans = slices.Clone(plans)
		slices.SortStableFunc(plans, func(x, y *plan) int { return cmp.Compare(took[x], took[y]) })
		plans = plans[:plansMost]
	}
	for _, p := range plans {
		x, trace, err := b.runPlan(p, b.job.Steps)
		if err != nil {
			return nil, best, err
		}
		if fastest == nil || trace.took() < best.took() {
			fastest, best = x, trace
		}
	}
	return fastest, best, nil
}

const (
	// plansMost is the number of placements of which all steps are simulated.
	plansMost = 16
	// stepsFirst is the number of steps by which more placements are compared. Without random factors, steps
	// take the same time.
	stepsFirst = 2
)

// runPlan runs some steps of a placement after the warm-up.
func (b *builder) runPlan(p *plan, steps int) (*builder, Trace, error) {
	x, j := *b, b.job
	x.plan = p
	if err := x.build(); err != nil {
		return nil, Trace{}, err
	}
	x.slowDown(j.Slow)
	var factors func(int) Factors
	if sigma := float64(j.System.NNWorker.Jitter.Mid); sigma > 0 {
		factors = slowest(sigma, j.GPUs, j.Seed, steps+stepsWarm)
	}
	return &x, x.Run(steps+stepsWarm, stepsWarm, factors), nil
}

// took returns the time of the steps after the warm-up.
func (t *Trace) took() unit.Tick { return t.Ends[len(t.Ends)-1] - t.Ends[stepsWarm-1] }

// account adds what the tables of the placement take to the memory.
func (b *builder) account(memory *Memory) {
	state, all := 0.0, 0.0
	for _, t := range b.placer.tables {
		state += t.Rows * float64(b.placer.optimizer.State(t.Dim))
		all += t.all()
	}
	memory.State = unit.Bytes(b.plan.bytes[0] * state / all)
	memory.Tables = unit.Bytes(b.plan.bytes[0]) - memory.State
	memory.HostTables = unit.Bytes(b.plan.bytes[1] + b.plan.bytes[2])
}

// prepare finds the placements of the tables that fit, and counts the memory beside the tables.
func prepare(j *Job) (*builder, *Memory, []*plan, error) {
	net, err := newNetwork(j.Cluster, j.System, j.GPUs)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("graph: %w", err)
	}
	local := (j.GlobalBatch + j.GPUs - 1) / j.GPUs
	b := &builder{job: j, net: net, local: float64(local), network: j.Model.Network()}
	b.Interference = j.System.NNWorker.InterferenceShare()
	host := &j.System.NNWorker
	b.launch = float64(host.LaunchTime.Mid) * (1 - min(1, host.Captured.Mid)) / speed(j.Cluster.Server)
	p := &placer{
		kernels: kernels{accelerator: j.Cluster.Accelerator, system: &j.System.EmbeddingKernels,
			precisions: &j.Precisions, optimizer: j.Model.Optimizers.Rows},
		net: net, cluster: j.Cluster, batch: float64(j.GlobalBatch), local: float64(local),
	}
	tables := j.Model.Tables()
	for i := range tables {
		t := placed{Table: &tables[i], row: float64(tables[i].RowBytes(j.Precisions.Rows,
			j.Model.Optimizers.Rows))}
		p.tables = append(p.tables, t)
	}
	if err := p.applyRules(j.Placement); err != nil {
		return nil, nil, nil, err
	}
	memory := b.memory(tables)
	p.room[0] = float64(memory.Capacity - memory.Reserve - memory.Dense - memory.Activations - memory.Buffers)
	if p.room[0] < 0 {
		return nil, nil, nil, fmt.Errorf("graph: of %v of an accelerator, %v are reserved, and the dense "+
			"network takes %v, "+
			"activations of %d samples %v, and batches %v: %w; use smaller batches", memory.Capacity,
			memory.Reserve, memory.Dense, local, memory.Activations, memory.Buffers, ErrMemory)
	}
	per := float64(net.perServer)
	reserve := float64(j.System.EmbeddingKernels.HostReserve.Mid)
	p.room[1] = float64(j.Cluster.Server.Memory) * (1 - reserve) / per
	p.room[2] = float64(j.Cluster.Server.SSD) / per
	b.placer = p
	plans, err := p.place()
	return b, memory, plans, err
}

// speed returns the speed of a host's core relative to that of which system software is priced.
func speed(h *device.Host) float64 {
	if h.CoreSpeed > 0 {
		return h.CoreSpeed
	}
	return 1
}

// memory counts what a rank needs beside its tables.
func (b *builder) memory(tables []model.Table) *Memory {
	j := b.job
	parameters := b.network.Parameters()
	m := &Memory{Capacity: j.Cluster.Accelerator.Memory}
	m.Reserve = unit.Bytes(reserveShare * float64(m.Capacity))
	m.Dense = 2*4*unit.Bytes(parameters) + j.Model.Optimizers.Dense.State(parameters)
	if j.Precisions.Activations != model.Float32 {
		m.Dense += 2 * unit.Bytes(parameters)
	}
	m.Activations = 2 * j.Precisions.Activations.Bytes() *
		unit.Bytes(int(b.local)*b.network.Values())
	ids, pooled := 0.0, 0.0
	for _, t := range tables {
		ids += idBytes*t.IDs + lengthBytes
		pooled += t.Values() * float64(j.Precisions.Wire.Bytes())
	}
	m.Buffers = unit.Bytes(b.local * (batchesInFlight*ids + 4*pooled))
	return m
}

// batchesInFlight are copied, exchanged and computed at the same time. Pooled rows and their gradients are
// there twice: before and after their all-to-all.
const batchesInFlight = 3

// slowest returns the factors on forward and backward of the slowest of some ranks in each step: the largest
// of as many lognormal factors with mean 1, drawn by inverting the distribution of the largest.
func slowest(sigma float64, ranks int, seed uint64, steps int) func(int) Factors {
	random := rand.New(rand.NewPCG(seed, rng.Key(seed, "sim/graph/jitter")))
	draw := func() float64 {
		u := math.Pow(random.Float64(), 1/float64(ranks)) // of the largest
		z := math.Sqrt2 * math.Erfinv(2*min(u, 1-1e-16)-1)
		return math.Exp(sigma*z - sigma*sigma/2)
	}
	list := make([]Factors, steps)
	for i := range list {
		list[i] = Factors{1, draw(), draw()}
	}
	return func(step int) Factors { return list[step] }
}
