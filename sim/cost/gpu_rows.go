package cost

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/unit"
	"tandem/sim/device"
)

// GPURows are the prices of a batch of a rank whose rows are on the GPUs (job.RowsOnGPU), or those of some
// slots. A rank alone has Find before its forward pass and Update behind its backward pass. Of several, each
// asks the owners of the rows for those of its batch, gets their values, and sends them the sums of their
// gradients: Find, the exchange of signs, Answer, the exchange of values and Pool come before its forward
// pass, and Sum, another exchange of values and Update behind the backward passes of all. Columns is behind
// the backward pass of a rank where slots have their rows on PSs: it takes the gradients for these from
// among those of all slots. What brings their embeddings there is part of Find or Pool.
//
// The work is that of package tandem/runtime/cuda/engine, kernel by kernel. Of the rows that all ranks ask
// for, every rank is taken to own as many as the one that is expected to own most.
type GPURows struct {
	// Staged is copied to the accelerator before Find: the signs of all rows that ids name, and the ends of
	// bags.
	Staged                                   unit.Bytes
	Find, Answer, Pool, Columns, Sum, Update GPUPart
	// Signs and Values are what a rank sends in an exchange of signs and in one of values, the part for
	// itself included. The wires are taken to move Fullest times as much.
	Signs, Values unit.Bytes
	Fullest       float64
	// Before an exchange, and behind it, the hosts take that long in all between kernels and bytes: waits for
	// accelerators and for each other, and the small copies and launches of the exchange.
	BeforeSigns, BeforeValues, BeforeSums unit.Tick
}

// GPUPart is work on the accelerator of a rank, with the time of the host thread that launches it.
type GPUPart struct {
	Host, Kernels unit.Tick
	Launches      int
}

// gpuBatch is what a batch of a rank has of the rows on GPUs. The numbers are expectations.
type gpuBatch struct{ named, distinct, fresh float64 }

// newGPUBatch returns what a number of samples have of the rows on GPUs.
func newGPUBatch(gpu *Workload, samples int32) gpuBatch {
	b := gpuBatch{named: gpu.RowsNamed() * float64(samples), distinct: gpu.Distinct(int(samples))}
	b.fresh = newShare(gpu.Created, gpu.Trained/float64(samples), b.distinct)
	return b
}

// rowsOfRank describes the rows of a rank's GPU, and those of its batch, for kernels.
type rowsOfRank struct {
	own     device.Indexed // of the batch, in the rank's table; of several ranks, in a table of copies
	asked   device.Indexed // that ranks ask for, in the rank's table
	room    float64        // occurrences that there is room for
	fullest float64
	copies  float64 // slots of the index of copies
	bags    float64

	ownPasses, askedPasses int // of the sorts of own and asked
}

