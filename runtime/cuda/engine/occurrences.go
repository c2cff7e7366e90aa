package engine

import (
	"fmt"
	"math"
	"math/bits"
	"unsafe"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/table"
	"tandem/runtime/cuda"
	"tandem/runtime/cuda/kernels"
)

// occurrences are the occurrences of rows in the current batch, on the device. Their number differs from
// batch to batch. Kernels are launched for as many as there is room for, and read the number.
type occurrences struct {
	memory      *memory
	room        int          // the number of occurrences that fit
	bags        int          // the largest number of bags
	staged      []float32    // pinned: signs, then the count with rate and samples, then the ends of bags
	at          cuda.Address // of what is staged
	batch       rowBatch
	batchAt     cuda.Address    // of batch, for kernels
	keys, order [2]cuda.Address // sorted from one to the other
	digits      cuda.Address
}

// rowBatch describes occurrences to kernels.
type rowBatch struct {
	count, ends, signs, columns, at, places, scales, partial, segments, bases cuda.Address
	slots, width, group                                                       int32
}

// headWords is the number of words of the count, the learning rate and the number of samples, rounded up.
const headWords = 4

// allocate makes room for a number of occurrences.
func (o *occurrences) allocate(t *rows, room int) {
	m, dim := o.memory, t.config.Dim
	o.room = max(room, 1)
	words := 2*o.room + headWords + o.bags + 1
	o.staged, o.at = m.host(words), m.floats(words)
	head := o.at.Floats(2 * o.room)
	o.batch = rowBatch{
		count: head, ends: head.Floats(headWords), signs: o.at, columns: t.columnsAt, at: m.floats(o.room),
		places: m.floats(o.room), partial: m.floats(o.room * dim), segments: m.floats(o.room),
		bases: m.floats(o.chunks(kernels.OccurrencesOfChunk)), slots: int32(len(t.config.Schema.Slots)),
		width: int32(t.config.Schema.EmbeddingWidth()), group: int32(t.group),
	}
	if t.scaled {
		o.batch.scales = m.floats(o.room)
	}
	for i := range o.keys {
		o.keys[i], o.order[i] = m.floats(o.room), m.floats(o.room)
	}
	o.digits = m.floats(kernels.Digits * (o.chunks(kernels.SortedOfChunk) + 1))
	o.batchAt = m.raw(int(unsafe.Sizeof(o.batch)))
}

// chunks returns the number of chunks of all occurrences.
func (o *occurrences) chunks(each int) int { return (o.room + each - 1) / each }

// describe writes the description of the occurrences for kernels.
func (o *occurrences) describe(t *rows) { t.write(o.batchAt, bytesOf(&o.batch)) }

// grow makes room for more occurrences, and some to spare. Recorded work has the old addresses.
func (t *rows) grow(room int) error {
	if err := t.wait(t.compute); err != nil {
		return err
	}
	t.graphs = map[string]*recorded{}
	t.batch.memory.free()
	t.batch.memory.err = nil
	if t.batch.allocate(t, room+room/4); t.batch.memory.err != nil {
		return fmt.Errorf("a batch names %d rows: %w", room, t.batch.memory.err)
	}
	t.batch.describe(t)
	return t.err
}

// Forward implements model.DeviceRows.
func (t *rows) Forward(part *batch.Part, ids []batch.Jagged, rate float32) error {
	if err := t.stage(part, ids, rate); err != nil {
		return err
	}
	if err := t.replica.forwardPart(part, nil, nil); err != nil {
		return err
	}
	if counts := asInts(t.counts); counts[2] != 0 {
		return fmt.Errorf("%w: the GPU has %d rows of at most %d, and the batch has more; raise "+
			"rows.capacity or rows.memory", table.ErrFull, counts[0], t.config.Capacity)
	}
	return nil
}

