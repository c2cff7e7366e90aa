package device

import (
	"fmt"
	"math"

	"tandem/algo/unit"
)

// Embedding is the work of one step on the tables in one accelerator's memory, which fused kernels do for all
// tables at once.
type Embedding struct {
	Lookups  float64 // occurrences of ids: rows that are read
	Distinct float64 // rows among them
	Outputs  float64 // pooled vectors: one for each sample and table; without pooling, one for each lookup
	Dim      int
	Value    unit.Bytes // of an element of a row
	Pooled   unit.Bytes // of an element of a pooled vector and of its gradient
	// State is the optimizer's state of a row: 0 for SGD, 4 bytes for row-wise Adagrad, 4 for each element
	// for Adagrad, 8 for Adam.
	State unit.Bytes
	// Forward and Backward are the shares of the memory's bandwidth that the kernels reach with long rows.
	// They are properties of the system software.
	Forward, Backward float64
	// Passes is how often the sort of an exact optimizer reads and writes the ids.
	Passes float64
}

// Sizes on the device, in bytes.
//
// Source: FBGEMM's table-batched embeddings (pytorch/FBGEMM, 2023): ids and offsets of 64 bits; the sort
// moves keys of 64 and positions of 32 bits. A sector is the least that an NVIDIA card moves.
const (
	idBytes     = 8
	offsetBytes = 8
	sortedBytes = 12
	sectorBytes = 32
)

// cacheSpeedup is the rate of the last cache relative to the memory's: 2155 of 900 GB/s on a V100.
//
// Source: Jia, Maggioni, Staiger, Scarpazza, "Dissecting the NVIDIA Volta GPU architecture via
// microbenchmarking", arXiv 1804.06826 (2018). Other cards are within about a third of it.
const cacheSpeedup = 2.4

// Lookup returns the kernel of the forward pass: ids and offsets are read, a row is read for every lookup,
// pooled vectors are written. Its bytes are those of a stream that takes as long: see gather.
//
// Source: as of Embedding's sizes; the TorchRec planner (2023) counts the same bytes, without the cache.
func (a *Accelerator) Lookup(e Embedding) Kernel {
	e.check()
	streamed := e.Lookups*idBytes + e.Outputs*(offsetBytes+e.pooled())
	rows := a.gather(e.Lookups, e.Distinct, e.row(), 0)
	return Kernel{Launches: 1, Bytes: a.asStream(streamed+rows, e.Forward)}
}

// SortIDs returns the kernels that sort the ids of a step by row before an exact optimizer updates every row
// once: a launch that prepares keys, one for each pass, and two that find where the ids of a row begin.
func (a *Accelerator) SortIDs(e Embedding) Kernel {
	e.check()
	bytes := e.Lookups * (idBytes + 2*sortedBytes*(e.Passes+1))
	return Kernel{Launches: 3 + int(math.Ceil(e.Passes)),
		Bytes: a.asStream(bytes, a.MemoryShare.At(math.Inf(1)))}
}

// UpdateRows returns the kernel of the backward pass, fused with the optimizer: the gradient of its pooled
// vector is read for every lookup, sorted by row; rows and their state are read and written once each.
func (a *Accelerator) UpdateRows(e Embedding) Kernel {
	e.check()
	bytes := e.Lookups*sortedBytes + a.gather(e.Lookups, min(e.Outputs, e.Lookups), e.pooled(), 0) +
		2*a.gather(e.Distinct, e.Distinct, e.row(), e.state())
	return Kernel{Launches: 1, Bytes: a.asStream(bytes, e.Backward)}
}

// MergeRows returns the kernel that adds up the gradients of each row, where the optimizer comes later: the
// gradient of its pooled vector is read for every lookup, sorted by row; a sum is written in fp32 for each
// row.
func (a *Accelerator) MergeRows(e Embedding) Kernel {
	e.check()
	bytes := e.Lookups*sortedBytes + a.gather(e.Lookups, min(e.Outputs, e.Lookups), e.pooled(), 0) +
		a.gather(e.Distinct, e.Distinct, e.sum(), 0)
	return Kernel{Launches: 1, Bytes: a.asStream(bytes, e.Backward)}
}

