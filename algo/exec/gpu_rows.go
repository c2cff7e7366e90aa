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
	"tandem/algo/numeric/shard"
	"tandem/algo/numeric/table"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// gpuRows are the rows of a job that its ranks have on their GPUs, each those that shard.Rows gives it.
// Together they are the rows of the owner behind the PSs, as hot rows are.
type gpuRows struct {
	*numerics
	rows   []model.DeviceRows // by rank
	shares shard.Plan         // of the ranks
	with   model.RowsTrainer  // nil: there is one rank
	rates  *table.Table       // empty: the learning rates of the rows

	mu sync.Mutex // guards what follows
	// copied has the rows of the GPUs after some steps: checkpoints read it, and restore an untrained state
	// by adding rows to it.
	copied   *table.Table
	passes   int            // forward passes of all ranks
	after    int            // passes after which the rows were copied
	restored table.Counters // of the model that training began with
	earlier  int            // gradients that were applied before those that missed counts
	err      error          // of a GPU
}

// rowsOnGPU returns the rows that the replicas of the ranks hold, nil if PSs have them.
func rowsOnGPU(n *numerics) *model.RowsConfig {
	if !n.job.HasRowsOnGPU() {
		return nil
	}
	c := n.job.RowsConfig()
	c.Schema = n.schema
	if n.divided != nil {
		c.Slots, c.HotOnly = n.divided.onGPU, n.divided.tiers != nil
	}
	return c
}

// newGPURows returns the rows of the ranks, or nil if PSs have them or the ranks are in another process.
func newGPURows(n *numerics, c *dense.Config, strategy dense.Strategy) (*gpuRows, error) {
	if !n.job.HasRowsOnGPU() || !c.Here(msg.Address{Role: msg.NNWorker}) {
		return nil, nil
	}
	g := &gpuRows{numerics: n, shares: shard.Rows(n.job.Roles.Ranks)}
	for rank := range n.job.Roles.Ranks {
		holder, ok := strategy.Replica(int32(rank)).(model.RowHolder)
		if !ok || holder.Rows() == nil {
			return nil, fmt.Errorf("%s: ranks compute on the processors here; set it to %s",
				n.job.GPUSetting(), job.RowsOnPSs)
		}
		g.rows = append(g.rows, holder.Rows())
	}
	if len(g.rows) > 1 {
		g.with = c.Trainer.(model.RowsTrainer)
		if err := g.with.JoinRows(); err != nil {
			return nil, err
		}
	}
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

// forward is the forward pass of a batch whose ids an EW has passed on, with the pooled embeddings of slots
// whose rows are on PSs.
func (g *gpuRows) forward(i item, part *batch.Part) error {
	schema, ids, pooled := g.schema, (*IDs)(nil), []float32(nil)
	if g.divided == nil {
		ids = get[*IDs](i.store, i.Reads[1])
	} else {
		both := get[*PooledAndIDs](i.store, i.Reads[1])
		var err error
		if pooled, err = both.Values.Unpack(part.Samples * g.width); err != nil {
			return err
		}
		schema, ids = g.divided.gpu, &both.IDs
	}
	own, err := ids.part(schema)
	if err != nil {
		return err
	}
	if err := g.begin(); err != nil {
		return err
	}
	return g.rows[i.Rank].Forward(part, own.Slots, pooled, g.buffers.borrow(len(pooled)),
		g.rates.Rate(g.first+int(i.Step)), int(i.StepSamples))
}

// begin begins a forward pass. It does not wait for those of other ranks.
func (g *gpuRows) begin() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.upload(); err != nil {
		return err
	}
	if g.passes == 0 {
		g.restored = g.copied.Counters()
		g.earlier = g.restored.Outcomes.Applied
	}
	g.passes++
	return nil
}

// upload brings restored rows to the GPUs, which have none yet.
func (g *gpuRows) upload() error {
	if g.passes > 0 || g.copied.Len() == 0 {
		return nil
	}
	for rank, rows := range g.rows {
		n, err := rows.Len()
		if err != nil || n > 0 {
			return err
		}
		if err := rows.AddRows(g.share(rank)); err != nil {
			return err
		}
	}
	return nil
}