// stage writes the signs of the rows of a part's ids to pinned memory, by group, slot and sample, and where
// the rows of each bag end.
func (t *rows) stage(part *batch.Part, ids []batch.Jagged, rate float32) error {
	schema, n := t.config.Schema, 0
	for s := range ids {
		n += len(ids[s].IDs) * schema.Slots[s].RowsPerID()
	}
	if most := math.MaxInt32 / max(t.config.Dim, 1); n > most {
		return fmt.Errorf("a batch names %d rows; at most %d of %d values", n, most, t.config.Dim)
	}
	if n > t.batch.room {
		if err := t.grow(n); err != nil {
			return err
		}
	}
	signs := unsafe.Slice((*uint64)(unsafe.Pointer(&t.batch.staged[0])), t.batch.room)
	rest := t.batch.staged[2*t.batch.room:]
	head, ends := asInts(rest[:headWords]), asInts(rest[headWords:])
	var begins []int32 // in signs, of the ids of each slot in each group
	begin := int32(0)
	for g := range part.Groups() {
		for s := range ids {
			offsets := ids[s].Offsets[part.Bounds[g] : part.Bounds[g+1]+1]
			begins = append(begins, begin)
			begin += (offsets[len(offsets)-1] - offsets[0]) * int32(schema.Slots[s].RowsPerID())
		}
	}
	write := func(i int) {
		g, s := i/len(ids), i%len(ids)
		lo, hi := part.Bounds[g], part.Bounds[g+1]
		offsets, each := ids[s].Offsets[lo:hi+1], int32(schema.Slots[s].RowsPerID())
		schema.Signer(s).AppendSigns(signs[:begins[i]], ids[s].IDs[offsets[0]:offsets[hi-lo]])
		bags := ends[lo*len(ids)+s*(hi-lo)+1:]
		for k, end := range offsets[1:] {
			bags[k] = begins[i] + each*(end-offsets[0])
		}
	}
	ends[0] = 0
	if n > copiedAtOnce {
		copiers().ForEach(len(begins), write)
	} else {
		for i := range begins {
			write(i)
		}
	}
	head[0] = int32(n)
	rest[1], rest[2] = rate, float32(part.Samples)
	return nil
}

// asInts returns memory of numbers as that of integers.
func asInts(words []float32) []int32 {
	return unsafe.Slice((*int32)(unsafe.Pointer(&words[0])), len(words))
}

// forward appends the copy of what is staged, and finds, pools and creates the rows of all groups.
func (t *rows) forward() {
	b, table, batch := &t.batch, cuda.Pointer(t.tableAt), cuda.Pointer(t.batch.batchAt)
	t.copyIn(b.at, b.staged)
	slots := len(t.config.Schema.Slots)
	for g, p := range t.groups {
		t.eachRow("pool_group", p.samples*slots, cuda.Pointer(p.value(model.PooledValue)), table, batch,
			cuda.Int(t.part.Bounds[g]*slots), cuda.Int(g*t.group), cuda.Int(p.samples))
	}
	chunks, threads := b.chunks(kernels.OccurrencesOfChunk), cuda.Size{X: kernels.CountThreads}
	t.launch("count_new_rows", cuda.Size{X: chunks}, threads, 0, table, batch)
	t.launch("number_new_rows", cuda.Size{X: 1}, threads, 0, table, batch, cuda.Int(chunks))
	t.launch("create_rows", cuda.Size{X: chunks}, threads, 0, table, batch, cuda.Pointer(b.keys[0]),
		cuda.Pointer(b.order[0]))
	t.copyOut(t.compute, t.counts, t.table.counts)
}

// backward sorts the occurrences by their rows, sums the gradients of each row and updates it.
func (t *rows) backward() {
	b, table, batch := &t.batch, cuda.Pointer(t.tableAt), cuda.Pointer(t.batch.batchAt)
	chunks, threads := b.chunks(kernels.SortedOfChunk), cuda.Size{X: kernels.CountThreads}
	digits, count := cuda.Pointer(b.digits), cuda.Pointer(b.batch.count)
	from := 0
	for shift := 0; shift < bits.Len(uint(b.room-1)); shift += kernels.DigitBits {
		keys, to := cuda.Pointer(b.keys[from]), 1-from
		t.launch("count_digits", cuda.Size{X: chunks}, threads, 0, digits, count, keys, cuda.Int(shift))
		t.each("sum_digits", kernels.Digits, digits, cuda.Int(chunks))
		t.launch("place_digits", cuda.Size{X: chunks}, threads, 0, cuda.Pointer(b.keys[to]),
			cuda.Pointer(b.order[to]), digits, count, keys, cuda.Pointer(b.order[from]), cuda.Int(shift))
		from = to
	}
	keys, order := cuda.Pointer(b.keys[from]), cuda.Pointer(b.order[from])
	t.eachRow("sum_row_gradients", b.room, table, batch, keys, order, cuda.Pointer(t.grads))
	t.eachRow("update_rows", b.room, table, batch, keys, order, cuda.Pointer(t.ruleAt),
		cuda.Pointer(t.found))
}
