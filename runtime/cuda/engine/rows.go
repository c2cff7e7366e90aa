package engine

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/algo/numeric/table"
	"tandem/algo/rng"
	"tandem/algo/unit"
	"tandem/runtime/cuda"
	"tandem/runtime/cuda/kernels"
)

// rows are embedding rows in the memory of a device, with the occurrences of rows in the current batch. They
// implement model.DeviceRows. Their kernels are in rows.cu, which declares rowTable, rowColumn, rowBatch and
// rowRule with the same fields.
type rows struct {
	*replica
	config    model.RowsConfig
	slots     []int // whose rows these are
	states    int   // state values of a row
	table     rowTable
	rule      rowRule
	tableAt   cuda.Address // of table, for kernels
	ruleAt    cuda.Address
	columnsAt cuda.Address // of the slots
	grads     cuda.Address // of the pooled embeddings of all groups, group values apart
	group     int
	batch     occurrences
	count     int       // of the occurrences in the batch
	counts    []float32 // pinned, of int32: rowTable.counts
	scaled    bool      // a slot is scaled
	exchange  *exchange // with the other ranks; nil: there are none
	hosted    hosted    // of rows on PSs
	adds      int       // adds, if these have slots in common with the rows of the device
	// Of ReadTrained: its stream, and where the signs and the values of some rows are.
	reading               *cuda.Stream
	readSigns, readValues cuda.Address
}

// rowTable describes a table to kernels.
type rowTable struct {
	index, signs, updates, values, state, counts, applied cuda.Address
	slots, key                                            uint64
	capacity, dim, states                                 int32
	bound, initial                                        float32
	copies                                                int32
}

// rowColumn describes how a slot becomes model input.
type rowColumn struct{ first, apart, each, scaling int32 }

// rowRule describes a row optimizer.
type rowRule struct {
	corrections                                cuda.Address
	kind, before, last                         int32
	epsilon, bound, beta1, beta2, rest1, rest2 float32
}

// The bytes of a sign, and the number of blocks that count what they apply.
const (
	signBytes     = 8
	countedBlocks = eachBlocks
)

// newRows lays the rows of a replica out, for groups of up to samplesMax samples. The gradients of the pooled
// embeddings of the groups lie group values apart, from grads on.
func newRows(r *replica, m *memory, of *model.ReplicaConfig, samplesMax int, grads cuda.Address,
	group int) *rows {
	c, groups := of.Rows, of.Groups
	t := &rows{replica: r, config: *c, slots: c.Own(), grads: grads, group: group}
	t.states = c.Optimizer.StateSize(c.Dim)
	if c.HotOnly {
		t.adds = adds
	}
	capacity := c.Capacity
	t.table = rowTable{
		index: m.raw(model.RowSlotBytes * model.RowSlots(capacity)), signs: m.raw(8 * capacity),
		updates: m.raw(4 * capacity), values: m.floats(capacity * c.Dim),
		state: m.floats(capacity * t.states), counts: m.floats(3), applied: m.doubles(countedBlocks),
		slots: uint64(model.RowSlots(capacity)),
		key:   rng.Key(c.Seed, "row"), capacity: int32(capacity), dim: int32(c.Dim), states: int32(t.states),
		bound: c.InitBound, initial: initialState(c.Optimizer),
	}
	t.tableAt, t.ruleAt = m.raw(int(unsafe.Sizeof(t.table))), m.raw(int(unsafe.Sizeof(t.rule)))
	t.columnsAt = m.raw(len(t.slots) * int(unsafe.Sizeof(rowColumn{})))
	t.hosted = newHosted(m, c, groups*samplesMax)
	t.counts, t.readSigns, t.readValues = m.host(3), m.raw(signBytes*readOnce), m.floats(readOnce*c.Dim)
	corrections := t.corrections()
	t.rule = ruleOf(c.Optimizer)
	t.rule.corrections, t.rule.last = m.doubles(len(corrections)), int32(len(corrections)/2-1)
	each := 0
	for _, s := range t.slots {
		slot := &c.Schema.Slots[s]
		each += slot.RowsPerID()
		t.scaled = t.scaled || slot.Scale != batch.Unscaled
	}
	room := min(groups*samplesMax*each, mostOccurrences(c.Dim))
	if of.Ranks > 1 {
		t.exchange = newExchange(t, m, of.Rank, of.Ranks, room)
	}
	t.batch = occurrences{memory: apart(m), bags: groups * samplesMax * len(t.slots), fromHost: true}
	t.fit(room)
	joined(m, t.batch.memory)
	return t
}