// StepRows returns the kernel of an optimizer whose gradient sums are in memory, in fp32: the sum of each row
// is read and cleared; rows and their state are read and written.
func (a *Accelerator) StepRows(e Embedding) Kernel {
	e.check()
	bytes := 2*a.gather(e.Distinct, e.Distinct, e.sum(), 0) +
		2*a.gather(e.Distinct, e.Distinct, e.row(), e.state())
	return Kernel{Launches: 1, Bytes: a.asStream(bytes, e.Backward)}
}

// state returns the bytes that are moved for the state of a row: at least a sector, unless there is none.
func (e *Embedding) state() float64 {
	if e.State == 0 {
		return 0
	}
	return max(sectorBytes, float64(e.State))
}

// sum returns the bytes of the gradient sum of a row.
func (e *Embedding) sum() float64 { return 4 * float64(e.Dim) }

// row and pooled return the bytes of a row and of a pooled vector.
func (e *Embedding) row() float64    { return float64(e.Dim) * float64(e.Value) }
func (e *Embedding) pooled() float64 { return float64(e.Dim) * float64(e.Pooled) }

// check panics if a number of the work is out of range.
func (e *Embedding) check() {
	if !(e.Distinct >= 0 && e.Distinct <= e.Lookups*(1+1e-9) && e.Outputs >= 0 && e.Passes >= 0) ||
		e.Dim < 1 || e.Value < 1 || e.Pooled < 1 || e.State < 0 ||
		!(e.Forward > 0 && e.Forward <= 1 && e.Backward > 0 && e.Backward <= 1) {
		panic(fmt.Sprintf("device: embedding work %+v, want 0 ≤ distinct ≤ lookups, at least 1 value, and "+
			"shares "+
			"above 0 and at most 1", *e))
	}
}

// gather returns the bytes of a stream that takes as long as a number of reads of rows at random addresses,
// with some bytes beside each row:
//
//	(distinct + (reads − distinct) · (1 − hit + hit / 2.4)) · (row + beside) · longest / share(row)
//
// where share is RowShare, longest its value for long rows, and hit = min(1, cache / (distinct · row)) is the
// part of repeated reads that the cache serves. Deviation: with skewed ids the cache serves more.
func (a *Accelerator) gather(reads, distinct, row, beside float64) float64 {
	repeated := max(0, reads-distinct)
	hit := 1.0
	if distinct*row > float64(a.Cache) {
		hit = float64(a.Cache) / (distinct * row)
	}
	penalty := a.RowShare.At(math.Inf(1)) / a.RowShare.At(row)
	return (distinct + repeated*(1-hit+hit/cacheSpeedup)) * (row + beside) * penalty
}

// asStream returns the bytes that the memory streams in the time of some bytes at a share of its bandwidth.
func (a *Accelerator) asStream(bytes, share float64) unit.Bytes {
	return unit.Bytes(math.Ceil(bytes * a.MemoryShare.At(math.Inf(1)) / share))
}

// Interaction is the dot products of all pairs of the vectors of a sample.
type Interaction struct {
	Samples, Vectors, Dim int
	Value                 unit.Bytes // of an element
	Precision             Precision
}

// Forward returns the kernel that reads the vectors and writes a product for every pair.
func (i Interaction) Forward() Kernel { return i.kernel(1) }

// Backward returns the kernel that reads vectors and gradients of products, and writes gradients of vectors:
// the gradient of a vector is the sum of the others, each times the gradient of its product.
func (i Interaction) Backward() Kernel { return i.kernel(2) }

// kernel returns a kernel that passes over the vectors a number of times. All Vectors² products are computed,
// as a product of matrices.
func (i Interaction) kernel(passes int) Kernel {
	n := i.Samples * i.Vectors
	pairs := i.Samples * i.Vectors * (i.Vectors - 1) / 2
	return Kernel{
		Launches: 1, FLOPs: unit.FLOPs(2 * passes * n * i.Vectors * i.Dim), Precision: i.Precision,
		Bytes: i.Value * unit.Bytes(passes*n*i.Dim+pairs),
	}
}
