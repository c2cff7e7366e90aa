package role

import (
	"fmt"
	"slices"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// DensePS is one dense PS: it answers pulls with the current parameters of its shard of the dense network,
// and applies or drops each push of gradients exactly once. Its access order decides when, and together with
// which other pushes.
//
// A push counts as applied from the time at which it is kept, so a DensePS recognises repeated pushes from
// then on.
type DensePS struct {
	cfg     *Config
	index   int32
	applied []progress // by rank
	order   accessOrder
	pulls   []request // in service
	pushes  gradients
}

// NewDensePS returns the index-th dense PS.
func NewDensePS(cfg *Config, index int32) *DensePS {
	return &DensePS{cfg: cfg, index: index, applied: make([]progress, cfg.Ranks), order: cfg.pushOrder()}
}

// Address implements Role.
func (d *DensePS) Address() msg.Address { return densePS(d.index) }

// HandleInput implements Role.
func (d *DensePS) HandleInput(now unit.Tick, in Input, out *Outputs) {
	switch in.Kind {
	case Received:
		switch m := in.Message; m.Kind {
		case msg.Pull:
			d.receivePull(now, m, out)
		case msg.Push:
			d.receivePush(now, m, out)
		case msg.SetEnd:
			d.order.setEnd(m.Step)
			acknowledgeEnd(m, out)
			d.applyReady(now, out)
		}
	case WorkDone:
		d.workDone(in.Work, out)
	case WorkFailed:
		out.halt(fmt.Errorf("%v, %v of step %d: %w", d.Address(), in.Work.Kind, in.Work.Step, in.Reason))
	}
}

func (d *DensePS) receivePull(now unit.Tick, m msg.Message, out *Outputs) {
	if d.applied[m.Rank].has(m.Step) || has(d.pulls, m.Rank, m.Step) {
		return // no role needs the answer, or the work on it is in flight
	}
	d.pulls, _ = insert(d.pulls, request{rank: m.Rank, step: m.Step})
	out.record(d.event(now, event.PullServed, m.Rank, m.Step))
	out.startWork(Work{Kind: ReadDense, Rank: m.Rank, Step: m.Step}, nil,
		[]Handle{{ShardParams, m.Rank, m.Step}})
}

func (d *DensePS) receivePush(now unit.Tick, m msg.Message, out *Outputs) {
	d.applied[m.Rank].raise(m.Floor)
	switch applied := d.applied[m.Rank].has(m.Step); {
	case applied && (d.order.buffers() || !d.pushes.holds(m.Rank, m.Step)):
		out.record(d.event(now, event.PushRepeated, m.Rank, m.Step))
		d.send(msg.PushAck, m.Rank, m.Step, 0, Handle{}, out)
	case applied: // the end of the work acknowledges it
	default:
		out.keep(PushedGradients, m.Rank, m.Step)
		d.pushes.waiting, _ = insert(d.pushes.waiting, request{rank: m.Rank, step: m.Step, samples: m.Samples,
			stepSamples: m.StepSamples})
		d.applied[m.Rank].add(m.Step)
		if d.order.buffers() {
			d.send(msg.PushAck, m.Rank, m.Step, 0, Handle{}, out)
		}
		d.applyReady(now, out)
	}
}

// applyReady applies all pushes that the order returns.
func (d *DensePS) applyReady(now unit.Tick, out *Outputs) {
	for {
		g, ok := d.order.nextGroup(d.pushes.waiting)
		if !ok {
			return
		}
		var reads []Handle
		for _, i := range g.apply {
			r := &d.pushes.waiting[i]
			reads = append(reads, Handle{PushedGradients, r.rank, r.step})
			out.record(d.event(now, event.PushApplied, r.rank, r.step))
		}
		var drops []Handle
		for _, i := range g.drop {
			r := &d.pushes.waiting[i]
			drops = append(drops, Handle{PushedGradients, r.rank, r.step})
			out.record(d.event(now, event.PushDropped, r.rank, r.step))
		}
		d.pushes.begin(&g)
		g.work.Kind = ApplyPush
		out.List = append(out.List, Output{Kind: Do, Work: g.work,
			Operands: Operands{Reads: reads, Drops: drops}})
	}
}

func (d *DensePS) workDone(w Work, out *Outputs) {
	switch w.Kind {
	case ReadDense:
		d.pulls = remove(d.pulls, w.Rank, w.Step)
		d.send(msg.Params, w.Rank, w.Step, d.cfg.DensePSs[d.index], Handle{ShardParams, w.Rank, w.Step},
			out)
		out.release(ShardParams, w.Rank, w.Step)
	case ApplyPush:
		d.pushes.finishOldest(PushedGradients, out, func(rank, step int32) {
			if !d.order.buffers() {
				d.send(msg.PushAck, rank, step, 0, Handle{}, out)
			}
		})
	}
}

func (d *DensePS) send(k msg.Kind, rank, step int32, bytes unit.Bytes, payload Handle, out *Outputs) {
	out.send(msg.Message{
		Kind: k, From: d.Address(), To: nnWorker(rank), Rank: rank, Step: step,
		Bytes: msg.HeaderBytes + bytes,
	}, payload)
}

func (d *DensePS) event(now unit.Tick, k event.Kind, rank, step int32) event.Record {
	return event.Record{At: now, Role: d.Address(), Kind: k, Rank: rank, Step: step}
}

// Clone implements Role.
func (d *DensePS) Clone() Role {
	c := *d
	c.applied = cloneAll(d.applied)
	c.order = d.order.clone()
	c.pulls = slices.Clone(d.pulls)
	c.pushes = d.pushes.clone()
	return &c
}

// AppendState implements Role.
func (d *DensePS) AppendState(dst []byte) []byte {
	dst = d.order.appendState(dst)
	for i := range d.applied {
		dst = d.applied[i].appendState(dst)
	}
	return d.pushes.appendState(appendRequests(dst, d.pulls))
}
