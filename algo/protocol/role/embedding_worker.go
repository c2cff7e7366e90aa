package role

import (
	"fmt"
	"slices"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// EmbeddingWorker is one EW. It makes pooled embeddings from the ids of a batch and, later, row gradients
// from the gradients of the pooled embeddings. Batches are independent of each other. An EW can lose all its
// data in a crash: the data loader still has the ids, the PSs have the rows, and the NN worker has the
// gradients.
type EmbeddingWorker struct {
	cfg     *Config
	index   int32
	done    []progress  // by rank: batches that every PS has acknowledged
	batches []heldBatch // in the order of ranks and steps
}

// heldBatch is a batch with its key, so that a search touches no batch.
type heldBatch struct {
	key uint64
	*embeddingBatch
}

// batchKey orders batches by rank, then by step.
func batchKey(rank, step int32) uint64 { return uint64(uint32(rank))<<32 | uint64(uint32(step)) }

// embeddingBatch is the state of one batch in an EW.
type embeddingBatch struct {
	rank, step  int32
	samples     int32
	stepSamples int32
	ids         productStatus // the id features; finished: they are routed
	wanted      bool          // GetEmbeddings has arrived
	dropped     bool          // DropBatch has arrived
	pool        productStatus
	poolBytes   unit.Bytes
	merge       productStatus // the embedding gradients; finished: they are merged into row gradients
	over        bool          // every PS has acknowledged: only the pooled embeddings are held
	routed      Result
	lookups     []requestStatus // by PS; nil before they are due
	puts        []requestStatus
}

// productStatus is the status of one product of a batch.
type productStatus uint8

const (
	absent   productStatus = iota
	waiting                // some of its inputs are here
	working                // the work that makes it is in flight
	finished               // the product is here
)

// requestStatus is the status of a request to one PS.
type requestStatus uint8

const (
	unneeded requestStatus = iota
	queued                 // not sent, for lack of credit
	asked
	answered
)

// NewEmbeddingWorker returns the index-th EW.
func NewEmbeddingWorker(cfg *Config, index int32) *EmbeddingWorker {
	return &EmbeddingWorker{cfg: cfg, index: index, done: make([]progress, cfg.Ranks)}
}

// Address implements Role.
func (e *EmbeddingWorker) Address() msg.Address {
	return msg.Address{Role: msg.EmbeddingWorker, Index: e.index}
}

// HandleInput implements Role.
func (e *EmbeddingWorker) HandleInput(now unit.Tick, in Input, out *Outputs) {
	switch in.Kind {
	case Start:
		*e = *NewEmbeddingWorker(e.cfg, e.index)
	case Received:
		e.receive(in.Message, out)
	case WorkDone:
		e.workDone(now, in, out)
	case WorkFailed:
		out.halt(fmt.Errorf("%v, %v of rank %d step %d: %w", e.Address(), in.Work.Kind, in.Work.Rank,
			in.Work.Step, in.Reason))
	case Stop:
		for _, b := range e.batches {
			e.release(b.embeddingBatch, out)
		}
		e.batches = nil
	}
}

func (e *EmbeddingWorker) receive(m msg.Message, out *Outputs) {
	if e.done[m.Rank].has(m.Step) {
		switch m.Kind {
		case msg.PutGradients, msg.DropBatch, msg.AskKept:
			e.sendAnswer(out, msg.PutDone, m.Rank, m.Step, nil, 0)
		case msg.GetEmbeddings:
			e.repeatEmbeddings(m.Rank, m.Step, out)
		}
		return
	}
	if m.Kind == msg.GetEmbeddings || m.Kind == msg.PutGradients || m.Kind == msg.DropBatch {
		e.raiseFloor(m.Rank, m.Floor, out)
	}
	if m.Kind == msg.Rows || m.Kind == msg.PutAck {
		if b := e.find(m.Rank, m.Step); b != nil && !b.dropped {
			e.receiveAnswer(b, m, out)
		}
		return
	}
	if m.Kind == msg.AskKept {
		e.receiveAskKept(m, out)
		return
	}
	b := e.open(m)
	if b.dropped {
		return // the end of the work in flight ends the batch
	}
	switch m.Kind {
	case msg.IDFeatures:
		if b.ids == absent {
			b.ids = working
			out.keep(BatchIDs, b.rank, b.step)
			b.startWork(Split, out, []HandleKind{BatchIDs}, RoutedIDs)
		}
	case msg.GetEmbeddings:
		e.receiveGetEmbeddings(b, out)
	case msg.PutGradients:
		e.receivePutGradients(b, m, out)
	case msg.DropBatch:
		b.dropped = b.merge == absent
		e.endDropped(b, out)
	}
}

// endDropped ends a batch whose gradients do not count, unless work on it is in flight.
func (e *EmbeddingWorker) endDropped(b *embeddingBatch, out *Outputs) {
	if !b.dropped || b.ids == working || b.pool == working {
		return
	}
	rank, step := b.rank, b.step
	e.sendAnswer(out, msg.PutDone, rank, step, b, 0)
	e.done[rank].add(step)
	e.forget(b, out)
	e.sendQueuedToAll(rank, out) // its lookups no longer hold back those of later steps
}

// receiveAnswer handles the answer of a PS.
func (e *EmbeddingWorker) receiveAnswer(b *embeddingBatch, m msg.Message, out *Outputs) {
	shard := m.From.Index
	switch {
	case m.Kind == msg.Rows && b.lookups != nil && b.lookups[shard] == asked && b.pool == absent:
		b.lookups[shard] = answered
		out.keep(ShardRows, b.rank, b.step)
		e.sendQueued(shard, b.rank, out)
		e.startPool(b, out)
	case m.Kind == msg.PutAck && b.puts != nil && b.puts[shard] == asked:
		b.puts[shard] = answered
		e.sendQueued(shard, b.rank, out)
		e.complete(b, out)
	}
}

// raiseFloor removes finished batches of a rank, including batches that a late duplicate has opened again.
func (e *EmbeddingWorker) raiseFloor(rank, floor int32, out *Outputs) {
	e.done[rank].raise(floor)
	held := len(e.batches)
	first, _ := e.search(rank, 0)
	last, _ := e.search(rank, floor)
	kept := first
	for i := first; i < last; i++ {
		if b := e.batches[i]; b.ids != working && b.pool != working && b.merge != working {
			e.release(b.embeddingBatch, out)
		} else {
			e.batches[kept] = b
			kept++
		}
	}
	e.batches = slices.Delete(e.batches, kept, last)
	if len(e.batches) < held {
		e.sendQueuedToAll(rank, out) // their requests no longer hold back those of later steps
	}
}

// stale reports whether a batch was finished before a late duplicate opened it here. Requests for it would
// repeat finished work.
func (e *EmbeddingWorker) stale(b *embeddingBatch) bool { return b.step < e.done[b.rank].floor }

// forget removes a batch without work in flight.
func (e *EmbeddingWorker) forget(b *embeddingBatch, out *Outputs) {
	rank, step := b.rank, b.step
	e.release(b, out)
	e.remove(rank, step)
}

// remove removes a batch, which is there.
func (e *EmbeddingWorker) remove(rank, step int32) {
	i, _ := e.search(rank, step)
	e.batches = slices.Delete(e.batches, i, i+1)
}

// search returns the place of a batch, and whether it is there.
func (e *EmbeddingWorker) search(rank, step int32) (place int, found bool) {
	key := batchKey(rank, step)
	low, high := 0, len(e.batches)
	for low < high {
		if middle := int(uint(low+high) >> 1); e.batches[middle].key < key {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, low < len(e.batches) && e.batches[low].key == key
}

func (e *EmbeddingWorker) find(rank, step int32) *embeddingBatch {
	i, found := e.search(rank, step)
	if !found {
		return nil
	}
	return e.batches[i].embeddingBatch
}

// open returns the batch of m, and adds it if it is new.
func (e *EmbeddingWorker) open(m msg.Message) *embeddingBatch {
	i, found := e.search(m.Rank, m.Step)
	if !found {
		e.batches = slices.Insert(e.batches, i, heldBatch{batchKey(m.Rank, m.Step), &embeddingBatch{
			rank: m.Rank, step: m.Step, samples: m.Samples, stepSamples: m.StepSamples,
		}})
	}
	return e.batches[i].embeddingBatch
}

// receiveGetEmbeddings starts stage GE, or handles a repeated request.
func (e *EmbeddingWorker) receiveGetEmbeddings(b *embeddingBatch, out *Outputs) {
	repeated := b.wanted
	b.wanted = true
	switch {
	case b.merge != absent:
		e.repeatEmbeddings(b.rank, b.step, out)
	case b.pool == finished:
		e.sendAnswer(out, msg.Embeddings, b.rank, b.step, b, b.poolBytes)
	case b.ids == absent && repeated: // at the first request the ids may be in flight
		e.sendAnswer(out, msg.ResendIDs, b.rank, b.step, b, 0)
	case b.ids == finished && !repeated:
		e.startLookups(b, out)
	case b.ids == finished:
		e.resendUnanswered(b, msg.Lookup, out)
	}
}

// receivePutGradients keeps embedding gradients, or handles a repeated request.
func (e *EmbeddingWorker) receivePutGradients(b *embeddingBatch, m msg.Message, out *Outputs) {
	if e.cfg.RankRecovery {
		e.sendAnswer(out, msg.GradientsKept, b.rank, b.step, nil, 0)
	}
	switch {
	case b.merge == absent:
		b.merge = waiting
		b.stepSamples = m.StepSamples // of all gradients that count
		out.keep(PooledGrads, b.rank, b.step)
		e.endLookups(b, out)
		e.startMerge(b, out)
	case b.ids == absent:
		e.sendAnswer(out, msg.ResendIDs, b.rank, b.step, b, 0)
	case b.merge == finished:
		e.resendUnanswered(b, msg.Put, out)
	}
}

// endLookups releases the data of stage GE, because gradients prove that the rank has the embeddings. GE may
// be in progress again if a late duplicate of GetEmbeddings arrived after a restart. If Pool is in flight,
// workDone releases its product.
func (e *EmbeddingWorker) endLookups(b *embeddingBatch, out *Outputs) {
	switch {
	case b.pool == finished && !e.cfg.RankRecovery:
		out.release(PooledRows, b.rank, b.step)
	case b.pool == absent && b.lookups != nil:
		if slices.Contains(b.lookups, answered) {
			out.release(ShardRows, b.rank, b.step)
		}
		b.lookups = nil
		e.sendQueuedToAll(b.rank, out) // they no longer hold back lookups of later steps
	}
}

func (e *EmbeddingWorker) startMerge(b *embeddingBatch, out *Outputs) {
	if b.ids == finished && b.merge == waiting {
		b.merge = working
		b.startWork(Merge, out, []HandleKind{RoutedIDs, PooledGrads}, ShardGrads)
	}
}

// newRequests returns a queued request for every PS that takes part in the batch.
func (e *EmbeddingWorker) newRequests(b *embeddingBatch) []requestStatus {
	xs := make([]requestStatus, e.cfg.EmbeddingPSs)
	for i := range xs {
		if b.routed.Rows[i] > 0 || e.cfg.Rule.EveryPS() {
			xs[i] = queued
		}
	}
	return xs
}

func (e *EmbeddingWorker) startLookups(b *embeddingBatch, out *Outputs) {
	b.lookups = e.newRequests(b)
	e.sendQueuedToAll(b.rank, out)
	e.startPool(b, out)
}

func (e *EmbeddingWorker) startPool(b *embeddingBatch, out *Outputs) {
	if b.pool == absent && settled(b.lookups) {
		b.pool = working
		reads := []HandleKind{RoutedIDs}
		if slices.Contains(b.lookups, answered) {
			reads = append(reads, ShardRows)
		}
		b.startWork(Pool, out, reads, PooledRows)
	}
}

// settled reports whether every PS has answered.
func settled(xs []requestStatus) bool {
	return !slices.ContainsFunc(xs, func(x requestStatus) bool { return x == queued || x == asked })
}

func (e *EmbeddingWorker) workDone(now unit.Tick, in Input, out *Outputs) {
	b := e.find(in.Work.Rank, in.Work.Step)
	switch in.Work.Kind {
	case Split:
		b.ids, b.routed = finished, in.Result
		out.release(BatchIDs, b.rank, b.step)
		out.record(event.Record{
			At: now, Role: e.Address(), Kind: event.BatchRouted, Rank: b.rank, Step: b.step,
			Rows: in.Result.Rows,
		})
		if e.stale(b) {
			e.forget(b, out)
			return
		}
		if b.dropped {
			e.endDropped(b, out)
			return
		}
		if b.wanted && b.merge == absent {
			e.startLookups(b, out)
		}
		e.startMerge(b, out)
	case Pool:
		b.pool, b.poolBytes = finished, in.Result.Bytes
		out.record(event.Record{At: now, Role: e.Address(), Kind: event.Pooled, Rank: b.rank, Step: b.step})
		if slices.Contains(b.lookups, answered) {
			out.release(ShardRows, b.rank, b.step)
		}
		if b.merge != absent { // the gradients are here: see endLookups
			if e.cfg.RankRecovery {
				e.sendAnswer(out, msg.Embeddings, b.rank, b.step, b, b.poolBytes)
			} else {
				out.release(PooledRows, b.rank, b.step)
			}
			return
		}
		if e.stale(b) {
			e.forget(b, out)
			return
		}
		if b.dropped {
			e.endDropped(b, out)
			return
		}
		e.sendAnswer(out, msg.Embeddings, b.rank, b.step, b, b.poolBytes)
	case Merge:
		b.merge = finished
		out.release(PooledGrads, b.rank, b.step)
		if e.stale(b) {
			e.forget(b, out)
			return
		}
		b.puts = e.newRequests(b)
		e.sendQueuedToAll(b.rank, out)
		e.complete(b, out)
	}
}

// sendQueued sends the queued requests of one rank to one PS, in step order, as far as there is credit. A
// request about an earlier step than all unanswered requests needs no credit, because these may be waiting
// for it.
func (e *EmbeddingWorker) sendQueued(shard, rank int32, out *Outputs) {
	mine := e.batchesOf(rank)
	e.sendQueuedOfKind(msg.Lookup, shard, mine, out)
	e.sendQueuedOfKind(msg.Put, shard, mine, out)
}

func (e *EmbeddingWorker) sendQueuedToAll(rank int32, out *Outputs) {
	for i := range e.cfg.EmbeddingPSs {
		e.sendQueued(i, rank, out)
	}
}

// sendQueuedOfKind is sendQueued for requests of one kind, of the batches of one rank in step order.
func (e *EmbeddingWorker) sendQueuedOfKind(k msg.Kind, shard int32, mine []heldBatch, out *Outputs) {
	var used window
	oldest := e.cfg.Steps
	for _, b := range mine {
		if xs := b.requests(k); xs != nil && xs[shard] == asked {
			used = used.add(b.bytes(k, shard))
			oldest = min(oldest, b.step)
		}
	}
	for _, b := range mine {
		xs := b.requests(k)
		if xs == nil || xs[shard] != queued {
			continue
		}
		used = used.add(b.bytes(k, shard))
		if b.step > oldest && !used.within(e.cfg.EdgeWindow, e.cfg.WindowBytes) {
			return
		}
		oldest = min(oldest, b.step)
		xs[shard] = asked
		e.sendRequest(k, b.embeddingBatch, shard, out)
	}
}

// batchesOf returns the batches of one rank, in step order.
func (e *EmbeddingWorker) batchesOf(rank int32) []heldBatch {
	first, _ := e.search(rank, 0)
	end := first
	for end < len(e.batches) && e.batches[end].key < batchKey(rank+1, 0) {
		end++
	}
	return e.batches[first:end]
}

func (e *EmbeddingWorker) resendUnanswered(b *embeddingBatch, k msg.Kind, out *Outputs) {
	for i, x := range b.requests(k) {
		if x == asked {
			e.sendRequest(k, b, int32(i), out)
		}
	}
}

func (e *EmbeddingWorker) sendRequest(k msg.Kind, b *embeddingBatch, shard int32, out *Outputs) {
	payload := Handle{RoutedIDs, b.rank, b.step}
	if k == msg.Put {
		payload.Kind = ShardGrads
	}
	out.send(msg.Message{
		Kind: k, From: e.Address(), To: embeddingPS(shard), Rank: b.rank, Step: b.step,
		Floor:   e.done[b.rank].floor,
		Samples: b.samples, StepSamples: b.stepSamples, Bytes: b.bytes(k, shard),
	}, payload)
}

// complete ends the batch if every PS has acknowledged it.
func (e *EmbeddingWorker) complete(b *embeddingBatch, out *Outputs) {
	if b.merge != finished || b.over || !settled(b.puts) {
		return
	}
	rank, step := b.rank, b.step
	e.sendAnswer(out, msg.PutDone, rank, step, b, 0)
	e.done[rank].add(step)
	out.release(RoutedIDs, rank, step)
	out.release(ShardGrads, rank, step)
	if e.cfg.RankRecovery && b.pool == finished {
		b.over, b.lookups, b.puts = true, nil, nil // until the rank does not need the embeddings again
		return
	}
	e.remove(rank, step)
}

func (e *EmbeddingWorker) sendAnswer(out *Outputs, k msg.Kind, rank, step int32, b *embeddingBatch,
	bytes unit.Bytes) {
	to := nnWorker(rank)
	if k == msg.ResendIDs {
		to = loader
	}
	m := msg.Message{Kind: k, From: e.Address(), To: to, Rank: rank, Step: step,
		Bytes: msg.HeaderBytes + bytes}
	if b != nil {
		m.Samples, m.StepSamples = b.samples, b.stepSamples
	}
	var payload Handle
	if k == msg.Embeddings {
		payload = Handle{PooledRows, rank, step}
	}
	out.send(m, payload)
}

// Clone implements Role.
func (e *EmbeddingWorker) Clone() Role {
	c := *e
	c.done = cloneAll(e.done)
	c.batches = slices.Clone(e.batches)
	for i := range c.batches {
		b := *c.batches[i].embeddingBatch
		b.lookups, b.puts = slices.Clone(b.lookups), slices.Clone(b.puts)
		c.batches[i].embeddingBatch = &b
	}
	return &c
}

// AppendState implements Role.
func (e *EmbeddingWorker) AppendState(dst []byte) []byte {
	for i := range e.done {
		dst = e.done[i].appendState(dst)
	}
	for _, b := range e.batches {
		dst = appendInts(dst, b.rank, b.step)
		dst = append(dst, byte(b.ids), byte(b.pool), byte(b.merge))
		dst = appendFlags(dst, b.wanted, b.dropped, b.lookups != nil, b.puts != nil, b.over)
		for _, x := range b.lookups {
			dst = append(dst, byte(x))
		}
		for _, x := range b.puts {
			dst = append(dst, byte(x))
		}
	}
	return dst
}

// startWork starts work on the batch.
func (b *embeddingBatch) startWork(k WorkKind, out *Outputs, reads []HandleKind, makes HandleKind) {
	operands := make([]Handle, len(reads))
	for i, kind := range reads {
		operands[i] = Handle{kind, b.rank, b.step}
	}
	work := Work{Kind: k, Rank: b.rank, Step: b.step, Samples: b.samples, StepSamples: b.stepSamples}
	out.startWork(work, operands, []Handle{{makes, b.rank, b.step}})
}

// requests returns the requests of a kind for the batch, or nil before they are due.
func (b *embeddingBatch) requests(k msg.Kind) []requestStatus {
	if k == msg.Lookup {
		return b.lookups
	}
	return b.puts
}

// bytes returns the size of a request to a PS.
func (b *embeddingBatch) bytes(k msg.Kind, shard int32) unit.Bytes {
	size := msg.HeaderBytes + b.routed.SignBytes[shard]
	if k == msg.Put {
		size += b.routed.ValueBytes[shard]
	}
	return size
}

// release releases all data of a batch. If ranks can come back, pooled embeddings are held beside gradients.
func (e *EmbeddingWorker) release(b *embeddingBatch, out *Outputs) {
	for _, held := range []struct {
		kind HandleKind
		yes  bool
	}{
		{RoutedIDs, b.ids == finished && !b.over},
		{ShardRows, b.pool == absent && slices.Contains(b.lookups, answered)},
		{PooledRows, b.pool == finished && (b.merge == absent || e.cfg.RankRecovery)},
		{PooledGrads, b.merge == waiting},
		{ShardGrads, b.merge == finished && !b.over},
	} {
		if held.yes {
			out.release(held.kind, b.rank, b.step)
		}
	}
}