// apart returns memory that can be freed before other memory, and joined makes it be freed with that.
func apart(m *memory) *memory { return &memory{device: m.device, measuring: m.measuring} }

func joined(m, part *memory) {
	m.bytes += part.bytes
	if m.err == nil {
		m.err = part.err
	}
	m.closers = append(m.closers, freed{part})
}

// freed is memory that is freed with other memory.
type freed struct{ *memory }

// Close implements io.Closer.
func (f freed) Close() error {
	f.free()
	return nil
}

// initialState returns the state values of a row that has never been updated.
func initialState(o opt.RowSpec) float32 {
	if o.Kind == opt.Adagrad || o.Kind == opt.RowwiseAdagrad {
		return float32(o.InitialAccumulator)
	}
	return 0
}

// ruleOf returns the description of an optimizer for kernels.
func ruleOf(o opt.RowSpec) rowRule {
	f := o.AdamFactors(1, 1)
	r := rowRule{epsilon: float32(o.Epsilon), bound: float32(math.Inf(1)),
		beta1: f.Beta1, beta2: f.Beta2, rest1: f.Rest1, rest2: f.Rest2,
		kind: map[string]int32{opt.SGD: 0, opt.Adagrad: 1, opt.RowwiseAdagrad: 2, opt.Adam: 3}[o.Kind]}
	if o.Order == opt.Before {
		r.before = 1
	}
	if o.WeightBound > 0 {
		r.bound = float32(o.WeightBound)
	}
	return r
}

// corrections returns the bias corrections of Adam by the number of updates of a row: pairs of 1 − beta1ᵗ and
// the factor of the root, up to the first pair that rounds to 1. Kernels cannot compute the powers with the
// host's bits.
func (t *rows) corrections() (all []float64) {
	o := &t.config.Optimizer
	all = []float64{1, 1}
	if o.Kind != opt.Adam {
		return all
	}
	const most = 1 << 24 // the count of updates stays there
	for n := 1; n < most; n++ {
		rest, root := 1-math.Pow(o.Beta1, float64(n)), o.AdamFactors(1, float64(n)).Root
		all = append(all, rest, float64(root))
		if rest > 1-0x1p-27 && root == 1 {
			break
		}
	}
	return all
}

// describe writes the descriptions of table, optimizer and slots for kernels, and clears the table.
func (t *rows) describe() {
	t.write(t.rule.corrections, cuda.Bytes(t.corrections()))
	t.write(t.tableAt, bytesOf(&t.table))
	t.write(t.ruleAt, bytesOf(&t.rule))
	first := 0
	var columns []int32
	for i := range t.config.Schema.Slots {
		slot := &t.config.Schema.Slots[i]
		c := rowColumn{first: int32(first), each: int32(slot.RowsPerID()), scaling: int32(slot.Scale)}
		if slot.Pooling == batch.Raw {
			c.apart = int32(slot.FixedSize)
		}
		if slices.Contains(t.slots, i) {
			columns = append(columns, c.first, c.apart, c.each, c.scaling)
		}
		first += slot.Width()
	}
	t.write(t.columnsAt, cuda.Bytes(columns))
	t.write(t.hosted.columnsAt, cuda.Bytes(t.hosted.columns))
	t.clear(t.table.counts, 3)
	t.clear(t.table.applied, 2*countedBlocks)
	t.each("clear_index", model.RowSlots(t.config.Capacity), cuda.Pointer(t.tableAt))
	t.describeBatch()
	if t.exchange != nil {
		t.exchange.describe()
	}
}

// bytesOf returns the memory of a value that has no pointers.
func bytesOf[T rowTable | rowRule | rowBatch](v *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))
}

// Rows implements model.RowHolder.
func (r *replica) Rows() model.DeviceRows {
	if r.rows == nil {
		return nil
	}
	return r.rows
}

