package graph

import (
	"tandem/sim/device"
	"tandem/sim/model"
	"tandem/sim/system"
)

// Sizes of ids on the accelerator and on wires, in bytes.
//
// Source: FBGEMM's table-batched embeddings: ids and offsets of 64 bits; its sort moves a key of 64 and a
// position of 32 bits.
const (
	idBytes     = 8
	lengthBytes = 8
	sortedBytes = 8 + 4
)

// kernels prices work on tables in an accelerator's memory.
type kernels struct {
	accelerator *device.Accelerator
	system      *system.EmbeddingKernel
	precisions  *model.Precisions
	optimizer   model.Optimizer
}

// load is the work of one rank for a part of a table in one step.
type load struct {
	forward  float64 // seconds of the lookup, apart from launches
	sort     float64 // … of sorting the ids
	backward float64 // … of the update
	dense    float64 // … of updating all rows of a replica
	// Bytes that the rank sends in collectives, its own part included.
	ids      float64 // of input distribution, received
	exchange float64 // pooled rows of all samples, to the ranks of the samples
	scatter  float64 // partial sums of all samples, over all ranks
	inside   float64 // … over the ranks of a server
	reduce   float64 // gradients of a replica
	// Rows that the step needs and that the accelerator's memory does not hold: bytes over the host link, and
	// of them over the links of SSDs with their number.
	fetched, read, reads float64
}

// most takes the larger of each kind of work.
func (a *load) most(b *load) {
	a.forward, a.dense = max(a.forward, b.forward), max(a.dense, b.dense)
	if b.sort+b.backward > a.sort+a.backward {
		a.sort, a.backward = b.sort, b.backward
	}
	a.ids, a.exchange, a.scatter = max(a.ids, b.ids), max(a.exchange, b.exchange), max(a.scatter, b.scatter)
	a.inside, a.reduce = max(a.inside, b.inside), max(a.reduce, b.reduce)
	a.fetched, a.read, a.reads = max(a.fetched, b.fetched), max(a.read, b.read), max(a.reads, b.reads)
}

// add adds the work of another part.
func (a *load) add(b *load) {
	a.forward += b.forward
	a.sort += b.sort
	a.backward += b.backward
	a.dense += b.dense
	a.ids += b.ids
	a.exchange += b.exchange
	a.scatter += b.scatter
	a.inside += b.inside
	a.reduce += b.reduce
	a.fetched += b.fetched
	a.read += b.read
	a.reads += b.reads
}

// use is how a rank uses its part of a table in one step.
type use struct {
	samples     float64 // whose pooled rows it computes
	occurrences float64 // of ids
	distinct    float64 // rows
	dim         int
}

// rowRate returns the rate at which kernels reach rows of some bytes, if they reach a share of the bandwidth
// with long rows. The accelerator's row-share says how much less short rows reach.
func (k *kernels) rowRate(bytes, share float64) float64 {
	a := k.accelerator
	return float64(a.Bandwidth) * share * a.RowShare.At(bytes) / a.RowShare.At(longRow)
}

// streamRate returns the rate at which kernels stream many bytes.
func (k *kernels) streamRate() float64 {
	return float64(k.accelerator.Bandwidth) * k.accelerator.MemoryShare.At(1e15)
}

// longRow is the size in bytes of a row whose kernels reach the share of the system's profile.
const longRow = 1 << 20

// load prices a step's use of a part of a table, without collectives:
//
//	lookup   ids and lengths read, one row read for each id, pooled rows written
//	sort     the ids with their positions, read and written in every pass
//	update   gradients of pooled rows read once; every distinct row and its state read and written
//
// Source: FBGEMM's forward and backward split kernels (pytorch/FBGEMM, 2023); the TorchRec planner counts the
// same bytes, without the sort.
func (k *kernels) load(u use) load {
	pooled := u.samples * float64(u.dim) * float64(k.precisions.Wire.Bytes())
	row := float64(u.dim) * float64(k.precisions.Rows.Bytes())
	state := float64(k.optimizer.State(u.dim))
	forward, backward := k.system.Forward.Mid, k.system.Backward.Mid
	bandwidth := float64(k.accelerator.Bandwidth)
	return load{
		forward: (idBytes*u.occurrences+lengthBytes*u.samples+pooled)/(bandwidth*forward) +
			u.occurrences*row/k.rowRate(row, forward),
		sort:     float64(k.system.Passes.Mid) * 2 * sortedBytes * u.occurrences / k.streamRate(),
		backward: pooled/(bandwidth*backward) + u.distinct*2*(row+state)/k.rowRate(row, backward),
		ids:      idBytes*u.occurrences + lengthBytes*u.samples,
	}
}
