package role

import (
	"cmp"
	"fmt"
	"slices"

	"tandem/algo/event"
	"tandem/algo/msg"
	"tandem/algo/unit"
)

// ParameterServer is one embedding PS: it answers lookups from its shard of
// the rows and applies row gradients to it, each exactly once.
//
// A put counts as applied from the moment its work is issued: the work is a
// transaction in the arena, which a restart after a crash finishes or finds
// finished. What was applied, which step is open and whose turn it is live in
// the arena too; what was waiting does not, and is asked for again.
type ParameterServer struct {
	cfg     *Config
	index   int32
	applied []progress // by rank
	closed  int32      // steps closed (InStep); step closed is the open one
	turn    int32      // the rank whose lookup of the open step is served next (InStep)
	lookups []request  // held back or in service
	puts    []request  // held back or being applied
}

// request is a lookup or put that has not been answered.
type request struct {
	rank, step  int32
	samples     int32
	stepSamples int32
	working     bool
}

// NewParameterServer returns the index-th embedding PS.
func NewParameterServer(cfg *Config, index int32) *ParameterServer {
	return &ParameterServer{cfg: cfg, index: index, applied: make([]progress, cfg.Ranks)}
}

// Address implements Role.
func (p *ParameterServer) Address() msg.Address { return server(p.index) }

// Step implements Role.
func (p *ParameterServer) Step(now unit.Tick, in Input, out *Outputs) {
	switch in.Kind {
	case Start:
		p.lookups, p.puts = nil, nil
	case Received:
		switch m := in.Message; m.Kind {
		case msg.Lookup:
			p.takeLookup(m, out)
		case msg.Put:
			p.takePut(now, m, out)
		}
		p.close(now, out)
		p.serve(now, out)
	case WorkDone:
		p.worked(in, out)
	case WorkFailed:
		out.halt(fmt.Errorf("%v, %v of step %d: %w", p.Address(), in.Work.Kind, in.Work.Step, in.Reason))
	case Stop:
		for _, r := range p.lookups {
			out.release(ShardSigns, r.rank, r.step)
		}
		for _, r := range p.puts { // of a step that other ranks never reached
			out.release(ShardGrads, r.rank, r.step)
		}
		p.lookups, p.puts = nil, nil
	}
}

func (p *ParameterServer) takeLookup(m msg.Message, out *Outputs) {
	if p.applied[m.Rank].has(m.Step) || find(p.lookups, m.Rank, m.Step) >= 0 {
		return // nobody waits for it any more, or it is being seen to
	}
	out.keep(ShardSigns, m.Rank, m.Step)
	p.lookups = insert(p.lookups, request{rank: m.Rank, step: m.Step, samples: m.Samples, stepSamples: m.StepSamples})
}

func (p *ParameterServer) takePut(now unit.Tick, m msg.Message, out *Outputs) {
	p.applied[m.Rank].raise(m.Floor)
	i := find(p.puts, m.Rank, m.Step)
	switch {
	case i >= 0: // being seen to
	case p.applied[m.Rank].has(m.Step):
		out.record(p.event(now, event.PutRepeated, m.Rank, m.Step))
		p.acknowledge(m.Rank, m.Step, out)
	default:
		out.keep(ShardGrads, m.Rank, m.Step)
		p.puts = insert(p.puts, request{rank: m.Rank, step: m.Step, samples: m.Samples, stepSamples: m.StepSamples})
	}
}

// close applies every put that may be applied: at once, or in step when the
// puts of all ranks are here.
func (p *ParameterServer) close(now unit.Tick, out *Outputs) {
	if p.cfg.Rule.InStep() {
		p.closeStep(now, out)
		return
	}
	for i := range p.puts {
		if r := &p.puts[i]; !r.working {
			r.working = true
			p.applied[r.rank].add(r.step)
			out.record(p.event(now, event.PutApplied, r.rank, r.step))
			out.do(Work{Kind: Apply, Rank: r.rank, Step: r.step, Samples: r.samples, StepSamples: r.stepSamples},
				[]Handle{{ShardGrads, r.rank, r.step}}, nil)
		}
	}
}

func (p *ParameterServer) closeStep(now unit.Tick, out *Outputs) {
	here := 0
	for _, r := range p.puts {
		if r.step == p.closed {
			here++
		}
	}
	if here < int(p.cfg.Ranks) {
		return
	}
	work := Work{Kind: ApplyStep, Rank: event.NoRank, Step: p.closed}
	var puts []Handle // in rank order
	out.record(p.event(now, event.StepClosed, event.NoRank, p.closed))
	for i := range p.puts {
		if r := &p.puts[i]; r.step == p.closed {
			r.working = true
			work.StepSamples = r.stepSamples
			puts = append(puts, Handle{ShardGrads, r.rank, r.step})
			p.applied[r.rank].add(r.step)
			out.record(p.event(now, event.PutApplied, r.rank, r.step))
		}
	}
	out.do(work, puts, nil)
	p.closed++
	p.turn = 0
}

