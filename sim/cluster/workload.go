package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/shard"
	"tandem/algo/numeric/table"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// ErrMemory is wrapped by the error about a job that does not fit the cluster.
var ErrMemory = errors.New("does not fit")

// Sizes of plain forms, in memory and on the wire of the runtime's codec. What
// a training packs is smaller on the wire: see newBatchSize. The cores' time for
// packing is not priced: about 0.2 to 0.8 ns a byte of fp32 values either way,
// 6 ns a byte of ids to write and 3 to read (algo/numeric/compress, BenchmarkPack and
// BenchmarkIDs, on a shared 2.8 GHz Xeon, November 2026).
const (
	signBytes  = 8 // of a sign, and of an id
	valueBytes = 4 // of an fp32 value
)

// Workload says how many ids and rows samples have. Together with the layout
// of the network it determines what a batch costs.
type Workload struct {
	Occurrences float64 // ids of a sample, over all slots
	// RowOccurrences are the rows that those ids name, more than one an id under a
	// hash-stack; 0: one an id.
	RowOccurrences float64
	// Distinct returns the expected number of distinct rows among so many
	// samples. It must not fall as samples grow.
	Distinct func(samples int) float64
	// Packed has the sizes of compressed ids and signs. Only a training whose
	// index is compressed needs it.
	Packed   *PackedSizes
	RowDim   int        // values of a row
	RowBytes unit.Bytes // that the values of a row take on a PS
	RowState unit.Bytes // that its optimizer state takes beside them
	Labels   int        // of a sample
	Rows     float64    // rows of the whole table, for the memory check; 0: not known
}

// PackedSizes are expected bytes of messages.
type PackedSizes struct {
	IDs   func(samples int) float64                  // the id features of so many samples
	Signs func(samples int, plan shard.Plan) float64 // … their distinct signs, of one PS of a plan
}

// Validate reports the first number that is out of range.
func (w *Workload) Validate() error {
	switch {
	case !(w.Occurrences >= 0) || math.IsInf(w.Occurrences, 1):
		return fmt.Errorf("cluster: workload: %v ids a sample; want 0 or more", w.Occurrences)
	case !(w.RowOccurrences >= 0) || math.IsInf(w.RowOccurrences, 1):
		return fmt.Errorf("cluster: workload: the ids of a sample name %v rows; want 0 or more", w.RowOccurrences)
	case w.Distinct == nil:
		return errors.New("cluster: workload: no function of distinct rows")
	case w.RowDim < 1 || w.RowBytes < 1 || w.RowState < 0 || w.Labels < 0 || !(w.Rows >= 0):
		return fmt.Errorf("cluster: workload: rows of %d values in %v with %v of state, %d labels, %v rows;"+
			" want at least 1, 1 B, 0 B, 0, 0", w.RowDim, w.RowBytes, w.RowState, w.Labels, w.Rows)
	}
	return nil
}

// shape is a batch of some samples in counts.
type BatchSize struct {
	Samples        int32
	occurrences    float64 // of ids
	rowOccurrences float64 // occurrences of rows
	DistinctRows   float64
	RowsPerPS      float64 // distinct rows on each PS
	IDBytes        unit.Bytes
	SampleBytes    unit.Bytes
	PooledBytes    unit.Bytes
	Routed         role.Result // shared by all batches of the size; read-only
}

// newBatchSize counts a batch of some samples spread over the PSs of a plan, evenly in
// the mean. The roles see states of them: 1 if folded, else all.
func newBatchSize(t *job.Job, w *Workload, layout *model.Layout, samples int32, plan shard.Plan, states int) BatchSize {
	n := float64(samples)
	s := BatchSize{
		Samples: samples, occurrences: w.Occurrences * n, rowOccurrences: cmp.Or(w.RowOccurrences, w.Occurrences) * n, DistinctRows: w.Distinct(int(samples)),
		SampleBytes: unit.Bytes(valueBytes*(layout.DenseWidth+w.Labels)) * unit.Bytes(samples),
		PooledBytes: unit.Bytes(t.Wire.Precision.Size(layout.EmbeddingWidth * int(samples))),
	}
	s.RowsPerPS = s.DistinctRows / float64(plan.Servers())
	ids, signs := signBytes*s.occurrences, signBytes*s.RowsPerPS
	if t.Wire.Index == job.IndexCompressed {
		ids, signs = w.Packed.IDs(int(samples)), w.Packed.Signs(int(samples), plan)
	}
	s.IDBytes = bytesOf(ids)
	rows := int32(0)
	if s.DistinctRows > 0 {
		rows = max(1, int32(math.Round(s.RowsPerPS)))
	}
	for range states {
		s.Routed.Rows = append(s.Routed.Rows, rows)
		s.Routed.SignBytes = append(s.Routed.SignBytes, bytesOf(signs))
		s.Routed.ValueBytes = append(s.Routed.ValueBytes, bytesOf(t.Wire.Precision.ValueSize()*float64(w.RowDim)*s.RowsPerPS))
	}
	return s
}

func bytesOf(x float64) unit.Bytes { return unit.Bytes(math.Round(x)) }

// CheckMemory reports what of a job does not fit. A measured machine whose
// memory is not known passes.
func CheckMemory(r *Resolved, t *job.Job, layout *model.Layout, w *Workload) error {
	if r.Colocated() && r.PSHost.Memory == 0 {
		return nil
	}
	row := w.RowBytes + w.RowState + table.Overhead
	need := unit.Bytes(w.Rows * float64(row))
	if have := r.PSHost.Memory * unit.Bytes(r.PSHostCount); need > have {
		return fmt.Errorf("cluster: %.3g rows of %v take %v, the %d PS hosts have %v: %w; add PS hosts",
			w.Rows, row, need, r.PSHostCount, have, ErrMemory)
	}
	// Parameters, gradients and state. ActivationBytes counts a value where it is
	// written and where it is read, which is room for it and for its gradient.
	samples := (t.Training.GlobalBatch + t.Roles.Ranks - 1) / t.Roles.Ranks
	values := 2*layout.Params + t.Model.Optimizer.StateSize(layout.Params)
	switch shards := t.DenseShards(layout); {
	case len(shards) > 0: // the optimizer's state is with the shards
		values = 2 * layout.Params
		last := shards[len(shards)-1] // as large as any
		held := unit.Bytes(valueBytes * (last.Hi - last.Lo + t.Model.Optimizer.StateSize(last.Hi-last.Lo)))
		if held > r.PSHost.Memory {
			return fmt.Errorf("cluster: a dense PS's part of the network takes %v, its host has %v: %w; add dense PSs",
				held, r.PSHost.Memory, ErrMemory)
		}
	case averages(t): // what was given to the mean, and the mean
		values += 2 * layout.Params
	}
	dense := unit.Bytes(valueBytes * values)
	dense += layout.Cost.ActivationBytes * unit.Bytes(samples)
	if dense > r.Accelerator.Memory {
		return fmt.Errorf("cluster: the dense network and a batch of %d samples take %v, an accelerator has %v: %w; use smaller batches",
			samples, dense, r.Accelerator.Memory, ErrMemory)
	}
	return nil
}

// averages reports whether ranks average replicas of their own.
func averages(t *job.Job) bool {
	rule, err := t.Rule()
	return err == nil && rule.Dense().Every > 0
}
