package exec

import (
	"fmt"
	"sync"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/embedding"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/compress"
	"tandem/algo/numeric/kernel/vec"
	"tandem/algo/numeric/route"
	"tandem/algo/numeric/shard"
	"tandem/algo/numeric/table"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// hotRows are the hot rows of the ranks of this process. The ranks train in lock step, so they share one
// copy, and the first of them at the optimizer takes its step, as with the weights of the dense network.
type hotRows struct {
	*numerics
	set    *shard.Hot
	bucket int32      // of their gradients in the all-reduce
	ranks  []*hotRank // by rank; nil if the rank is in another process

	mu    sync.Mutex // guards what follows: ranks read rows side by side
	rows  *embedding.Shard
	taken int32 // optimizer steps since the roles began
}

// hotRank is what a rank has of the hot rows of the batch that it trains.
type hotRank struct {
	mixed  *route.Mixed
	routed *route.Routed // the bags with hot rows
	signs  []uint64      // of the hot rows of the batch
	places []int32       // of these rows in the set
	pooled []float32     // borrowed
	// given is the contribution to the all-reduce: the gradient sums of all hot rows, and then for each of
	// them 1 if the batch has it, else 0. In between it is that of a batch without hot rows.
	given []float32
}

// newHotRows returns the hot rows of the ranks of this process, which may be none at first, or nil if the job
// asks for none.
func newHotRows(n *numerics, bucket int32, m backend.Backend,
	here func(msg.Address) bool) (*hotRows, error) {
	if !n.job.HasHotRows() {
		return nil, nil
	}
	h := &hotRows{numerics: n, bucket: bucket, ranks: make([]*hotRank, n.job.Roles.Ranks)}
	any := false
	for i := range h.ranks {
		if here(msg.Address{Role: msg.NNWorker, Index: int32(i)}) {
			h.ranks[i], any = &hotRank{}, true
		}
	}
	if !any {
		return nil, nil
	}
	unlimited := n.job // a hot row is never evicted
	unlimited.Rows.Capacity, unlimited.Rows.Memory, unlimited.Rows.Eviction = 0, 0, job.RefuseRows
	rows, err := embedding.NewTables(&unlimited, n.dims, m.RowArena(), n.pool)
	if err != nil {
		return nil, fmt.Errorf("hot %w", err)
	}
	h.rows = embedding.NewShard(n.dims, rows, nil)
	h.setRows()
	return h, h.checkMemory(h.set.Len())
}

// table returns the hot rows, which have one dimension.
func (h *hotRows) table() *table.Table { return h.rows.Tables()[0] }

// setRows makes the hot rows those of the plan. It moves none.
func (h *hotRows) setRows() {
	h.set = h.plan.Hot()
	for _, own := range h.ranks {
		if own != nil {
			own.given = make([]float32, h.set.Len()*(h.dim+1))
			route.Absent(own.given[:h.set.Len()*h.dim])
		}
	}
}

// replace makes the hot rows those of the plan, in place of those of the plan before, and moves rows between
// the ranks and PSs.
func (h *hotRows) replace(before shard.Plan, shards []*embedding.Shard) error {
	h.setRows()
	become := make([][]uint64, len(shards)) // hot, by PS
	for _, sign := range h.set.Signs() {
		if owner := before.Owner(sign); owner < len(shards) {
			become[owner] = append(become[owner], sign)
		}
	}
	stop := make([][]uint64, len(shards)) // being hot
	for _, sign := range before.Hot().Signs() {
		if owner := h.plan.Owner(sign); owner < len(shards) {
			stop[owner] = append(stop[owner], sign)
		}
	}
	for i, s := range shards {
		hot, cold := s.Tables()[0].RemoveRows(become[i]), h.table().RemoveRows(stop[i])
		if err := h.table().AddRows(hot); err != nil {
			return fmt.Errorf("rows that become hot: %w", err)
		}
		if err := s.Tables()[0].AddRows(cold); err != nil {
			return fmt.Errorf("rows that are no longer hot, on PS %d: %w", i, err)
		}
	}
	return nil
}

// checkMemory returns an error if n hot rows take more than the job allows the rows of a PS.
func (h *hotRows) checkMemory(n int) error {
	t, limits := h.table(), h.job.Rows
	each := unit.Bytes(t.EmbeddingBytes() + t.StateBytes())
	hint := "choose a larger rows.hot.share, or rows.hot.most = %d"
	if len(limits.Hot.Slots) > 0 {
		hint = "name fewer rows.hot.slots, or let hot rows be at most %d by a larger rows.hot.share"
	}
	switch all := each * unit.Bytes(n); {
	case limits.Memory > 0 && all > limits.Memory:
		return fmt.Errorf("rows.hot: %d rows of %v take %v on every rank, and rows.memory = %v: "+hint, n,
			each, all, limits.Memory, limits.Memory/each)
	case limits.Capacity > 0 && n > limits.Capacity:
		return fmt.Errorf("rows.hot: %d rows on every rank, and rows.capacity = %d: "+hint, n,
			limits.Capacity, limits.Capacity)
	}
	return nil
}

// atRankZero reports whether rank 0 is in this process.
func (h *hotRows) atRankZero() bool { return h != nil && h.ranks[0] != nil }

// beginAt makes a global step the one that roles count as step 0.
func (h *hotRows) beginAt(step int) {
	h.rows.BeginAt(step)
	h.taken = 0
}

// pool returns the pooled embeddings of a rank's batch: those that the EW has pooled, and those with hot
// rows, whose values it reads here. They are valid until backward.
func (h *hotRows) pool(b embedding.BatchKey, part *batch.Part, m *MixedRows) ([]float32, error) {
	own := h.ranks[b.Rank]
	own.mixed = route.NewMixed(h.schema, part.Samples, m.Slots, m.Cold, len(m.Places))
	own.routed, own.places = own.mixed.Routed(h.schema, *part), m.Places
	own.signs = own.signs[:0]
	for _, place := range m.Places {
		own.signs = append(own.signs, h.set.Signs()[place])
	}
	sent := own.mixed.PooledValues()
	values, err := m.Values.Unpack(sent + m.Cold*h.dim)
	if err != nil {
		return nil, err
	}
	rows := h.buffers.borrow((m.Cold + len(m.Places)) * h.dim)
	defer h.buffers.giveBack(rows)
	copy(rows, values[sent:])
	if err := h.lookup(b, own.signs, rows[m.Cold*h.dim:]); err != nil {
		return nil, err
	}
	own.pooled = h.buffers.borrow(part.Samples * h.width)
	own.routed.PoolOn(h.numerics.pool, own.pooled, nil, h.schema, rows, h.dim)
	own.mixed.Expand(own.pooled, values[:sent])
	return own.pooled, nil
}

func (h *hotRows) lookup(b embedding.BatchKey, signs []uint64, rows []float32) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rows.Lookup(b, signs, rows)
}

