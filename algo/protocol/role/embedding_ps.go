package role

import (
	"cmp"
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
	groups  int32     // number of groups of puts so far
	lookups []request // waiting, or in service
	puts    []request // waiting, or being applied
}

// request is a lookup, put, pull or push in a PS.
type request struct {
	rank, step  int32
	samples     int32
	stepSamples int32
	group       int32 // number of its group of gradients; 1 for a lookup in service; 0: waiting
}

// working reports whether work on the request is in flight.
func (r *request) working() bool { return r.group > 0 }

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
			p.receiveLookup(m, out)
		case msg.Put:
			p.receivePut(now, m, out)
		case msg.SetEnd:
			p.order.setEnd(m.Step)
			acknowledgeEnd(m, out)
		}
		p.applyReady(now, out)
		p.serveLookups(now, out)
	case WorkDone:
		p.workDone(in, out)
	case WorkFailed:
		out.halt(fmt.Errorf("%v, %v of step %d: %w", p.Address(), in.Work.Kind, in.Work.Step, in.Reason))
	case Stop:
		for _, r := range p.lookups {
			out.release(ShardSigns, r.rank, r.step)
		}
		for _, r := range p.puts { // of steps that other ranks have not reached
			out.release(ShardGrads, r.rank, r.step)
		}
		p.lookups, p.puts = nil, nil
	}
}

func (p *EmbeddingPS) receiveLookup(m msg.Message, out *Outputs) {
	if p.applied[m.Rank].has(m.Step) || find(p.lookups, m.Rank, m.Step) >= 0 {
		return // no role needs the answer, or the work on it is in flight
	}
	out.keep(ShardSigns, m.Rank, m.Step)
	p.lookups = insert(p.lookups, request{rank: m.Rank, step: m.Step, samples: m.Samples,
		stepSamples: m.StepSamples})
}

func (p *EmbeddingPS) receivePut(now unit.Tick, m msg.Message, out *Outputs) {
	p.applied[m.Rank].raise(m.Floor)
	held := find(p.puts, m.Rank, m.Step) >= 0
	switch {
	case p.applied[m.Rank].has(m.Step) && (!held || p.order.buffers()):
		out.record(p.event(now, event.PutRepeated, m.Rank, m.Step))
		p.acknowledge(m.Rank, m.Step, out)
	case held: // the end of the work acknowledges it
	default:
		out.keep(ShardGrads, m.Rank, m.Step)
		p.puts = insert(p.puts, request{rank: m.Rank, step: m.Step, samples: m.Samples,
			stepSamples: m.StepSamples})
		if p.order.buffers() {
			p.applied[m.Rank].add(m.Step)
			p.acknowledge(m.Rank, m.Step, out)
		}
	}
}

// applyReady applies all puts that the order returns.
func (p *EmbeddingPS) applyReady(now unit.Tick, out *Outputs) {
	for {
		g, ok := p.order.nextGroup(p.puts)
		if !ok {
			return
		}
		if g.closes >= 0 {
			out.record(p.event(now, event.StepClosed, event.NoRank, g.closes))
		}
		p.groups++
		var reads []Handle
		for _, i := range g.apply {
			r := &p.puts[i]
			r.group = p.groups
			p.applied[r.rank].add(r.step)
			reads = append(reads, Handle{ShardGrads, r.rank, r.step})
			out.record(p.event(now, event.PutApplied, r.rank, r.step))
		}
		drops := p.dropPuts(now, g, out)
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
		r := &p.puts[i]
		r.group = p.groups
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
	for i := range p.lookups { // not slices.DeleteFunc: its argument would escape to the heap
		if r := &p.lookups[i]; r.working() || !p.order.outdated(r) {
			kept = append(kept, *r)
		} else {
			out.release(ShardSigns, r.rank, r.step)
		}
	}
	p.lookups = kept
	for i := range p.lookups {
		r := &p.lookups[i]
		if r.working() || !p.order.mayServe(r) {
			continue
		}
		r.group = 1
		out.record(p.event(now, event.LookupServed, r.rank, r.step))
		out.startWork(Work{Kind: ReadRows, Rank: r.rank, Step: r.step, Samples: r.samples,
			StepSamples: r.stepSamples},
			[]Handle{{ShardSigns, r.rank, r.step}}, []Handle{{ShardRows, r.rank, r.step}})
	}
}

func (p *EmbeddingPS) workDone(in Input, out *Outputs) {
	w := in.Work
	switch w.Kind {
	case ReadRows:
		p.lookups = remove(p.lookups, w.Rank, w.Step)
		m := p.messageToWorker(w.Rank, w.Step)
		m.Kind, m.Samples, m.StepSamples = msg.Rows, w.Samples, w.StepSamples
		m.Bytes += in.Result.Bytes
		out.send(m, Handle{ShardRows, w.Rank, w.Step})
		out.release(ShardSigns, w.Rank, w.Step)
		out.release(ShardRows, w.Rank, w.Step)
	case Apply, ApplyStep:
		p.puts = finishOldest(p.puts, ShardGrads, out, func(rank, step int32) {
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
		From: p.Address(), To: p.cfg.workerOf(rank, step), Rank: rank, Step: step, Bytes: msg.HeaderBytes,
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
	c.puts = slices.Clone(p.puts)
	return &c
}

// AppendState implements Role.
func (p *EmbeddingPS) AppendState(dst []byte) []byte {
	dst = p.order.appendState(dst)
	for i := range p.applied {
		dst = p.applied[i].appendState(dst)
	}
	return appendRequests(appendRequests(dst, p.lookups), p.puts)
}

func appendRequests(dst []byte, rs []request) []byte {
	dst = appendInts(dst, int32(len(rs)))
	before := oldestGroup(rs) - 1 // only the order of group numbers matters
	for _, r := range rs {
		dst = appendInts(dst, r.rank, r.step, max(r.group-before, 0))
	}
	return dst
}

func (r request) compare(rank, step int32) int {
	return cmp.Or(cmp.Compare(r.step, step), cmp.Compare(r.rank, rank))
}

// find returns the index of a request, or −1.
func find(rs []request, rank, step int32) int {
	i, found := slices.BinarySearchFunc(rs, rank,
		func(r request, rank int32) int { return r.compare(rank, step) })
	if !found {
		return -1
	}
	return i
}

// insert adds a request. Requests are ordered by step, then by rank.
func insert(rs []request, r request) []request {
	i, _ := slices.BinarySearchFunc(rs, r.rank,
		func(o request, rank int32) int { return o.compare(rank, r.step) })
	return slices.Insert(rs, i, r)
}

func remove(rs []request, rank, step int32) []request {
	if i := find(rs, rank, step); i >= 0 {
		return slices.Delete(rs, i, i+1)
	}
	return rs
}
