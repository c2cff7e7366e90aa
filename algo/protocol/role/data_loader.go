package role

import (
	"fmt"
	"slices"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// DataLoader is the data loader. It reads global batches in step order and deals out to each rank its part:
// id features to an EW, numeric features and labels to the NN worker. It holds a batch until every rank has
// finished it, so that it can send lost parts again.
//
// After a crash it asks every rank which steps the rank has finished, and deals out the later ones in order,
// as if for the first time. A rank that already has a batch, or has finished it, answers accordingly.
type DataLoader struct {
	cfg      *Config
	nextRead int32
	reading  bool
	// unknown is, after a crash, the set of ranks that have not reported their progress; nil when all have.
	unknown []bool
	// undealt is, by rank, the first step that is not dealt out, and outstanding the number of batches that
	// are dealt out and not done.
	undealt     []int32
	outstanding []int32
	batches     []loadedBatch // batches that are read and not done by all ranks, in step order
	drain       drain
}

// loadedBatch is the state of one batch in the data loader.
type loadedBatch struct {
	step   int32
	result Result // of the Read
	total  int32  // number of samples of all ranks
	acked  []bool // by rank: the samples have arrived
	done   []bool // by rank: the batch is finished
	left   int32  // number of ranks that have not finished it
}

// NewDataLoader returns the data loader of a run.
func NewDataLoader(cfg *Config) *DataLoader {
	return &DataLoader{cfg: cfg, undealt: make([]int32, cfg.Ranks), outstanding: make([]int32, cfg.Ranks),
		drain: drain{end: cfg.Steps}}
}

// Address implements Role.
func (l *DataLoader) Address() msg.Address { return loader }

// HandleInput implements Role.
func (l *DataLoader) HandleInput(now unit.Tick, in Input, out *Outputs) {
	switch in.Kind {
	case Start:
		if in.Incarnation > 0 {
			*l = *NewDataLoader(l.cfg)
			l.unknown = slices.Repeat([]bool{true}, int(l.cfg.Ranks))
			l.askProgress(out)
		}
		armTimer(l.cfg, now, out)
	case WorkDone:
		l.storeBatch(in.Work.Step, in.Result)
		out.record(event.Record{At: now, Role: loader, Kind: event.BatchRead, Rank: event.NoRank,
			Step: in.Work.Step})
	case WorkFailed:
		out.halt(fmt.Errorf("%v, step %d: %w", loader, in.Work.Step, in.Reason))
		return
	case Received:
		l.receive(now, in.Message, out)
	case Drain:
		l.startDrain(now, out)
	case TimerFired:
		l.askProgress(out)
		l.resend(out)
		l.sendRound(out)
		armTimer(l.cfg, now, out)
	case Stop:
		for _, b := range l.batches {
			out.release(GlobalBatch, event.NoRank, b.step)
		}
		l.batches = nil
		return
	}
	if l.unknown == nil {
		first, end := l.affected(&in)
		l.dealOut(now, first, end, out)
		l.readNext(first, end, out)
	}
}

// affected returns the range of the ranks to which the loader may be able to deal out a batch, or for which
// it may have to read one, since an input: no other rank can have a batch that it could not have before.
func (l *DataLoader) affected(in *Input) (first, end int32) {
	if in.Kind == Received {
		switch m := &in.Message; m.Kind {
		case msg.StepDone:
			return m.Rank, m.Rank + 1
		case msg.SamplesAck, msg.ResendIDs:
			return 0, 0
		}
	}
	return 0, l.cfg.Ranks
}

// askProgress asks for the progress of the ranks that have not reported it.
func (l *DataLoader) askProgress(out *Outputs) {
	for rank, unknown := range l.unknown {
		if unknown {
			out.send(msg.Message{
				Kind: msg.AskProgress, From: loader, To: nnWorker(int32(rank)), Rank: int32(rank),
				Bytes: msg.HeaderBytes,
			}, Handle{})
		}
	}
}

// resume records the first unfinished step of a rank. When all ranks have reported, reading starts with the
// earliest.
func (l *DataLoader) resume(rank, floor int32) {
	if l.unknown == nil || !l.unknown[rank] {
		return // a repeated answer
	}
	l.unknown[rank] = false
	l.undealt[rank] = floor
	if !slices.Contains(l.unknown, true) {
		l.unknown = nil
		l.nextRead = slices.Min(l.undealt)
	}
}

// storeBatch stores a batch that has been read.
func (l *DataLoader) storeBatch(step int32, r Result) {
	l.reading = false
	b := loadedBatch{step: step, result: r, acked: make([]bool, l.cfg.Ranks), done: make([]bool, l.cfg.Ranks)}
	for rank, undealt := range l.undealt { // after a crash some ranks have finished the step
		if b.done[rank] = step < undealt; !b.done[rank] {
			b.left++
		}
	}
	for _, n := range r.Samples {
		b.total += n
	}
	l.batches = append(l.batches, b)
}

func (l *DataLoader) find(step int32) *loadedBatch {
	i, found := slices.BinarySearchFunc(l.batches, step,
		func(b loadedBatch, s int32) int { return int(b.step - s) })
	if !found {
		return nil
	}
	return &l.batches[i]
}

func (l *DataLoader) receive(now unit.Tick, m msg.Message, out *Outputs) {
	switch m.Kind {
	case msg.Progress:
		l.resume(m.Rank, m.Floor)
		return
	case msg.OfferEnd, msg.EndSet:
		l.receiveAnswer(now, m, out)
		return
	case msg.AskSamples:
		l.redeal(m.Rank, m.Step, out)
		return
	}
	b := l.find(m.Step)
	if b == nil || b.done[m.Rank] || m.Step >= l.undealt[m.Rank] {
		return // a late duplicate about a finished batch
	}
	switch m.Kind {
	case msg.SamplesAck:
		b.acked[m.Rank] = true
	case msg.StepDone:
		b.done[m.Rank] = true
		b.left--
		l.outstanding[m.Rank]--
		for len(l.batches) > 0 && l.batches[0].left == 0 {
			out.release(GlobalBatch, event.NoRank, l.batches[0].step)
			l.batches = slices.Delete(l.batches, 0, 1)
		}
	case msg.ResendIDs:
		l.sendIDs(b, m.Rank, out)
	}
}

// dealOut sends its part of each batch to every rank from first to end that has fewer than Prefetch batches.
func (l *DataLoader) dealOut(now unit.Tick, first, end int32, out *Outputs) {
	for i := range l.batches {
		b := &l.batches[i]
		for rank := first; rank < end; rank++ {
			if l.undealt[rank] != b.step || l.outstanding[rank] >= l.cfg.Prefetch {
				continue
			}
			l.undealt[rank]++
			l.outstanding[rank]++
			out.record(event.Record{At: now, Role: loader, Kind: event.BatchDispatched, Rank: rank,
				Step: b.step})
			l.sendIDs(b, rank, out)
			l.sendSamples(b, rank, out)
		}
	}
}

// readNext starts reading the next batch as soon as some rank from first to end has fewer than Prefetch
// batches.
func (l *DataLoader) readNext(first, end int32, out *Outputs) {
	if l.reading || l.nextRead >= l.drain.end {
		return
	}
	for rank := first; rank < end; rank++ {
		if l.outstanding[rank] < l.cfg.Prefetch && l.undealt[rank] == l.nextRead {
			l.reading = true
			out.startWork(Work{Kind: Read, Rank: event.NoRank, Step: l.nextRead}, nil,
				[]Handle{globalBatch(l.nextRead)})
			l.nextRead++
			return
		}
	}
}

func (l *DataLoader) sendIDs(b *loadedBatch, rank int32, out *Outputs) {
	l.send(b, msg.IDFeatures, l.cfg.WorkerOf(rank, b.step), rank, b.result.IDBytes[rank], out)
}

func (l *DataLoader) sendSamples(b *loadedBatch, rank int32, out *Outputs) {
	l.send(b, msg.Samples, nnWorker(rank), rank, b.result.SampleBytes[rank], out)
}

func (l *DataLoader) send(b *loadedBatch, k msg.Kind, to msg.Address, rank int32, bytes unit.Bytes,
	out *Outputs) {
	out.send(msg.Message{
		Kind: k, From: loader, To: to, Rank: rank, Step: b.step,
		Samples: b.result.Samples[rank], StepSamples: b.total, Bytes: msg.HeaderBytes + bytes,
	}, globalBatch(b.step))
}

func globalBatch(step int32) Handle { return Handle{GlobalBatch, event.NoRank, step} }

// resend sends samples again that may be lost. It also sends those of the oldest unfinished batch of a rank,
// because the answer that the batch is finished may be lost.
func (l *DataLoader) resend(out *Outputs) {
	prompted := make([]bool, l.cfg.Ranks)
	for i := range l.batches {
		b := &l.batches[i]
		for rank := range l.cfg.Ranks {
			if b.step >= l.undealt[rank] || b.done[rank] || (b.acked[rank] && prompted[rank]) {
				continue
			}
			prompted[rank] = true
			l.sendSamples(b, rank, out)
		}
	}
}

func armTimer(cfg *Config, now unit.Tick, out *Outputs) {
	if cfg.Retry > 0 {
		out.List = append(out.List, Output{Kind: SetTimer, At: now + cfg.Retry})
	}
}

// Clone implements Role.
func (l *DataLoader) Clone() Role {
	c := *l
	c.undealt = slices.Clone(l.undealt)
	c.outstanding = slices.Clone(l.outstanding)
	c.unknown = slices.Clone(l.unknown)
	c.batches = slices.Clone(l.batches)
	c.drain.answered = slices.Clone(l.drain.answered)
	for i := range c.batches {
		c.batches[i].acked = slices.Clone(c.batches[i].acked)
		c.batches[i].done = slices.Clone(c.batches[i].done)
	}
	return &c
}

// AppendState implements Role.
func (l *DataLoader) AppendState(dst []byte) []byte {
	dst = appendInts(dst, l.nextRead)
	dst = appendFlags(dst, l.reading, l.unknown != nil)
	dst = appendInts(dst, l.undealt...)
	dst = appendInts(dst, l.outstanding...)
	dst = l.drain.appendState(dst)
	for _, unknown := range l.unknown {
		dst = appendFlags(dst, unknown)
	}
	for i := range l.batches {
		b := &l.batches[i]
		dst = appendInts(dst, b.step)
		for rank := range b.acked {
			dst = appendFlags(dst, b.acked[rank], b.done[rank])
		}
	}
	return dst
}
