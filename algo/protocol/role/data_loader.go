package role

import (
	"fmt"
	"slices"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// DataLoader is the data loader: it reads global batches in step order and deals
// each rank its part, the id features to an EW, numeric features and labels
// to the NN worker. It keeps a batch until every rank is done with it, so that
// it can send again what others lost.
//
// After a crash it asks every rank which steps it has finished, and deals from
// there on, in order, as if for the first time: a rank that has a batch, or has
// finished it, says so.
type DataLoader struct {
	cfg      *Config
	nextRead int32
	reading  bool
	// unknown marks, after a crash, the ranks that have not said how far they are; nil once all have.
	unknown []bool
	// undealt is, by rank, the first step that has not been dealt out, and
	// outstanding the number of batches dealt out and not done.
	undealt     []int32
	outstanding []int32
	batches     []loadedBatch // read and not done by all, in step order
}

// loaded is a batch in the loader's hands.
type loadedBatch struct {
	step   int32
	result Result // of the Read
	total  int32  // samples of all ranks
	acked  []bool // by rank: samples arrived
	done   []bool // by rank: finished
}

// NewDataLoader returns the data loader of a run.
func NewDataLoader(cfg *Config) *DataLoader {
	return &DataLoader{cfg: cfg, undealt: make([]int32, cfg.Ranks), outstanding: make([]int32, cfg.Ranks)}
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
		out.record(event.Record{At: now, Role: loader, Kind: event.BatchRead, Rank: event.NoRank, Step: in.Work.Step})
	case WorkFailed:
		out.halt(fmt.Errorf("%v, step %d: %w", loader, in.Work.Step, in.Reason))
		return
	case Received:
		l.receive(in.Message, out)
	case TimerFired:
		l.askProgress(out)
		l.resend(out)
		armTimer(l.cfg, now, out)
	case Stop:
		for _, b := range l.batches {
			out.release(GlobalBatch, event.NoRank, b.step)
		}
		l.batches = nil
		return
	}
	if l.unknown == nil {
		l.dealOut(now, out)
		l.readNext(out)
	}
}

// askProgress asks the ranks that have not said how far they are.
func (l *DataLoader) askProgress(out *Outputs) {
	for rank, unknown := range l.unknown {
		if unknown {
			out.send(msg.Message{
				Kind: msg.AskProgress, From: loader, To: nnWorker(int32(rank)), Rank: int32(rank), Bytes: msg.HeaderBytes,
			}, Handle{})
		}
	}
}

// resume takes a rank's first unfinished step. When all are known, reading starts with the earliest.
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
	for rank, undealt := range l.undealt { // after a crash some ranks are ahead of others
		b.done[rank] = step < undealt
	}
	for _, n := range r.Samples {
		b.total += n
	}
	l.batches = append(l.batches, b)
}

func (l *DataLoader) find(step int32) *loadedBatch {
	i, found := slices.BinarySearchFunc(l.batches, step, func(b loadedBatch, s int32) int { return int(b.step - s) })
	if !found {
		return nil
	}
	return &l.batches[i]
}

func (l *DataLoader) receive(m msg.Message, out *Outputs) {
	if m.Kind == msg.Progress {
		l.resume(m.Rank, m.Floor)
		return
	}
	b := l.find(m.Step)
	if b == nil || b.done[m.Rank] || m.Step >= l.undealt[m.Rank] {
		return // an echo of a finished batch
	}
	switch m.Kind {
	case msg.SamplesAck:
		b.acked[m.Rank] = true
	case msg.StepDone:
		b.done[m.Rank] = true
		l.outstanding[m.Rank]--
		for len(l.batches) > 0 && !slices.Contains(l.batches[0].done, false) {
			out.release(GlobalBatch, event.NoRank, l.batches[0].step)
			l.batches = slices.Delete(l.batches, 0, 1)
		}
	case msg.ResendIDs:
		l.sendIDs(b, m.Rank, out)
	}
}

// dealOut sends every batch that is read to every rank that has room for it.
func (l *DataLoader) dealOut(now unit.Tick, out *Outputs) {
	for i := range l.batches {
		b := &l.batches[i]
		for rank := range l.cfg.Ranks {
			if l.undealt[rank] != b.step || l.outstanding[rank] >= l.cfg.Prefetch {
				continue
			}
			l.undealt[rank]++
			l.outstanding[rank]++
			out.record(event.Record{At: now, Role: loader, Kind: event.BatchDispatched, Rank: rank, Step: b.step})
			l.sendIDs(b, rank, out)
			l.sendSamples(b, rank, out)
		}
	}
}

// readNext asks for the next batch as soon as some rank has room for it.
func (l *DataLoader) readNext(out *Outputs) {
	if l.reading || l.nextRead >= l.cfg.Steps {
		return
	}
	for rank := range l.cfg.Ranks {
		if l.outstanding[rank] < l.cfg.Prefetch && l.undealt[rank] == l.nextRead {
			l.reading = true
			out.startWork(Work{Kind: Read, Rank: event.NoRank, Step: l.nextRead}, nil, []Handle{globalBatch(l.nextRead)})
			l.nextRead++
			return
		}
	}
}

func (l *DataLoader) sendIDs(b *loadedBatch, rank int32, out *Outputs) {
	l.send(b, msg.IDFeatures, l.cfg.workerOf(rank, b.step), rank, b.result.IDBytes[rank], out)
}

func (l *DataLoader) sendSamples(b *loadedBatch, rank int32, out *Outputs) {
	l.send(b, msg.Samples, nnWorker(rank), rank, b.result.SampleBytes[rank], out)
}

func (l *DataLoader) send(b *loadedBatch, k msg.Kind, to msg.Address, rank int32, bytes unit.Bytes, out *Outputs) {
	out.send(msg.Message{
		Kind: k, From: loader, To: to, Rank: rank, Step: b.step,
		Samples: b.result.Samples[rank], StepSamples: b.total, Bytes: msg.HeaderBytes + bytes,
	}, globalBatch(b.step))
}

func globalBatch(step int32) Handle { return Handle{GlobalBatch, event.NoRank, step} }

// resend sends samples again that may have been lost, and prompts a rank whose
// oldest batch is late: if it was done, its answer was lost.
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
