package exec

import (
	"errors"
	"fmt"
	"slices"

	"tandem/algo/exec/embedding"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/algo/numeric/shard"
	"tandem/algo/numeric/table"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// numerics has the job, the sizes and the buffers that the work of all roles shares.
type numerics struct {
	job     job.Job
	schema  *batch.Schema
	dims    batch.Dims // lengths of embedding rows
	dim     int        // the largest of them; where rows are hot, all rows have this length
	width   int        // pooled embedding values of a sample that travel
	divided *divided   // which rows are on GPUs, and which on PSs; nil: all are in one place
	winners int        // those of them that are maxima
	first   int        // the global step that roles count as step 0
	plan    shard.Plan
	pool    gemm.Pool // shares large batches over goroutines; may be nil
	buffers buffers   // of payloads that roles of this process send each other
}

// longestRow returns the length of the longest rows of a job.
func longestRow(t *job.Job, dims batch.Dims) int {
	if lengths := dims.Lengths(); len(lengths) > 0 {
		return slices.Max(lengths)
	}
	return t.Model.Dim() // of no row
}

// forEach calls task for every index from 0 to tasks−1, by the pool if there is one.
func (n *numerics) forEach(tasks int, task func(index int)) {
	if n.pool != nil {
		n.pool.ForEach(tasks, task)
		return
	}
	for i := range tasks {
		task(i)
	}
}

// storeValues packs values that work has computed, in a borrowed buffer, stores them and returns their size.
// The caller must not use values any more.
func (n *numerics) storeValues(s *Store, h role.Handle, values []float32) unit.Bytes {
	packed := compress.Pack(n.job.Wire.Precision, values)
	s.setLeased(h, packed, n.lease(values))
	return unit.Bytes(packed.Size())
}

// storePooled is storeValues of pooled embeddings, or of their gradients, with the winners if slots take
// maxima.
func (n *numerics) storePooled(s *Store, h role.Handle, values []float32, winners Winners) unit.Bytes {
	if n.winners == 0 {
		return n.storeValues(s, h, values)
	}
	pooled := &Pooled{compress.Pack(n.job.Wire.Precision, values), winners}
	s.setLeased(h, pooled, n.lease(values))
	return unit.Bytes(pooled.Size())
}

// lease returns the lease of a borrowed buffer with values that have been packed. If the packed form is not
// the values themselves, it gives the buffer back and returns nil.
func (n *numerics) lease(values []float32) *lease {
	if n.job.Wire.Precision != compress.FP32 {
		n.buffers.giveBack(values)
		return nil
	}
	return n.buffers.lease(values)
}

// withAdvice adds to an error the settings of the job that may help.
func (n *numerics) withAdvice(err error) error {
	if errors.Is(err, table.ErrFull) {
		return fmt.Errorf("%w (in the job: rows.capacity, rows.memory; rows.eviction: second-chance; "+
			"roles.embedding-ps)", err)
	}
	if n.job.Wire.Precision == compress.FP16 && errors.Is(err, embedding.ErrNonFinite) {
		return fmt.Errorf("%w, or use wire fp16-block: fp16 has no numbers beyond 65,504", err)
	}
	return err
}