// sum makes the contribution of a rank to the all-reduce from the gradients of its pooled embeddings, and
// returns it with those gradients that the EW needs.
func (h *hotRows) sum(w role.Work, grads []float32) (given, toEW []float32) {
	own, n := h.ranks[w.Rank], h.set.Len()
	cold, hot := len(own.mixed.Cold), len(own.places)
	sums := h.buffers.borrow(hot * h.dim)
	own.routed.MergeRange(h.numerics.pool, sums, h.schema, grads, nil, h.dim, cold, cold+hot)
	put := route.Put{Rank: int(w.Rank), Samples: int(w.Samples), Sums: sums}
	if h.job.Training.Scale == job.ScaleRank {
		put.Quotients(sums, 0, hot, h.dim, put.Divisor(0, true))
	}
	for i, place := range own.places {
		copy(own.given[int(place)*h.dim:], sums[i*h.dim:(i+1)*h.dim])
		own.given[n*h.dim+int(place)] = 1
	}
	h.buffers.giveBack(sums)
	toEW = h.buffers.borrow(own.mixed.GradValues())
	own.mixed.CompactGrads(toEW, grads)
	h.buffers.giveBack(own.pooled)
	own.pooled = nil
	return own.given, toEW
}

// apply takes the optimizer step of the hot rows of a step, from the sums over all ranks, unless another rank
// of this process has.
func (h *hotRows) apply(w role.Work, summed []float32) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.taken > w.Step {
		return nil
	}
	h.taken = w.Step + 1
	n, dim := h.set.Len(), h.dim
	var signs []uint64
	var places []int
	for place, count := range summed[n*dim : n*(dim+1)] {
		if count > 0 {
			signs, places = append(signs, h.set.Signs()[place]), append(places, place)
		}
	}
	for rank, own := range h.ranks {
		if own == nil {
			continue
		}
		b := embedding.BatchPut{BatchKey: embedding.BatchKey{Rank: int32(rank), Step: w.Step},
			ByDim: []route.Put{{Signs: own.signs}}}
		if err := h.rows.CountMissed(b); err != nil {
			return err
		}
	}
	// A row that only other ranks have read is created here as it was there.
	rows := h.buffers.borrow(len(signs) * dim)
	defer h.buffers.giveBack(rows)
	if err := h.rows.Create(w.Step, signs, rows); err != nil {
		return err
	}
	divisor := float32(1)
	if h.job.Training.Scale != job.ScaleRank {
		divisor = float32(w.StepSamples)
	}
	for i, place := range places {
		vec.Quotient(rows[i*dim:(i+1)*dim], summed[place*dim:(place+1)*dim], divisor)
	}
	for _, own := range h.ranks {
		if own != nil {
			h.clear(own.given, places)
		}
	}
	gradients := func(_ []float32, lo, hi int) []float32 { return rows[lo*dim : hi*dim] }
	return h.withAdvice(h.rows.ApplyMerged(h.first+int(w.Step), 0, signs, gradients))
}