// share returns the rows of a rank among those that were copied.
func (g *gpuRows) share(rank int) *table.Columns {
	share, rows := new(table.Columns), g.copied.Len()
	for at := 0; at < rows; at += copiedAtOnce {
		some := g.columns(min(copiedAtOnce, rows-at))
		g.copied.CopyRows(at, some)
		share.AppendSelected(some, func(sign uint64) bool { return g.shares.Owner(sign) == rank })
	}
	return share
}

// columns returns n rows to be written.
func (g *gpuRows) columns(n int) *table.Columns {
	return table.NewColumns(n, g.rates.EmbeddingBytes(), g.rates.StateBytes())
}

// copiedAtOnce is the number of rows that are copied at a time.
const copiedAtOnce = 1 << 18

// table returns the rows in the memory of the host, as they are after the steps so far. If a GPU fails it
// returns those that it had before, and failed has the error.
func (g *gpuRows) table() *table.Table {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.passes > g.after && g.err == nil {
		fresh, err := g.download()
		if err == nil {
			g.copied, g.after = fresh, g.passes
		}
		g.err = err
	}
	return g.copied
}

// download returns a copy of the rows of all GPUs.
func (g *gpuRows) download() (*table.Table, error) {
	t, err := g.newCopy()
	if err != nil {
		return nil, err
	}
	counters := g.restored
	for _, rows := range g.rows {
		applied, err := g.copyRows(t, rows)
		if err != nil {
			return nil, err
		}
		counters.Outcomes.Applied += applied
	}
	return t, t.SetCounters(counters)
}

// copyRows adds the rows of a GPU to a table, and returns how many gradients were applied to them.
func (g *gpuRows) copyRows(t *table.Table, from model.DeviceRows) (applied int, err error) {
	rows, err := from.Len()
	for at := 0; at < rows && err == nil; at += copiedAtOnce {
		some := g.columns(min(copiedAtOnce, rows-at))
		if err = from.CopyRows(at, some); err == nil {
			err = t.AddRows(some)
		}
	}
	if err != nil {
		return 0, err
	}
	return from.Applied()
}

// GPURows is what a rank has of the rows that are on GPUs.
type GPURows struct {
	model.RowsRoom
	Rows    int // at present
	Updates int // of rows, by gradients, since the training began here
}

// RowsOnGPUs returns what each rank of this process has of the rows, in rank order: nothing if PSs have them.
func RowsOnGPUs(m *ModelState) (all []GPURows, err error) {
	if m.onGPU == nil {
		return nil, nil
	}
	for _, rows := range m.onGPU.rows {
		of := GPURows{RowsRoom: rows.Room()}
		if of.Rows, err = rows.Len(); err != nil {
			return nil, err
		}
		if of.Updates, err = rows.Applied(); err != nil {
			return nil, err
		}
		all = append(all, of)
	}
	return all, nil
}

// RowsOnPSs returns how many rows the PSs of this process have, and the memory of these with their index.
func RowsOnPSs(m *ModelState) (rows int, memory unit.Bytes) {
	for _, s := range m.shards {
		if s == nil {
			continue
		}
		for _, t := range s.Tables() {
			rows, memory = rows+t.Len(), memory+t.Memory()
		}
	}
	return rows, memory
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
	if len(g.rows) == 1 {
		return g.rows[0].ReadTrained(signs, dst)
	}
	for rank, rows := range g.rows {
		var own []uint64
		var places []int
		for i, sign := range signs {
			if g.shares.Owner(sign) == rank {
				own, places = append(own, sign), append(places, i)
			}
		}
		values := make([]float32, len(own)*g.dim)
		if err := rows.ReadTrained(own, values); err != nil {
			return err
		}
		for k, i := range places {
			copy(dst[i*g.dim:(i+1)*g.dim], values[k*g.dim:])
		}
	}
	return nil
}

// missed counts the row gradients applied here, none of which has missed an update.
func (g *gpuRows) missed() (h histogram.Histogram) {
	if applied := g.table().Outcomes().Applied; g.passes > 0 {
		h.AddCount(0, uint64(applied-g.earlier))
	}
	return h
}