// gpuRows returns the prices of a batch on an accelerator.
func (p *Prices) gpuRows(a *device.Accelerator, s *BatchSize) *GPURows {
	if !p.Job.HasRowsOnGPU() {
		return nil
	}
	r, columns := p.rowsOfRank(s), p.columns(s.Samples)
	g := &GPURows{Staged: bytesOf(signBytes*r.room + valueBytes*(r.bags+headWords)), Fullest: r.fullest}
	part := func(captured bool, kernels ...[]device.Kernel) (of GPUPart) {
		for _, k := range kernels {
			of.Kernels += a.TimeOf(k...)
			of.Launches += device.Launches(k...)
		}
		of.Host = p.launchTime(of.Launches, captured)
		return of
	}
	g.Columns = part(true, columns)
	if p.Job.Roles.Ranks == 1 {
		g.Find = part(true, a.Pool(r.own, true), a.Number(r.own), columns)
		g.Find.Host += p.hashTime(s.onGPU.named)
		g.Update = part(true, a.Sort(r.own.Lookups, r.ownPasses), a.Sum(r.own), a.Update(r.own))
		return g
	}
	g.Find = part(false, a.ClearIndex(r.copies), a.Note(r.own), a.Number(r.own), a.Deal(r.own))
	g.Find.Host += p.hashTime(s.onGPU.named)
	g.Answer = part(false, a.Answer(r.asked), a.Number(r.asked))
	g.Pool = part(true, a.Pool(r.own, false), columns)
	g.Sum = part(false, a.Sort(r.own.Lookups, r.ownPasses), a.Sum(r.own), a.Send(r.own))
	g.Update = part(false, a.Sort(r.asked.Lookups, r.askedPasses), a.Sum(r.asked), a.Update(r.asked))
	g.Update.Host += p.wakes(1) + p.HostLinkWire.Time(valueBytes) // what is not finite is seen
	g.Signs = bytesOf(signBytes * r.own.Distinct)
	g.Values = bytesOf(valueBytes * float64(r.own.Dim) * r.own.Distinct)
	numbers := p.HostLinkWire.Time(bytesOf(valueBytes * float64(p.Job.Roles.Ranks)))
	exchange := p.System.Collectives.LaunchTime.Mid
	g.BeforeSigns = exchange + p.wakes(4) + 2*numbers // counts and ends of what is asked cross the host link
	g.BeforeValues = exchange + p.wakes(2) + p.HostLinkWire.Time(3*valueBytes)
	g.BeforeSums = exchange + p.wakes(2)
	return g
}

// headWords is the number of words that go ahead of the ends of bags: how many rows are named, the learning
// rate, the samples of the step, and where the first bag begins.
const headWords = 5

// rowsOfRank returns what a batch of a rank has of the rows.
func (p *Prices) rowsOfRank(s *BatchSize) (r rowsOfRank) {
	c, ranks, w := p.Job.RowsConfig(), p.Job.Roles.Ranks, p.by.gpu
	r.room, r.bags = w.gpuRoom(s.Samples), float64(w.Slots)*float64(s.Samples)
	held := float64(c.Most())
	if rows := w.RowsMade(); rows > 0 {
		held = min(held, rows/float64(ranks))
	}
	groups := max(1, p.Job.GroupsPerRank())
	named, distinct := s.onGPU.named, min(s.onGPU.distinct, s.onGPU.named)
	r.own = device.Indexed{Lookups: named, Distinct: distinct, New: s.onGPU.fresh * distinct,
		Outputs: max(r.bags, float64(p.Layout.EmbeddingWidth-p.by.psWidth)*float64(s.Samples)/float64(c.Dim)),
		Groups:  groups, Dim: c.Dim, State: c.Optimizer.StateSize(c.Dim),
		Probes: probes(held, c.Most())}
	group := (int(s.Samples) + groups - 1) / groups
	r.own.Partial = min(named, float64(groups)*w.Distinct(group))
	r.ownPasses, r.fullest = passes(r.room), 1
	if ranks == 1 {
		return r
	}
	global := int(s.Samples) * ranks
	r.fullest = w.FullestGPU(global, ranks)
	asked := distinct * r.fullest
	r.asked = r.own
	r.asked.Lookups, r.asked.Outputs, r.asked.Groups, r.asked.Partial = asked, asked, 1, asked
	r.asked.Distinct = min(asked, w.Distinct(global)/float64(ranks)*r.fullest)
	r.asked.New = newShare(w.Created, w.Trained/float64(global), w.Distinct(global)) * r.asked.Distinct
	r.askedPasses = passes(roomFor(asked, w.bagRoom(s.Samples)*5/4))
	// Copies have no state. All are new, and that they are entered into the index is left out.
	r.copies = float64(model.RowSlots(int(r.room)))
	r.own.Probes, r.own.New, r.own.State = probes(distinct, int(r.room)), 0, 0
	return r
}