// clear makes the contribution of a rank that of a batch without hot rows again. A sum may have overwritten
// the places of all rows that any rank has.
func (h *hotRows) clear(given []float32, places []int) {
	for _, place := range places {
		route.Absent(given[place*h.dim : (place+1)*h.dim])
		given[h.set.Len()*h.dim+place] = 0
	}
}

// snapshot copies rows for evaluation.
func (h *hotRows) snapshot(signs []uint64, dst []float32) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rows.Snapshot(signs, dst)
}

// storeMixed stores what a rank needs of a batch in which rows are hot, from the rows of all PSs and the
// pooled embeddings, in a borrowed buffer, and returns its size.
func (w *embeddingWorkerWork) storeMixed(i item, routed *resolved, rows, pooled []float32,
	winners Winners) unit.Bytes {
	m := routed.mixed
	sent := m.PooledValues()
	values := w.buffers.borrow(sent + len(m.Cold)*w.dim)
	m.Compact(values[:sent], pooled)
	for at, row := range m.Cold {
		copy(values[sent+at*w.dim:], rows[int(row)*w.dim:][:w.dim])
	}
	w.buffers.giveBack(pooled)
	mixed := &MixedRows{Values: compress.Pack(w.job.Wire.Precision, values), Cold: len(m.Cold),
		Slots: m.Slots, Places: routed.places, Winners: winners}
	i.store.setLeased(i.Makes[0], mixed, w.lease(values))
	return unit.Bytes(mixed.Size())
}

// check is CheckPayload of a message with these rows. Cost: a pass over the rows of the bags, and a byte for
// each hot row.
func (m *MixedRows) check(of msg.Message, a *Admission) error {
	hot, slots, pooled, count := a.plan.Hot().Len(), a.schema.Slots, 0, 0
	seen := make([]bool, hot)
	for i, place := range m.Places {
		if place < 0 || int(place) >= hot {
			return fmt.Errorf("hot row %d: place %d of %d", i, place, hot)
		}
		if seen[place] {
			return fmt.Errorf("hot row %d: place %d comes twice", i, place)
		}
		seen[place] = true
	}
	if len(m.Slots) != len(slots) {
		return fmt.Errorf("bags of %d slots, want %d", len(m.Slots), len(slots))
	}
	for s, own := range m.Slots {
		if len(own.Offsets) != int(of.Samples)+1 || own.Offsets[0] != 0 ||
			int(own.Offsets[of.Samples]) != len(own.Rows) {
			return fmt.Errorf("bags of slot %d: %d offsets do not cut %d rows into %d samples", s,
				len(own.Offsets), len(own.Rows), of.Samples)
		}
		if count += len(own.Rows); !slots[s].CanBeHot() && len(own.Rows) > 0 {
			return fmt.Errorf("bags of slot %d: hot rows of a raw slot, or one of maxima", s)
		}
		for i := range int(of.Samples) {
			rows := own.Offsets[i+1] - own.Offsets[i]
			if rows < 0 || int(rows)%slots[s].RowsPerID() != 0 {
				return fmt.Errorf("bags of slot %d: sample %d has %d rows", s, i, rows)
			}
			if rows == 0 {
				pooled += slots[s].Width()
			}
		}
		for _, row := range own.Rows {
			if row < 0 || int(row) >= m.Cold+len(m.Places) {
				return fmt.Errorf("bags of slot %d: row %d of %d", s, row, m.Cold+len(m.Places))
			}
		}
	}
	if most := a.signsMax(of); max(count, m.Cold, len(m.Places)) > most {
		return fmt.Errorf("bags with hot rows: %d rows, %d cold and %d hot ones, want at most %d of each",
			count, m.Cold, len(m.Places), most)
	}
	if err := m.Winners.check(int(of.Samples) * a.winners); err != nil {
		return err
	}
	return a.checkCount(m.Values, pooled+m.Cold*a.dim)
}