// serve answers every lookup that may be answered.
func (p *ParameterServer) serve(now unit.Tick, out *Outputs) {
	for i := range p.lookups {
		r := &p.lookups[i]
		if r.working || !p.mayServe(r) {
			continue
		}
		r.working = true
		out.record(p.event(now, event.LookupServed, r.rank, r.step))
		out.do(Work{Kind: ReadRows, Rank: r.rank, Step: r.step, Samples: r.samples, StepSamples: r.stepSamples},
			[]Handle{{ShardSigns, r.rank, r.step}}, []Handle{{ShardRows, r.rank, r.step}})
	}
}

// mayServe holds the lookups of a step back until the step before is closed,
// and serves them in rank order, so that even the order in which rows are
// created is the same in every run. A rank that asks again is served again.
func (p *ParameterServer) mayServe(r *request) bool {
	if !p.cfg.Rule.InStep() {
		return true
	}
	if r.step != p.closed || r.rank > p.turn {
		return false
	}
	if r.rank == p.turn {
		p.turn++
	}
	return true
}

func (p *ParameterServer) worked(in Input, out *Outputs) {
	w := in.Work
	switch w.Kind {
	case ReadRows:
		p.lookups = remove(p.lookups, w.Rank, w.Step)
		m := p.to(w.Rank, w.Step)
		m.Kind, m.Samples, m.StepSamples = msg.Rows, w.Samples, w.StepSamples
		m.Bytes += in.Result.Bytes
		out.send(m, Handle{ShardRows, w.Rank, w.Step})
		out.release(ShardSigns, w.Rank, w.Step)
		out.release(ShardRows, w.Rank, w.Step)
	case Apply:
		p.finish(w.Rank, w.Step, out)
	case ApplyStep:
		for rank := range p.cfg.Ranks {
			p.finish(rank, w.Step, out)
		}
	}
}

// finish acknowledges a put that has been applied.
func (p *ParameterServer) finish(rank, step int32, out *Outputs) {
	p.puts = remove(p.puts, rank, step)
	out.release(ShardGrads, rank, step)
	p.acknowledge(rank, step, out)
}

func (p *ParameterServer) acknowledge(rank, step int32, out *Outputs) {
	m := p.to(rank, step)
	m.Kind = msg.PutAck
	out.send(m, Handle{})
}

// to returns a message to the EW of a batch.
func (p *ParameterServer) to(rank, step int32) msg.Message {
	return msg.Message{
		From: p.Address(), To: p.cfg.workerOf(rank, step), Rank: rank, Step: step, Bytes: msg.HeaderBytes,
	}
}

func (p *ParameterServer) event(now unit.Tick, k event.Kind, rank, step int32) event.Record {
	return event.Record{At: now, Role: p.Address(), Kind: k, Rank: rank, Step: step}
}

// Clone implements Role.
func (p *ParameterServer) Clone() Role {
	c := *p
	c.applied = cloneAll(p.applied)
	c.lookups = slices.Clone(p.lookups)
	c.puts = slices.Clone(p.puts)
	return &c
}

// AppendState implements Role.
func (p *ParameterServer) AppendState(dst []byte) []byte {
	dst = appendInts(dst, p.closed, p.turn)
	for i := range p.applied {
		dst = p.applied[i].append(dst)
	}
	return appendRequests(appendRequests(dst, p.lookups), p.puts)
}

func appendRequests(dst []byte, rs []request) []byte {
	dst = appendInts(dst, int32(len(rs)))
	for _, r := range rs {
		dst = appendInts(dst, r.rank, r.step)
		dst = appendFlags(dst, r.working)
	}
	return dst
}

func (r request) compare(rank, step int32) int {
	return cmp.Or(cmp.Compare(r.step, step), cmp.Compare(r.rank, rank))
}

// find returns the position of a request, or a negative number.
func find(rs []request, rank, step int32) int {
	i, found := slices.BinarySearchFunc(rs, rank, func(r request, rank int32) int { return r.compare(rank, step) })
	if !found {
		return -1
	}
	return i
}

// insert keeps requests ordered by step, then rank.
func insert(rs []request, r request) []request {
	i, _ := slices.BinarySearchFunc(rs, r.rank, func(o request, rank int32) int { return o.compare(rank, r.step) })
	return slices.Insert(rs, i, r)
}

func remove(rs []request, rank, step int32) []request {
	if i := find(rs, rank, step); i >= 0 {
		return slices.Delete(rs, i, i+1)
	}
	return rs
}
