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
	fromHost    bool         // signs are staged, too
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

// mostOccurrences is the largest number of occurrences, whose values have places of 32 bits.
func mostOccurrences(dim int) int { return math.MaxInt32 / max(dim, 1) }

// allocate makes room for a number of occurrences of rows of dim values.
func (o *occurrences) allocate(dim, room int) {
	m := o.memory
	o.room = max(room, 1)
	signs, rest := 2*o.room, headWords+o.bags+1
	o.batch.signs = m.floats(signs + rest)
	o.batch.count = o.batch.signs.Floats(signs)
	o.batch.ends = o.batch.count.Floats(headWords)
	o.staged, o.at = m.host(rest), o.batch.count
	if o.fromHost {
		o.staged, o.at = m.host(signs+rest), o.batch.signs
	}
	o.batch.at, o.batch.places, o.batch.segments = m.floats(o.room), m.floats(o.room), m.floats(o.room)
	o.batch.partial, o.batch.bases = m.floats(o.room*dim), m.floats(o.chunks(kernels.OccurrencesOfChunk))
	for i := range o.keys {
		o.keys[i], o.order[i] = m.floats(o.room), m.floats(o.room)
	}
	o.digits = m.floats(kernels.Digits * (o.chunks(kernels.SortedOfChunk) + 1))
	o.batchAt = m.raw(int(unsafe.Sizeof(o.batch)))
}

// chunks returns the number of chunks of all occurrences.
func (o *occurrences) chunks(each int) int { return (o.room + each - 1) / each }

// head returns where the count, the rate and the samples are staged, and the ends of bags.
func (o *occurrences) head() (head []float32, ends []int32) {
	rest := o.staged[len(o.staged)-headWords-o.bags-1:]
	return rest[:headWords], asInts(rest[headWords:])
}

// stage stages how many occurrences there are, the learning rate, and the number of samples of the step.
func (o *occurrences) stage(count int, rate float32, samples int) {
	head, _ := o.head()
	asInts(head)[0] = int32(count)
	head[1], head[2] = rate, float32(samples)
}

// fit makes room for a number of occurrences in the rank's own batches.
func (t *rows) fit(room int) {
	b := &t.batch
	b.allocate(t.config.Dim, room)
	b.batch.columns, b.batch.group = t.columnsAt, int32(t.group)
	b.batch.slots, b.batch.width = int32(len(t.slots)), int32(t.config.Schema.EmbeddingWidth())
	if t.scaled {
		b.batch.scales = b.memory.floats(b.room)
	}
	if t.exchange != nil {
		t.exchange.allocateCopies(b.memory, b.room)
	}
}

// describeBatch writes the description of the occurrences for kernels.
func (t *rows) describeBatch() {
	t.write(t.batch.batchAt, bytesOf(&t.batch.batch))
	if t.exchange != nil {
		t.write(t.exchange.copiesAt, bytesOf(&t.exchange.copies))
	}
}

// grow makes room for more occurrences, and some to spare. Recorded work has the old addresses.
func (t *rows) grow(room int) error {
	if err := t.wait(t.compute); err != nil {
		return err
	}
	t.graphs = map[string]*recorded{}
	t.batch.memory.free()
	t.batch.memory.err = nil
	if t.fit(min(room+room/4, mostOccurrences(t.config.Dim))); t.batch.memory.err != nil {
		return fmt.Errorf("a batch names %d rows: %w", room, t.batch.memory.err)
	}
	t.describeBatch()
	return t.err
}

// Forward implements model.DeviceRows.
func (t *rows) Forward(part *batch.Part, ids []batch.Jagged, pooled, grads []float32, rate float32,
	samples int) error {
	if err := t.stage(part, ids); err != nil {
		return err
	}
	t.batch.stage(t.count, rate, samples)
	if t.exchange != nil {
		if err := t.exchange.fetch(part, rate, samples); err != nil {
			return err
		}
	}
	if err := t.replica.forwardPart(part, pooled, grads); err != nil {
		return err
	}
	if counts := asInts(t.counts); counts[2] != 0 {
		return fmt.Errorf("%w: cuda:%d has %d rows of at most %d, and the batch has more; raise "+
			"rows.capacity or rows.memory, take more GPUs (roles.ranks), or leave slots to PSs (placement "+
			"in data.slots), or rare rows (rows.hot)", table.ErrFull,
			t.device.Info().Ordinal, counts[0], t.config.Capacity)
	}
	return nil
}

// stage writes the signs of the rows of a part's ids to pinned memory, by group, slot and sample, and where
// the rows of each bag end.
func (t *rows) stage(part *batch.Part, ids []batch.Jagged) error {
	schema, n := t.config.Schema, 0
	for s := range ids {
		n += len(ids[s].IDs) * schema.Slots[t.slots[s]].RowsPerID()
	}
	if most := mostOccurrences(t.config.Dim); n > most {
		return fmt.Errorf("a batch names %d rows; at most %d of %d values", n, most, t.config.Dim)
	}
	if n > t.batch.room {
		if err := t.grow(n); err != nil {
			return err
		}
	}
	signs := unsafe.Slice((*uint64)(unsafe.Pointer(&t.batch.staged[0])), t.batch.room)
	_, ends := t.batch.head()
	var begins []int32 // in signs, of the ids of each slot in each group
	begin := int32(0)
	for g := range part.Groups() {
		for s := range ids {
			offsets := ids[s].Offsets[part.Bounds[g] : part.Bounds[g+1]+1]
			begins = append(begins, begin)
			begin += (offsets[len(offsets)-1] - offsets[0]) * int32(schema.Slots[t.slots[s]].RowsPerID())
		}
	}
	write := func(i int) {
		g, s := i/len(ids), i%len(ids)
		lo, hi := part.Bounds[g], part.Bounds[g+1]
		offsets, each := ids[s].Offsets[lo:hi+1], int32(schema.Slots[t.slots[s]].RowsPerID())
		schema.Signer(t.slots[s]).AppendSigns(signs[:begins[i]], ids[s].IDs[offsets[0]:offsets[hi-lo]])
		bags := ends[lo*len(ids)+s*(hi-lo)+1:]
		for k, end := range offsets[1:] {
			bags[k] = begins[i] + each*(end-offsets[0])
		}
	}
	ends[0] = 0
	if n > copiedAtOnce {
		hashers().ForEach(len(begins), write)
	} else {
		for i := range begins {
			write(i)
		}
	}
	t.count = n
	return nil
}

