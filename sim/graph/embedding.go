package graph

import (
	"math"

	"tandem/sim/device"
	"tandem/sim/model"
	"tandem/sim/system"
)

// Sizes of ids and of the lengths of their lists in bytes, on the accelerator and on wires, as of
// device.Embedding.
const (
	idBytes     = 8
	lengthBytes = 8
)

// gradientBytes are of a value of a row's gradient between kernels.
const gradientBytes = 4

// kernels prices work on tables in an accelerator's memory.
type kernels struct {
	accelerator *device.Accelerator
	system      *system.EmbeddingKernel
	precisions  *model.Precisions
	optimizer   model.Optimizer
}

// load is the work of one rank for a part of a table in one step.
type load struct {
	// Bytes that take as long to stream as a kernel takes, apart from launches.
	lookup, sort, update float64
	dense                float64 // … of updating all rows of a replica
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
	a.lookup, a.dense = max(a.lookup, b.lookup), max(a.dense, b.dense)
	if b.sort+b.update > a.sort+a.update {
		a.sort, a.update = b.sort, b.update
	}
	a.ids, a.exchange, a.scatter = max(a.ids, b.ids), max(a.exchange, b.exchange), max(a.scatter, b.scatter)
	a.inside, a.reduce = max(a.inside, b.inside), max(a.reduce, b.reduce)
	a.fetched, a.read, a.reads = max(a.fetched, b.fetched), max(a.read, b.read), max(a.reads, b.reads)
}

// add adds the work of another part.
func (a *load) add(b *load) {
	a.lookup += b.lookup
	a.sort += b.sort
	a.update += b.update
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
	samples     float64 // whose lists of ids it has
	outputs     float64 // vectors that it computes: pooled rows, or all rows of sequences
	occurrences float64 // of ids
	distinct    float64 // rows
	dim         int
}

// load prices a step's use of a part of a table, without collectives.
func (k *kernels) load(u use) load {
	e := device.Embedding{
		Lookups: u.occurrences, Distinct: min(u.distinct, u.occurrences), Outputs: u.outputs, Dim: u.dim,
		Value: k.precisions.Rows.Bytes(), Pooled: k.precisions.Wire.Bytes(), State: k.optimizer.State(u.dim),
		Forward: k.system.Forward.Mid, Backward: k.system.Backward.Mid,
		Passes: float64(k.system.Passes.Mid),
	}
	unfused := 2 * float64(k.system.UpdatePasses.Mid) * u.occurrences * float64(u.dim) * gradientBytes
	return load{
		lookup: float64(k.accelerator.Lookup(e).Bytes),
		sort:   float64(k.accelerator.SortIDs(e).Bytes),
		update: float64(k.accelerator.UpdateRows(e).Bytes) + unfused,
		ids:    idBytes*u.occurrences + lengthBytes*u.samples,
	}
}

// streamRate returns the rate at which kernels stream many bytes.
func (k *kernels) streamRate() float64 {
	return float64(k.accelerator.Bandwidth) * k.accelerator.MemoryShare.At(math.Inf(1))
}
