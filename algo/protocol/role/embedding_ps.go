package role

import (
	"fmt"
	"slices"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// EmbeddingPS is one embedding PS: it answers lookups from its shard of the rows and applies row gradients to
// them, each exactly once.
//
// A put counts as applied from the time at which its work is issued or, if the order buffers puts, from the
// time at which it is kept. After the death of its process, an embedding PS handles all its inputs again, if
// they were kept: see CanRedo. What it had not kept, its senders repeat.
type EmbeddingPS struct {
	cfg     *Config
	index   int32
	applied []progress // by rank
	order   accessOrder
	lookups []request // waiting
	serving []request // lookups in service
	puts    gradients
}

// NewEmbeddingPS returns the index-th embedding PS.
func NewEmbeddingPS(cfg *Config, index int32) *EmbeddingPS {
	return &EmbeddingPS{cfg: cfg, index: index, applied: make([]progress, cfg.Ranks),
		order: cfg.putOrder()}
}

// Address implements Role.
func (p *EmbeddingPS) Address() msg.Address { return embeddingPS(p.index) }

// HandleInput implements Role.
func (p *EmbeddingPS) HandleInput(now unit.Tick, in Input, out *Outputs) {
	switch in.Kind {
	case Received:
		switch m := in.Message; m.Kind {
		case msg.Lookup:
			p.receiveLookup(now, m, out)
		case msg.Put:
			p.receivePut(now, m, out)
		case msg.SetEnd:
			p.order.setEnd(m.Step)
			acknowledgeEnd(m, out)
			p.applyReady(now, out)
		}
	case WorkDone:
		p.workDone(in, out)
	case WorkFailed:
		out.halt(fmt.Errorf("%v, %v of step %d: %w", p.Address(), in.Work.Kind, in.Work.Step, in.Reason))
	case Stop:
		for _, r := range p.lookups {
			out.release(ShardSigns, r.rank, r.step)
		}
		for _, r := range p.puts.waiting { // of steps that other ranks have not reached
			out.release(ShardGrads, r.rank, r.step)
		}
		p.lookups, p.puts = nil, gradients{}
	}
}

func (p *EmbeddingPS) receiveLookup(now unit.Tick, m msg.Message, out *Outputs) {
	if p.applied[m.Rank].has(m.Step) || has(p.lookups, m.Rank, m.Step) || has(p.serving, m.Rank, m.Step) {
		return // no role needs the answer, or the work on it is in flight
	}
	out.keep(ShardSigns, m.Rank, m.Step)
	var at int
	p.lookups, at = insert(p.lookups, request{rank: m.Rank, step: m.Step, samples: m.Samples,
		stepSamples: m.StepSamples})
	for at < len(p.lookups) && p.order.mayServe(&p.lookups[at]) {
		p.serve(now, &p.lookups[at], out)
		p.lookups = slices.Delete(p.lookups, at, at+1)
	}
}

func (p *EmbeddingPS) receivePut(now unit.Tick, m msg.Message, out *Outputs) {
	p.applied[m.Rank].raise(m.Floor)
	switch applied := p.applied[m.Rank].has(m.Step); {
	case applied && (p.order.buffers() || !p.puts.holds(m.Rank, m.Step)):
		out.record(p.event(now, event.PutRepeated, m.Rank, m.Step))
		p.acknowledge(m.Rank, m.Step, out)
	case applied || p.puts.waits(m.Rank, m.Step): // the end of the work acknowledges it
	default:
		out.keep(ShardGrads, m.Rank, m.Step)
		p.puts.waiting, _ = insert(p.puts.waiting, request{rank: m.Rank, step: m.Step, samples: m.Samples,
			stepSamples: m.StepSamples})
		if p.order.buffers() {
			p.applied[m.Rank].add(m.Step)
			p.acknowledge(m.Rank, m.Step, out)
		}
	}
	p.applyReady(now, out)
}

// applyReady applies all puts that the order returns, and serves the lookups that have waited for them.
func (p *EmbeddingPS) applyReady(now unit.Tick, out *Outputs) {
	for applied := false; ; applied = true {
		g, ok := p.order.nextGroup(p.puts.waiting)
		if !ok {
			if applied {
				p.serveLookups(now, out)
			}
			return
		}
		if g.closes >= 0 {
			out.record(p.event(now, event.StepClosed, event.NoRank, g.closes))
		}
		var reads []Handle
		for _, i := range g.apply {
			r := &p.puts.waiting[i]
			p.applied[r.rank].add(r.step)
			reads = append(reads, Handle{ShardGrads, r.rank, r.step})
			out.record(p.event(now, event.PutApplied, r.rank, r.step))
		}
		drops := p.dropPuts(now, g, out)
		p.puts.begin(&g)
		if g.work.Kind = Apply; g.work.Rank == event.NoRank {
			g.work.Kind = ApplyStep
		}
		out.List = append(out.List, Output{Kind: Do, Work: g.work,
			Operands: Operands{Reads: reads, Drops: drops}})
	}
}

// dropPuts drops the puts of a group that do not count. It returns their handles, and those of puts that will
// not arrive.
func (p *EmbeddingPS) dropPuts(now unit.Tick, g group, out *Outputs) (drops []Handle) {
	for _, i := range g.drop {
		r := &p.puts.waiting[i]
		drops = append(drops, Handle{ShardGrads, r.rank, r.step})
		out.record(p.event(now, event.PutDropped, r.rank, r.step))
	}
	for _, rank := range g.absent {
		p.applied[rank].add(g.closes)
		drops = append(drops, Handle{ShardGrads, rank, g.closes})
	}
	return drops
}

// serveLookups serves all lookups that the order allows, and drops outdated lookups.
func (p *EmbeddingPS) serveLookups(now unit.Tick, out *Outputs) {
	kept := p.lookups[:0]
	for i := range p.lookups {
		switch r := &p.lookups[i]; {
		case p.order.outdated(r):
			out.release(ShardSigns, r.rank, r.step)
		case p.order.mayServe(r):
			p.serve(now, r, out)
		default:
			kept = append(kept, *r)
		}
	}
	p.lookups = kept
}

// serve begins the work on a lookup.
func (p *EmbeddingPS) serve(now unit.Tick, r *request, out *Outputs) {
	p.serving, _ = insert(p.serving, *r)
	out.record(p.event(now, event.LookupServed, r.rank, r.step))
	out.startWork(Work{Kind: ReadRows, Rank: r.rank, Step: r.step, Samples: r.samples,
		StepSamples: r.stepSamples},
		[]Handle{{ShardSigns, r.rank, r.step}}, []Handle{{ShardRows, r.rank, r.step}})
}

func (p *EmbeddingPS) workDone(in Input, out *Outputs) {
	w := in.Work
	switch w.Kind {
	case ReadRows:
		p.serving = remove(p.serving, w.Rank, w.Step)
		m := p.messageToWorker(w.Rank, w.Step)
		m.Kind, m.Samples, m.StepSamples = msg.Rows, w.Samples, w.StepSamples
		m.Bytes += in.Result.Bytes
		out.send(m, Handle{ShardRows, w.Rank, w.Step})
		out.release(ShardSigns, w.Rank, w.Step)
		out.release(ShardRows, w.Rank, w.Step)
	case Apply, ApplyStep:
		p.puts.finishOldest(ShardGrads, out, func(rank, step int32) {
			if !p.order.buffers() {
				p.acknowledge(rank, step, out)
			}
		})
	}
}

func (p *EmbeddingPS) acknowledge(rank, step int32, out *Outputs) {
	m := p.messageToWorker(rank, step)
	m.Kind = msg.PutAck
	out.send(m, Handle{})
}

// messageToWorker returns a message to the EW of a batch, without kind.
func (p *EmbeddingPS) messageToWorker(rank, step int32) msg.Message {
	return msg.Message{
		From: p.Address(), To: p.cfg.WorkerOf(rank, step), Rank: rank, Step: step, Bytes: msg.HeaderBytes,
	}
}

func (p *EmbeddingPS) event(now unit.Tick, k event.Kind, rank, step int32) event.Record {
	return event.Record{At: now, Role: p.Address(), Kind: k, Rank: rank, Step: step}
}

// Clone implements Role.
func (p *EmbeddingPS) Clone() Role {
	c := *p
	c.applied = cloneAll(p.applied)
	c.order = p.order.clone()
	c.lookups = slices.Clone(p.lookups)
	c.serving = slices.Clone(p.serving)
	c.puts = p.puts.clone()
	return &c
}

// AppendState implements Role.
func (p *EmbeddingPS) AppendState(dst []byte) []byte {
	dst = p.order.appendState(dst)
	for i := range p.applied {
		dst = p.applied[i].appendState(dst)
	}
	return p.puts.appendState(appendRequests(appendRequests(dst, p.lookups), p.serving))
}