// FullestGPU returns the rows of a number of samples that are expected on the GPU that has most of them,
// relative to the mean, where a hash of their signs deals them to several. Without Skew it counts distinct
// rows: their numbers are nearly normal, with a variance near their mean, and the largest of n normal numbers
// is expected near their quantile (n − 3/8) / (n + 1/4).
//
// Source: Blom, Statistical Estimates and Transformed Beta-Variables (1958).
func (w *Workload) FullestGPU(samples, gpus int) float64 {
	if w.Skew != nil {
		return w.Skew(samples, gpus)
	}
	n, mean := float64(gpus), w.Distinct(samples)/float64(gpus)
	if gpus == 1 || mean <= 0 {
		return 1
	}
	quantile := math.Sqrt2 * math.Erfinv(2*(n-3./8)/(n+1./4)-1)
	return 1 + quantile*math.Sqrt((1-1/n)/mean)
}

// probes returns how many slots of an index are read to find one of a number of rows, in the mean, where
// there is room for most.
//
// Source: Knuth, The Art of Computer Programming 3 (1998), section 6.4, algorithm L: ½·(1 + 1/(1 − α)).
func probes(rows float64, most int) float64 {
	load := min(rows, float64(most)) / float64(model.RowSlots(most))
	return (1 + 1/(1-load)) / 2
}

// passes returns the number of passes of a sort of occurrences that there is room for.
func passes(room float64) int {
	const radixBits = 8
	return (bits.Len(uint(max(0, room-1))) + radixBits - 1) / radixBits
}

// gpuRoom returns the number of named rows of a batch that a rank has room for.
func (w *Workload) gpuRoom(samples int32) float64 {
	return roomFor(float64(samples)*w.RowsNamed(), w.bagRoom(samples))
}

// bagRoom returns the room for a batch that is taken before the first: one row, or those of an id, for each
// bag.
func (w *Workload) bagRoom(samples int32) float64 {
	room := float64(samples) * float64(w.Slots)
	if w.Occurrences > 0 {
		room *= w.RowsNamed() / w.Occurrences
	}
	return math.Ceil(room)
}

// roomFor returns the room for a number of rows where there was some: as much or, if the rows are more, a
// quarter more than these.
func roomFor(rows, room float64) float64 {
	if rows > room {
		room = math.Ceil(rows * 5 / 4)
	}
	return room
}

// hashTime returns the time in which the host of a rank turns ids into signs. Where there are many, the ranks
// of a host share its cores, of which a rank can use one for each slot of each of its groups. A system that
// does not say what an id takes has the price of its embedding workers.
func (p *Prices) hashTime(named float64) unit.Tick {
	const many = 1 << 16 // copiedAtOnce of package engine, below which one core hashes them
	each := p.System.EmbeddingWorker.IDTime.Mid
	if t := &p.System.NNWorker.SignTime; t.Given() {
		each = t.Mid
	}
	nanos := float64(each) * named / p.ServerHost.CoreSpeed
	if named > many {
		here := min(p.Job.Roles.Ranks, max(1, p.Cluster.AcceleratorsPerServer))
		pieces := float64(p.by.gpu.Slots) * float64(max(1, p.Job.GroupsPerRank()))
		nanos /= max(1, min(float64(p.ServerHost.Cores)/float64(here), pieces))
	}
	return unit.Tick(math.Ceil(nanos))
}

// launchTime returns the time of the host thread of a rank for launches, which may be part of a captured
// graph.
func (p *Prices) launchTime(launches int, captured bool) unit.Tick {
	nanos := float64(p.System.NNWorker.LaunchTime.Mid) * float64(launches)
	if captured {
		nanos *= 1 - p.System.NNWorker.Captured.Mid
	}
	return unit.Tick(math.Ceil(nanos / p.ServerHost.CoreSpeed))
}

// wakes returns the time of waits of a rank's host for its accelerator or for another rank: each costs as
// much as an end of a message, which wakes its receiver.
func (p *Prices) wakes(n int) unit.Tick {
	return unit.Tick(math.Ceil(float64(n) * float64(p.System.Messages.Time.Mid) / p.ServerHost.CoreSpeed))
}

