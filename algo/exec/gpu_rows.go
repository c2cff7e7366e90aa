package exec

import (
	"fmt"
	"sync"

	"tandem/algo/exec/dense"
	"tandem/algo/exec/embedding"
	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/table"
	"tandem/algo/protocol/msg"
)

// gpuRows are the rows of a job whose only rank has all of them on its GPU. They are the rows of the owner
// behind the PSs, as hot rows are.
type gpuRows struct {
	*numerics
	rows  model.DeviceRows
	rates *table.Table // empty: the learning rates of the rows

	mu sync.Mutex // guards what follows
	// copied has the rows of the GPU after some steps: checkpoints read it, and restore an untrained state by
	// adding rows to it.
	copied       *table.Table
	steps, after int            // trained, and after which the rows were copied
	restored     table.Counters // of the model that training began with
	err          error          // of the GPU
}

// rowsOnGPU returns the rows that the replica of the rank holds, nil if PSs have them.
func rowsOnGPU(j *job.Job, schema *batch.Schema) *model.RowsConfig {
	if !j.HasRowsOnGPU() {
		return nil
	}
	return &model.RowsConfig{Schema: schema, Dim: j.Model.Dim(), Optimizer: j.Rows.Optimizer,
		Seed: j.Training.Seed, InitBound: float32(j.Rows.Init), Capacity: j.Rows.Capacity,
		Memory: j.Rows.Memory}
}

// newGPURows returns the rows of the rank, or nil if PSs have them or the rank is in another process.
func newGPURows(n *numerics, strategy dense.Strategy, here func(msg.Address) bool) (*gpuRows, error) {
	if !n.job.HasRowsOnGPU() || !here(msg.Address{Role: msg.NNWorker}) {
		return nil, nil
	}
	holder, ok := strategy.Replica(0).(model.RowHolder)
	if !ok || holder.Rows() == nil {
		return nil, fmt.Errorf("rows.placement = %s: ranks compute on the processors here; set it to %s",
			job.RowsOnGPU, job.RowsOnPSs)
	}
	g := &gpuRows{numerics: n, rows: holder.Rows()}
	var err error
	if g.rates, err = g.newCopy(); err == nil {
		g.copied, err = g.newCopy()
	}
	return g, err
}

// newCopy returns an empty table in the memory of the host.
func (g *gpuRows) newCopy() (*table.Table, error) {
	unlimited := g.job
	unlimited.Rows.Capacity, unlimited.Rows.Memory = 0, 0
	return embedding.NewTable(&unlimited, g.dim, table.Heap{}, nil)
}

// forward is the forward pass of a batch whose ids an EW has passed on.
func (g *gpuRows) forward(i item, part *batch.Part) error {
	ids, err := get[*IDs](i.store, i.Reads[1]).part(len(g.schema.Slots))
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.upload(); err != nil {
		return err
	}
	if g.steps == 0 {
		g.restored = g.copied.Counters()
	}
	g.steps++
	return g.rows.Forward(part, ids.Slots, g.rates.Rate(g.first+int(i.Step)))
}

// upload brings restored rows to the GPU, which has none yet.
func (g *gpuRows) upload() error {
	if g.steps > 0 || g.copied.Len() == 0 {
		return nil
	}
	n, err := g.rows.Len()
	if err != nil || n > 0 {
		return err
	}
	all := g.columns(g.copied.Len())
	g.copied.CopyRows(0, all)
	return g.rows.AddRows(all)
}

// columns returns n rows to be written.
func (g *gpuRows) columns(n int) *table.Columns {
	return table.NewColumns(n, g.rates.EmbeddingBytes(), g.rates.StateBytes())
}

// copiedAtOnce is the number of rows that are copied from the GPU at a time.
const copiedAtOnce = 1 << 18

// table returns the rows in the memory of the host, as they are after the steps so far. If the GPU fails it
// returns those that it had before, and failed has the error.
func (g *gpuRows) table() *table.Table {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.steps > g.after && g.err == nil {
		fresh, err := g.download()
		if err == nil {
			g.copied, g.after = fresh, g.steps
		}
		g.err = err
	}
	return g.copied
}

// download returns a copy of the rows of the GPU.
func (g *gpuRows) download() (*table.Table, error) {
	t, err := g.newCopy()
	if err != nil {
		return nil, err
	}
	rows, err := g.rows.Len()
	for at := 0; at < rows && err == nil; at += copiedAtOnce {
		some := g.columns(min(copiedAtOnce, rows-at))
		if err = g.rows.CopyRows(at, some); err == nil {
			err = t.AddRows(some)
		}
	}
	if err != nil {
		return nil, err
	}
	counters := g.restored
	applied, err := g.rows.Applied()
	if err != nil {
		return nil, err
	}
	counters.Outcomes.Applied += applied
	return t, t.SetCounters(counters)
}

// failed returns the error of the GPU, if table has met one.
func (g *gpuRows) failed() error {
	if g == nil {
		return nil
	}
	g.table()
	if g.err != nil {
		return fmt.Errorf("rows of the GPU: %w", g.err)
	}
	return nil
}

// readTrained copies rows for evaluation.
func (g *gpuRows) readTrained(signs []uint64, dst []float32) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.upload(); err != nil {
		return err
	}
	return g.rows.ReadTrained(signs, dst)
}

// missed counts the row gradients applied, none of which has missed an update.
func (g *gpuRows) missed() (h histogram.Histogram) {
	h.AddCount(0, uint64(g.table().Outcomes().Applied))
	return h
}