// asInts returns memory of numbers as that of integers.
func asInts(words []float32) []int32 {
	return unsafe.Slice((*int32)(unsafe.Pointer(&words[0])), len(words))
}

// The work of pool_group.
const (
	notes = 1 // NOTES
	pools = 2 // POOLS
	adds  = 4 // ADDS
)

// forward appends the copy of what is staged, and finds, pools and creates the rows of all groups. The rows
// that several ranks have fetched are pooled.
func (t *rows) forward() {
	if t.exchange != nil {
		t.poolGroups(t.exchange.copiesAt, pools|t.adds)
		return
	}
	t.copyIn(t.batch.at, t.batch.staged)
	t.poolGroups(t.tableAt, notes|pools|t.adds)
	t.number(&t.batch, t.tableAt)
	t.copyOut(t.compute, t.counts, t.table.counts)
}

// poolGroups notes the occurrences of rows of a table in all groups, or pools these rows.
func (t *rows) poolGroups(table cuda.Address, what int) {
	slots := len(t.slots)
	for g, p := range t.groups {
		t.eachRow("pool_group", p.samples*slots, cuda.Pointer(p.value(model.PooledValue)),
			cuda.Pointer(table), cuda.Pointer(t.batch.batchAt), cuda.Int(t.part.Bounds[g]*slots),
			cuda.Int(g*t.group), cuda.Int(p.samples), cuda.Int(what))
	}
}

// number creates the rows of a table that occur and do not exist, in the order of their first occurrences,
// and makes the keys by which the occurrences are sorted.
func (t *rows) number(o *occurrences, table cuda.Address) {
	in, batch := cuda.Pointer(table), cuda.Pointer(o.batchAt)
	chunks, threads := o.chunks(kernels.OccurrencesOfChunk), cuda.Size{X: kernels.CountThreads}
	t.launch("count_new_rows", cuda.Size{X: chunks}, threads, 0, in, batch)
	t.launch("number_new_rows", cuda.Size{X: 1}, threads, 0, in, batch, cuda.Int(chunks))
	t.launch("create_rows", cuda.Size{X: chunks}, threads, 0, in, batch, cuda.Pointer(o.keys[0]),
		cuda.Pointer(o.order[0]))
}

// backward sorts the occurrences by their rows, sums the gradients of each row and updates it.
func (t *rows) backward() {
	t.update(&t.batch, t.sum(&t.batch, t.tableAt, t.grads))
}

// sum sorts occurrences by the rows of a table, and sums the gradients of each row in each group. It returns
// the sorted keys and the order.
func (t *rows) sum(o *occurrences, table, grads cuda.Address) (sorted []cuda.Arg) {
	from := 0
	for shift := 0; shift < bits.Len(uint(o.room-1)); shift += kernels.DigitBits {
		t.sortBy(o, o.keys, o.order, o.batch.count, from, shift)
		from = 1 - from
	}
	sorted = []cuda.Arg{cuda.Pointer(o.keys[from]), cuda.Pointer(o.order[from])}
	t.eachRow("sum_row_gradients", o.room, cuda.Pointer(table), cuda.Pointer(o.batchAt), sorted[0], sorted[1],
		cuda.Pointer(grads))
	return sorted
}

// sortBy sorts as many keys as there are at an address by a digit, with their order: those at one place to
// the other. There is room for as many as there are occurrences.
func (t *rows) sortBy(o *occurrences, keys, order [2]cuda.Address, count cuda.Address, from, shift int) {
	chunks, threads := o.chunks(kernels.SortedOfChunk), cuda.Size{X: kernels.CountThreads}
	digits, n, to := cuda.Pointer(o.digits), cuda.Pointer(count), 1-from
	t.launch("count_digits", cuda.Size{X: chunks}, threads, 0, digits, n, cuda.Pointer(keys[from]),
		cuda.Int(shift))
	t.each("sum_digits", kernels.Digits, digits, cuda.Int(chunks))
	t.launch("place_digits", cuda.Size{X: chunks}, threads, 0, cuda.Pointer(keys[to]),
		cuda.Pointer(order[to]), digits, n, cuda.Pointer(keys[from]), cuda.Pointer(order[from]),
		cuda.Int(shift))
}

// totals returns where the numbers of occurrences of each digit are after sortBy.
func (o *occurrences) totals() cuda.Address {
	return o.digits.Floats(o.chunks(kernels.SortedOfChunk) * kernels.Digits)
}

// update updates the rows whose gradients have been summed, by their sums over groups.
func (t *rows) update(o *occurrences, sorted []cuda.Arg) {
	t.eachRow("update_rows", o.room, cuda.Pointer(t.tableAt), cuda.Pointer(o.batchAt), sorted[0], sorted[1],
		cuda.Pointer(t.ruleAt), cuda.Pointer(t.found))
}