// ErrTiers is the error of a job with its hot rows on GPUs and the others on PSs.
var ErrTiers = fmt.Errorf("rows.hot with rows on GPUs: the hot rows of GPUs beside others on PSs have no "+
	"price; set rows.placement to %s for hot rows on hosts, or leave out rows.hot", job.RowsOnPSs)

// gpuRowsBytes returns the memory of the rows that a rank has on its GPU, and that of what it needs beside
// them: for the rows of a batch, for pooled embeddings that come from PSs, and to connect several GPUs.
func gpuRowsBytes(t *job.Job, by *placement, samples int) (rows, beside unit.Bytes) {
	c, w := t.RowsConfig(), by.gpu
	beside = c.BatchBytes(int(w.gpuRoom(int32(samples))), w.Slots*samples, t.Roles.Ranks)
	if by.mixed {
		beside += valueBytes * unit.Bytes(by.psWidth*(samples+1)) // with their places among all
	}
	return c.RowBytes() * unit.Bytes(c.Most()), beside + ncclReserve(t)
}

// ncclReserve returns the memory of a GPU that is kept free for NCCL: 0 unless GPUs exchange rows.
func ncclReserve(t *job.Job) unit.Bytes {
	if t.SharesRowsOnGPUs() {
		return model.NCCLReserve
	}
	return 0
}

// RowsPerGPU returns how many rows each GPU of a job can hold: as many as the job allows, or what memory
// leaves room for if that is less.
func RowsPerGPU(r *Resolved, t *job.Job, layout *model.Layout, w *Workload) int {
	m := MemoryUse(r, t, layout, w)
	return min(t.RowsConfig().Most(), m.rowsThatFit(t))
}

// rowsThatFit returns how many rows fit the GPU with the least free memory.
func (m *Memory) rowsThatFit(t *job.Job) int {
	return int(max(0, m.freeBytes()/t.RowsConfig().RowBytes()))
}

// freeBytes returns the memory of that GPU that is left for rows.
func (m *Memory) freeBytes() unit.Bytes { return m.GPUHas - (m.GPU - m.GPURows) }

// checkGPURows returns an error that wraps ErrGPUMemory if the rows of a job do not fit the GPUs of its
// ranks.
func checkGPURows(r *Resolved, t *job.Job, w *Workload, m *Memory) error {
	c, ranks, made := t.RowsConfig(), t.Roles.Ranks, w.OnGPUs(t).Created
	const fewer = "leave slots to PSs (placement in data.slots)"
	if each := m.rowsThatFit(t); m.GPU > m.GPUHas && each >= 1 {
		beside, also := "the network", ""
		if nccl := ncclReserve(t); nccl > 0 {
			beside += fmt.Sprintf(" and %v for NCCL", nccl)
		}
		if made > float64(ranks*each) {
			also = fmt.Sprintf(", and the data have %.0f rows, more than %d × %d: with that capacity, also "+
				"take more GPUs (roles.ranks), or "+fewer, made, ranks, each)
		}
		return fmt.Errorf("cost: %s, and %v of %v of an accelerator (%s) are free beside %s: %w; "+
			"rows.capacity = %d would fit%s", c.Needs(c.Most()), m.freeBytes(), m.GPUHas,
			r.Devices[m.device].Name, beside, ErrGPUMemory, each, also)
	}
	// Where it is not known how many of the ids occur, made is 0.
	if room := float64(ranks) * float64(c.Most()); made > room {
		return fmt.Errorf("cost: the data have %.0f rows, and %d GPUs have room for %.0f: %w; raise "+
			"rows.capacity or rows.memory, take more GPUs (roles.ranks), or "+fewer, made, ranks, room,
			ErrGPUMemory)
	}
	return nil
}

// RowsMade returns the number of rows that a training makes: at most all that there are.
func (w *Workload) RowsMade() float64 { return cmp.Or(w.Created, w.Rows) }

// samplesOfRank returns the largest number of samples that a rank has of a global batch.
func samplesOfRank(t *job.Job) int {
	return (t.Training.GlobalBatch + t.Roles.Ranks - 1) / t.Roles.Ranks
}
