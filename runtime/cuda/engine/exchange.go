package engine

import (
	"fmt"
	"slices"
	"unsafe"

	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/runtime/cuda"
)

// exchange is what the rows of a rank need where several ranks share all rows: each owns those of some signs,
// as package shard deals them out. The package comment has the way of a step.
type exchange struct {
	*rows
	rank, ranks int
	with        *cuda.Communicator // of all ranks, once they have met
	meeting     *meeting           // of the same
	// copies has the rows of the rank's own batch, in the order of their owners, in which they travel: their
	// values on the way forward, and the sums of their gradients on the way back.
	copies      rowTable
	copiesAt    cuda.Address
	dealt       cuda.Address    // the signs of copies, in this order
	keys, order [2]cuda.Address // of copies, to sort them by owners
	// asked are the rows that ranks ask for, each rank for at most block of them in a step, and of which this
	// rank is the owner.
	asked          occurrences
	block          int
	traded         cuda.Address // the values of these rows, and then their gradients
	numbers        []float32    // pinned, of int32: how many rows the rank asks each for
	sends, answers []int        // rows asked of each rank, and asked by each
}

// newExchange lays the exchange of a rank out, whose batches name up to a number of rows.
func newExchange(t *rows, m *memory, rank, ranks, room int) *exchange {
	x := &exchange{rows: t, rank: rank, ranks: ranks, sends: make([]int, ranks), answers: make([]int, ranks),
		numbers: m.host(ranks)}
	x.copies = rowTable{counts: m.floats(3), dim: int32(t.config.Dim), copies: 1}
	x.copiesAt = m.raw(int(unsafe.Sizeof(x.copies)))
	x.asked = occurrences{memory: apart(m), bags: ranks}
	x.allocateAsked(min(room/ranks+room/ranks/4, x.most()))
	joined(m, x.asked.memory)
	return x
}

// allocateCopies makes room for the rows of a batch of a number of occurrences, in memory.
func (x *exchange) allocateCopies(m *memory, room int) {
	c := &x.copies
	c.capacity, c.slots = int32(room), uint64(model.RowSlots(room))
	c.index, c.signs = m.raw(model.RowSlotBytes*model.RowSlots(room)), m.raw(8*room)
	c.values = m.floats(room * x.config.Dim)
	x.dealt = m.raw(8 * room)
	for i := range x.keys {
		x.keys[i], x.order[i] = m.floats(room), m.floats(room)
	}
}

// allocateAsked makes room for a number of rows that each rank asks for.
func (x *exchange) allocateAsked(block int) {
	x.block = max(block, 1)
	x.asked.allocate(x.config.Dim, x.ranks*x.block)
	x.asked.batch.group = int32(x.block * x.config.Dim)
	x.traded = x.asked.memory.floats(x.ranks * x.block * x.config.Dim)
}

// most is the largest number of rows that each rank may ask for: their values have places of 32 bits.
func (x *exchange) most() int { return mostOccurrences(x.ranks * x.config.Dim) }

// growAsked makes room for more rows that a rank asks for, and some to spare.
func (x *exchange) growAsked(block int) error {
	if block > x.most() {
		return fmt.Errorf("a rank asks cuda:%d for %d rows in a step; at most %d of %d values: lower "+
			"training.global-batch", x.device.Info().Ordinal, block, x.most(), x.config.Dim)
	}
	x.asked.memory.free()
	x.asked.memory.err = nil
	if x.allocateAsked(min(block+block/4, x.most())); x.asked.memory.err != nil {
		return fmt.Errorf("a rank asks cuda:%d for %d rows in a step: %w; lower rows.capacity or "+
			"training.global-batch", x.device.Info().Ordinal, block, x.asked.memory.err)
	}
	x.describe()
	return x.err
}

// describe writes the description of what is asked for kernels.
func (x *exchange) describe() { x.write(x.asked.batchAt, bytesOf(&x.asked.batch)) }

// fetch makes the copies of the rows that the staged batch names, and creates those of this rank that any
// rank names and that do not exist. The trades of all ranks lie between two meetings: before the first, ranks
// may allocate and free memory, and after the second, record graphs.
func (x *exchange) fetch(part *batch.Part, rate float32, samples int) error {
	defer exchanges.begin()()
	t, b, copies := x.rows, &x.batch, cuda.Pointer(x.copiesAt)
	t.take(part)
	t.copyIn(b.at, b.staged)
	t.each("clear_index", model.RowSlots(b.room), copies)
	t.clear(x.copies.counts, 3)
	t.poolGroups(x.copiesAt, notes)
	t.number(b, x.copiesAt)
	t.each("key_owners", b.room, cuda.Pointer(x.keys[0]), cuda.Pointer(x.order[0]), copies, cuda.Int(x.ranks))
	t.sortBy(b, x.keys, x.order, x.copies.counts, 0, 0)
	t.each("deal_rows", b.room, cuda.Pointer(x.dealt), copies, cuda.Pointer(x.order[1]))
	if err := x.countRows(); err != nil {
		return err
	}
	if err := x.trade(x.dealt, x.sends, x.asked.batch.signs, x.answers, signBytes, 0); err != nil {
		return err
	}
	x.stageAsked(rate, samples)
	t.copyIn(x.asked.at, x.asked.staged)
	t.eachRow("answer_rows", x.asked.room, cuda.Pointer(x.traded), cuda.Pointer(t.tableAt),
		cuda.Pointer(x.asked.batchAt))
	t.number(&x.asked, t.tableAt)
	t.copyOut(t.compute, t.counts, t.table.counts)
	if err := x.trade(x.traded, x.answers, x.copies.values, x.sends, 4*t.config.Dim, 0); err != nil {
		return err
	}
	_, err := x.meeting.join(x.rank, nil)
	return err
}

