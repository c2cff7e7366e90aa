package cost

import (
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

// ErrGPUMemory is ErrMemory of a job whose rows are on GPUs.
var ErrGPUMemory = fmt.Errorf("%w", ErrMemory)

// Sizes of uncompressed values, in memory and in the runtime's wire format. Compressed values are smaller on
// the wire: see newBatchSize. The core time for compression is not priced: about 0.2 to 0.8 ns per byte of
// fp32 values in each direction, and 6 ns to write and 3 ns to read a byte of ids (algo/numeric/compress,
// BenchmarkPack and BenchmarkIDs, on a shared 2.8 GHz Xeon, November 2026).
const (
	signBytes  = 8 // of a sign, and of an id
	valueBytes = 4 // of an fp32 value
	// Of the number of the id that has a maximum, as exec.Winners has it where no bag has more than 256 ids.
	winnerBytes = 1
)

// Workload describes the data in numbers: how many ids and rows samples have. Together with the layout of the
// network it determines the cost of a batch.
type Workload struct {
	Occurrences float64 // ids of a sample, over all slots
	// RowOccurrences is the number of rows that these ids refer to: more than one per id in a hash-stack. 0
	// means one per id.
	RowOccurrences float64
	// Weights is the number of these ids that have weights, which travel with them.
	Weights float64
	// Distinct returns the expected number of distinct rows in a number of samples. It must not decrease as
	// the number of samples grows. All functions of a workload may be called concurrently.
	Distinct func(samples int) float64
	// Skew returns the expected rows of the PS that has most rows of a number of samples, relative to the
	// mean over these PSs: at least 1. nil means 1.
	Skew func(samples, servers int) float64
	// Packed has the sizes of compressed ids and signs. Only jobs with a compressed index (wire.index) need
	// it.
	Packed   *PackedSizes
	RowDim   int        // values of a row
	RowBytes unit.Bytes // of the values of a row on a PS
	RowState unit.Bytes // of the optimizer state of a row on a PS
	// Classes describe the rows of every table of a PS where slots differ in theirs, and take the place of
	// RowDim, RowBytes and RowState. All other numbers are of the rows of all classes. nil: rows are alike.
	Classes []RowClass
	// Groups are the feature groups of a job that asks for rows on GPUs, whose rows can be in different
	// places.
	Groups []GroupRows
	// PackedOf returns Packed of some slots alone, for the same job; nil for other jobs.
	PackedOf func(slots []string) *PackedSizes
	Labels   int // of a sample
	Slots    int // tensors of embeddings of a batch
	// Winners is the number of pooled values of a sample that are maxima.
	Winners int
	Rows    float64 // rows of all tables, for the memory check; 0: not known
	// Created is the number of rows that the training creates, and Trained that of its samples over all
	// epochs. 0 means not known, and no read then creates a row: a training without end.
	Created, Trained float64
	// Hot describes the hot rows of a job that has some; nil for other jobs. The rest of the workload is of
	// all rows.
	Hot *HotRows
}

// PackedSizes are expected bytes of messages.
type PackedSizes struct {
	IDs   func(samples int) float64                  // the ids of a number of samples
	Signs func(samples int, plan shard.Plan) float64 // … their distinct signs on one PS of a plan
}

// Validate reports the first number that is out of range.
func (w *Workload) Validate() error {
	switch {
	case !(w.Occurrences >= 0) || math.IsInf(w.Occurrences, 1):
		return fmt.Errorf("cost: workload: %v ids a sample; want 0 or more", w.Occurrences)
	case !(w.RowOccurrences >= 0) || math.IsInf(w.RowOccurrences, 1):
		return fmt.Errorf("cost: workload: the ids of a sample name %v rows; want 0 or more",
			w.RowOccurrences)
	case !(w.Created >= 0) || !(w.Trained >= 0) || w.Created > 0 && w.Trained == 0 ||
		math.IsInf(w.Created, 1):
		return fmt.Errorf("cost: workload: %v samples create %v rows; want 0 or more", w.Trained, w.Created)
	case !(w.Weights >= 0) || w.Weights > w.Occurrences:
		return fmt.Errorf("cost: workload: %v of %v ids a sample have weights", w.Weights, w.Occurrences)
	case w.Distinct == nil:
		return errors.New("cost: workload: no function of distinct rows")
	case w.Hot != nil && !(w.Hot.Rows >= 0 && w.Hot.Values >= w.Hot.Rows && w.Hot.Batch != nil):
		return fmt.Errorf("cost: workload: %v hot rows of %v values; want 0 or more rows, and their batches",
			w.Hot.Rows, w.Hot.Values)
	case w.Labels < 0 || !(w.Rows >= 0):
		return fmt.Errorf("cost: workload: %d labels, %v rows; want 0 or more", w.Labels, w.Rows)
	}
	for _, c := range w.classes() {
		if err := c.validate(); err != nil {
			return err
		}
	}
	return w.validateGroups()
}

// BatchSize is the size of a batch in samples, ids, rows and bytes.
type BatchSize struct {
	Samples        int32
	rowOccurrences float64 // occurrences of rows on PSs
	DistinctRows   float64 // on all PSs: without hot rows
	RowsPerPS      float64 // distinct rows on each PS, on average
	// HottestRows is the number of distinct rows on the PS that has most of them. A lookup waits for it.
	HottestRows float64
	// NewRows is the share of the rows of a lookup that do not exist yet, averaged over the training.
	NewRows        float64
	classes        []batchClass
	Hot            HotBatch
	IDBytes        unit.Bytes // to the EW
	resolvedBytes  unit.Bytes // of these, the ids that the EW resolves: of slots on PSs
	SampleBytes    unit.Bytes
	EmbeddingBytes unit.Bytes  // to the NN worker, with the ids of slots on GPUs
	GradientBytes  unit.Bytes  // of pooled embeddings, from the NN worker
	Routed         role.Result // shared by all batches of the size; read-only
	onGPU          gpuBatch
}

// newBatchSize returns the expected size of a batch whose rows are spread evenly over the PSs of a plan.
// States is the number of PSs that the roles see: 1 if the PSs are folded, otherwise all.
func newBatchSize(
	t *job.Job, w *Workload, layout *model.Layout, samples int32, plan shard.Plan, states int,
) BatchSize {
	n, by := float64(samples), w.placedBy(t, layout.EmbeddingWidth)
	ps := by.ps
	s := BatchSize{
		Samples: samples, rowOccurrences: ps.RowsNamed() * n, DistinctRows: ps.Distinct(int(samples)),
		SampleBytes: unit.Bytes(valueBytes*(layout.DenseWidth+w.Labels)) * unit.Bytes(samples),
		onGPU:       newGPUBatch(by.gpu, samples),
	}
	skew, created := ps.Skew, ps.Created
	if ps.HasHotRows() {
		s.Hot = ps.Hot.Batch(int(samples))
		s.Hot.Occurrences = min(s.Hot.Occurrences, s.rowOccurrences) // counted in a part of the data
		s.DistinctRows = max(0, s.DistinctRows-s.Hot.Rows)
		skew, created = ps.Hot.Skew, max(0, ps.Created-ps.Hot.Rows)
	}
	s.EmbeddingBytes, s.GradientBytes = ps.pooledBytes(t, by.psWidth, samples, &s.Hot)
	s.EmbeddingBytes += by.gpu.idBytes(t, samples)
	s.IDBytes, s.resolvedBytes = w.idBytes(t, samples), ps.idBytes(t, samples)
	s.RowsPerPS = s.DistinctRows / float64(plan.Servers())
	s.HottestRows = s.RowsPerPS
	if skew != nil && s.DistinctRows > 0 {
		s.HottestRows = min(s.DistinctRows, s.RowsPerPS*skew(int(samples), plan.Servers()))
	}
	s.NewRows = newShare(created, ps.Trained/n, s.DistinctRows)
	s.classes = ps.batchClasses(&s)
	signs := signBytes * s.RowsPerPS
	if t.Wire.Index == job.IndexCompressed && s.DistinctRows > 0 {
		signs = ps.Packed.Signs(int(samples), plan)
	}
	rows := int32(0)
	if s.DistinctRows > 0 {
		rows = max(1, int32(math.Round(s.RowsPerPS)))
	}
	for range states {
		s.Routed.Rows = append(s.Routed.Rows, rows)
		s.Routed.SignBytes = append(s.Routed.SignBytes, bytesOf(signs))
		s.Routed.ValueBytes = append(s.Routed.ValueBytes,
			bytesOf(t.Wire.Precision.ValueSize()*dimOf(s.classes)*s.RowsPerPS))
	}
	return s
}

// idBytes returns the size of the ids of a number of samples, with their weights.
func (w *Workload) idBytes(t *job.Job, samples int32) unit.Bytes {
	n := float64(samples)
	ids := signBytes * w.Occurrences * n
	if t.Wire.Index == job.IndexCompressed && w.Packed != nil {
		ids = w.Packed.IDs(int(samples))
	}
	return bytesOf(ids + valueBytes*w.Weights*n)
}

// newShare returns the share of the distinct rows of lookups that they create, of which there are some in a
// training.
func newShare(created, lookups, distinct float64) float64 {
	if created == 0 || distinct == 0 {
		return 0
	}
	return min(1, created/(lookups*distinct))
}

func bytesOf(x float64) unit.Bytes { return unit.Bytes(math.Round(x)) }

// Memory is how much of the memory of hosts and accelerators a job takes.
type Memory struct {
	Row, PS, PSHas unit.Bytes // of a row, in the mean; of rows on one of the PS hosts
	// GPU is that of the dense network, a batch and rows on the accelerator with the least room. GPURows is
	// the part of it for rows that are on GPUs alone.
	GPU, GPUHas, GPURows unit.Bytes
	device               int // that accelerator, of Devices
}

// WithOverhead returns what a PS host would hold if its rows took some bytes beside values and state, and not
// those of package table.
func (m *Memory) WithOverhead(each unit.Bytes) unit.Bytes {
	return unit.Bytes(float64(m.PS) / float64(m.Row) * float64(m.Row-table.Overhead+each))
}

// MemoryUse returns how much of the memory of the hardware a job takes.
func MemoryUse(r *Resolved, t *job.Job, layout *model.Layout, w *Workload) Memory {
	by := w.placedBy(t, layout.EmbeddingWidth)
	m := Memory{Row: unit.Bytes(w.rowBytes(table.Overhead)), PSHas: r.PSHost.Memory}
	m.PS = unit.Bytes(by.ps.psBytes() / float64(max(1, r.PSHostCount)))
	// Parameters, gradients and state. ActivationBytes counts every value twice, when it is written and when
	// it is read: room for the value and for its gradient.
	samples := samplesOfRank(t)
	values := 2*layout.Params + t.Model.Optimizer.StateSize(layout.Params)
	if len(t.DenseShards(layout)) > 0 { // the optimizer's state is with the shards
		values = 2 * layout.Params
	} else if averages(t) { // the snapshot that went into the mean, and the mean
		values += 2 * layout.Params
	}
	m.GPU = unit.Bytes(valueBytes*values) + layout.Cost.ActivationBytes*unit.Bytes(samples)
	if w.HasHotRows() {
		m.GPU += w.hotBytes()
	}
	if t.HasRowsOnGPU() {
		rows, beside := gpuRowsBytes(t, &by, samples)
		m.GPURows = rows
		if by.ps.Rows == 0 {
			m.Row = t.RowsConfig().RowBytes()
		}
		m.GPU += rows + beside
	}
	for i, device := range r.devicesOf(t.Roles.Ranks) {
		if has := r.Devices[device].Memory; i == 0 || has < m.GPUHas {
			m.device, m.GPUHas = device, has
		}
	}
	return m
}

// CheckMemory returns an error that wraps ErrMemory if the rows, the dense network or a batch do not fit the
// memory of the hardware. It accepts every job on a measured machine whose memory is not known.
func CheckMemory(r *Resolved, t *job.Job, layout *model.Layout, w *Workload) error {
	if r.Colocated() && r.PSHost.Memory == 0 {
		return nil
	}
	m := MemoryUse(r, t, layout, w)
	if t.HasRowsOnGPU() {
		if err := checkGPURows(r, t, w, &m); err != nil {
			return err
		}
	}
	ps := w.OnPSs(t)
	if need, have := unit.Bytes(ps.psBytes()), r.PSHost.Memory*unit.Bytes(r.PSHostCount); need > have {
		return fmt.Errorf("cost: %.3g rows of %v take %v, the %d PS hosts have %v: %w; add PS hosts",
			ps.psRows(), m.Row, need, r.PSHostCount, have, ErrMemory)
	}
	if shards := t.DenseShards(layout); len(shards) > 0 {
		last := shards[len(shards)-1] // no shard is larger
		held := unit.Bytes(valueBytes * (last.Hi - last.Lo + t.Model.Optimizer.StateSize(last.Hi-last.Lo)))
		if held > r.PSHost.Memory {
			return fmt.Errorf(
				"cost: a dense PS's part of the network takes %v, its host has %v: %w; add dense PSs",
				held, r.PSHost.Memory, ErrMemory)
		}
	}
	if m.GPU > m.GPUHas {
		what := "the dense network"
		if w.HasHotRows() {
			what += fmt.Sprintf(", %.3g hot rows", w.Hot.Rows)
		}
		if t.HasRowsOnGPU() {
			what += fmt.Sprintf(", %d rows", t.RowsConfig().Most())
		}
		if t.SharesRowsOnGPUs() {
			what += fmt.Sprintf(", %v for NCCL", model.NCCLReserve)
		}
		kind := ErrMemory
		if t.HasRowsOnGPU() {
			kind = ErrGPUMemory
		}
		return fmt.Errorf("cost: %s and a batch of %d samples take %v, an accelerator (%s) has %v: %w; use "+
			"smaller batches", what, samplesOfRank(t), m.GPU, r.Devices[m.device].Name, m.GPUHas, kind)
	}
	return nil
}

// averages reports whether each rank has its own replica, averaged from time to time.
func averages(t *job.Job) bool {
	rule, err := t.Rule()
	return err == nil && rule.Dense().Every > 0
}