// Len implements model.DeviceRows.
func (t *rows) Len() (int, error) {
	var n [1]int32
	err := t.copyBack(cuda.Bytes(n[:]), t.table.counts)
	return int(n[0]), err
}

// Applied implements model.DeviceRows.
func (t *rows) Applied() (n int, err error) {
	var blocks [countedBlocks]uint64
	err = t.copyBack(cuda.Bytes(blocks[:]), t.table.applied)
	for _, own := range blocks {
		n += int(own)
	}
	return n, err
}

// Room implements model.DeviceRows.
func (t *rows) Room() model.RowsRoom {
	return model.RowsRoom{Device: fmt.Sprintf("cuda:%d", t.device.Info().Ordinal),
		Capacity: t.config.Capacity, Memory: t.config.RowBytes() * unit.Bytes(t.config.Capacity)}
}

// readOnce is the number of rows that are read for evaluation at a time.
const readOnce = 1 << 14

// ReadTrained implements model.DeviceRows. The goroutine of one rank reads the rows of all, while the others
// may wait for it in the middle of a forward pass. So it has a stream of its own, and memory from the start:
// to free memory is to wait for all streams of the device.
func (t *rows) ReadTrained(signs []uint64, dst []float32) error {
	s, dim := &shared{device: t.device, compute: t.reading}, t.config.Dim
	for lo := 0; lo < len(signs) && s.err == nil; lo += readOnce {
		hi := min(lo+readOnce, len(signs))
		s.write(t.readSigns, cuda.Bytes(signs[lo:hi]))
		s.eachRow("read_rows", hi-lo, cuda.Pointer(t.readValues), cuda.Pointer(t.tableAt),
			cuda.Pointer(t.readSigns), cuda.Int(hi-lo))
		_ = s.copyBack(cuda.Bytes(dst[lo*dim:hi*dim]), t.readValues)
	}
	return s.err
}

// The header of a row, as rows.cu has it.
const (
	mostUpdates = 1<<30 - 1
	rowRead     = 1 << 30
)

// CopyRows implements model.DeviceRows.
func (t *rows) CopyRows(first int, c *table.Columns) error {
	n, dim := len(c.Signs), t.config.Dim
	headers := make([]uint32, n)
	_ = t.copyBack(cuda.Bytes(c.Signs), t.table.signs.Add(8*first))
	_ = t.copyBack(cuda.Bytes(headers), t.table.updates.Floats(first))
	_ = t.copyBack(c.Embeddings[:4*n*dim], t.table.values.Floats(first*dim))
	err := t.copyBack(c.States[:4*n*t.states], t.table.state.Floats(first*t.states))
	for i, h := range headers {
		c.Updates[i], c.Read[i] = h&mostUpdates, uint8(h&rowRead/rowRead)
	}
	return err
}

// AddRows implements model.DeviceRows.
func (t *rows) AddRows(c *table.Columns) error {
	n := len(c.Signs)
	if n > t.config.Capacity {
		return fmt.Errorf("%w: cuda:%d would have %d rows of the model, and there is room for %d; raise "+
			"rows.capacity or rows.memory, take more GPUs (roles.ranks), or leave slots to PSs (placement "+
			"in data.slots), or rare rows (rows.hot)", table.ErrFull,
			t.device.Info().Ordinal, n, t.config.Capacity)
	}
	headers := make([]uint32, n)
	for i := range headers {
		headers[i] = c.Updates[i] | uint32(c.Read[i])*rowRead
	}
	t.write(t.table.signs, cuda.Bytes(c.Signs))
	t.write(t.table.updates, cuda.Bytes(headers))
	t.write(t.table.values, c.Embeddings)
	t.write(t.table.state, c.States)
	t.each("index_rows", n, cuda.Pointer(t.tableAt), cuda.Int(n))
	return t.wait(t.compute)
}

// eachRow appends a kernel that has ROW_LANES threads for each of n rows or bags.
func (s *shared) eachRow(kernel string, n int, args ...cuda.Arg) {
	if n > 0 {
		blocks := min((n+kernels.RowsOfBlock-1)/kernels.RowsOfBlock, eachBlocks)
		s.launch(kernel, cuda.Size{X: blocks}, cuda.Size{X: kernels.RowLanes, Y: kernels.RowsOfBlock}, 0,
			args...)
	}
}