// countRows learns how many rows each rank asks each for, which the host must know, and makes room for them.
// All ranks have made room when it returns.
func (x *exchange) countRows() error {
	x.copyOut(x.compute, x.numbers, x.batch.totals())
	if err := x.wait(x.compute); err != nil {
		return err
	}
	for peer, n := range asInts(x.numbers) {
		x.sends[peer] = int(n)
	}
	asked, err := x.meeting.join(x.rank, x.sends)
	if err != nil {
		return err
	}
	for peer := range x.answers {
		x.answers[peer] = asked[peer][x.rank]
	}
	if most := slices.Max(x.answers); most > x.block {
		if err := x.growAsked(most); err != nil {
			return err
		}
	}
	_, err = x.meeting.join(x.rank, nil)
	return err
}

// stageAsked stages where the rows that each rank asks for end, and what their update needs.
func (x *exchange) stageAsked(rate float32, samples int) {
	_, ends := x.asked.head()
	ends[0] = 0
	for peer, n := range x.answers {
		ends[peer+1] = ends[peer] + int32(n)
	}
	x.asked.stage(int(ends[x.ranks]), rate, samples)
}

// trade sends each rank a number of rows of some bytes, and receives others. Rows of a rank follow those of
// the rank before or, where they are received and apart is not 0, begin at a multiple of it. All is there
// when it returns, so that no kernel works on what has not come.
func (x *exchange) trade(from cuda.Address, sends []int, to cuda.Address, receives []int,
	bytes, apart int) error {
	with, received := make([]cuda.Transfer, x.ranks), 0
	for peer := range with {
		if apart > 0 {
			received = peer * apart
		}
		with[peer] = cuda.Transfer{Send: from, SendBytes: bytes * sends[peer],
			Receive: to.Add(bytes * received), ReceiveBytes: bytes * receives[peer]}
		from = from.Add(bytes * sends[peer])
		received += receives[peer]
	}
	if x.err == nil {
		x.err = x.with.Exchange(x.compute, with)
	}
	if err := x.wait(x.compute); err != nil {
		return err
	}
	return x.with.Err()
}

// update sums the gradients of the copies, brings the sums to the owners, and updates the rows of this rank.
// It is the backward pass of the rows, of which every rank has ended that of the network.
func (x *exchange) update() error {
	t, b, copies := x.rows, &x.batch, cuda.Pointer(x.copiesAt)
	sorted := t.sum(b, x.copiesAt, t.grads)
	t.eachRow("send_sums", b.room, cuda.Pointer(x.copies.values), copies, cuda.Pointer(b.batchAt), sorted[0],
		sorted[1])
	if err := x.trade(x.copies.values, x.sends, x.traded, x.answers, 4*t.config.Dim, x.block); err != nil {
		return err
	}
	t.update(&x.asked, t.sum(&x.asked, t.tableAt, x.traded))
	t.copyOut(t.compute, t.staging.found, t.found)
	if err := t.wait(t.compute); err != nil {
		return err
	}
	if t.staging.found[0] != 0 {
		return fmt.Errorf("cuda:%d: the mean gradient of a row over all ranks is not finite; lower the "+
			"learning rate or check the data", t.device.Info().Ordinal)
	}
	return nil
}

// rehearse takes a step without rows, after a trade of a number with each rank. So NCCL connects the GPUs and
// takes its memory, and the driver loads kernels, before the first step: both may wait for all GPUs.
func (x *exchange) rehearse() error {
	one := make([]int, x.ranks)
	for peer := range one {
		one[peer] = 1
	}
	x.clear(x.traded, x.ranks)
	err := x.trade(x.traded, one, x.asked.batch.signs, one, 4, 0)
	x.batch.stage(0, 0, 1)
	x.clear(x.found, 1)
	if err == nil {
		err = x.fetch(&batch.Part{Bounds: make([]int, len(x.groups)+1)}, 0, 1)
	}
	if err == nil {
		err = x.update()
	}
	if err != nil {
		return fmt.Errorf("the GPUs cannot exchange rows: %w; if memory is short, lower rows.capacity: NCCL "+
			"takes some beside the rows", err)
	}
	return nil
}
