// Package fabric shares the capacity of links among flows, max-min fairly, in virtual time.
//
// A flow stands for one transfer, or for several equal transfers that move in step. It crosses a list of
// links, each with a multiplicity, and has one rate x. On a link of capacity C the rates obey Σ multiplicity
// · x ≤ C. So the fan-out of a batch from one sender to P equal receivers, folded into one, is a single flow
// with multiplicity P on the sender's link and 1 on the receiver's.
//
// Rates are max-min fair: no rate can grow without lowering the rate of a flow that is not faster. Rates hold
// until the next Settle. The caller's loop is
//
//	Start, Cancel, SetCapacity ...   // any number, at one instant
//	Settle                           // once, at the end of that instant
//	NextFinish                       // schedule an event for it
//	Finished                         // at that event; then Settle again
//
// The fabric models bandwidth only. The caller adds latency and the cost per message.
//
// The heap of flows is not container/heap, because a flow knows its place in it.
package fabric

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tandem/algo/unit"
)

// LinkID is the position of a link in the list given to New.
type LinkID int32

// Link is one direction of a connection.
type Link struct {
	Name     string           // for messages and reports
	Capacity unit.BytesPerSec // ≥ 0; nothing moves on a link of capacity 0
}

// Hop is one link of a flow's path.
type Hop struct {
	Link LinkID
	// Multiplicity is the capacity of the link that a flow uses for each byte per second of its rate: the
	// number of equal transfers that the flow stands for on this link, or a fraction if the flow is striped
	// over several links. More than 0.
	Multiplicity float64
}

// Flow describes a transfer.
type Flow struct {
	// Path lists the links in any order. If it is empty, only Limit bounds the rate.
	Path []Hop
	// Bytes is the size of one transfer; at least 0. A link carries Multiplicity × Bytes.
	Bytes unit.Bytes
	// Limit bounds the rate; 0 means that only the links bound it.
	Limit unit.BytesPerSec
	// Tag is returned by Finished; it identifies the flow to the caller.
	Tag int64
}

// FlowID identifies a started flow until it has finished or is cancelled. No flow has the zero FlowID.
type FlowID struct{ slot, generation uint32 }

// Completion is a finished flow.
type Completion struct {
	ID  FlowID
	Tag int64
}

// Fabric holds the links and the active flows. It is not safe for concurrent use. Its state depends only on
// the calls and their order.
type Fabric struct {
	now     unit.Tick // the instant of the last change
	started uint64
	links   []link
	flows   []flow
	idle    []uint32 // slots without a flow
	finish  finishHeap
	pools   int // each has a flow that is not the caller's

	seedLinks []LinkID // links whose constraint changed since the last Settle
	seedFlows []uint32 // flows without a rate, those that have left a pool, and the bundles that they left
	// reach is a level that the changes since the last Settle do not reach below: flows with lower rates keep
	// them.
	reach float64
	fill  filling // scratch of Settle
}

// New returns a fabric of the given links without flows. It panics if a capacity is negative, NaN or
// infinite.
func New(links []Link) *Fabric {
	f := &Fabric{links: make([]link, len(links)), reach: math.Inf(1)}
	for i, l := range links {
		checkCapacity(l.Name, l.Capacity)
		f.links[i] = link{name: l.Name, capacity: float64(l.Capacity)}
	}
	return f
}

// Start begins a flow at an instant. The flow has no rate before Settle. A flow of 0 bytes, or without links
// and limit, finishes at the same instant.
//
// It panics if a hop names no link, if a multiplicity, the bytes or the limit are out of range, or if changes
// of an earlier instant have not been settled.
func (f *Fabric) Start(now unit.Tick, spec Flow) FlowID {
	f.advance(now, "Start")
	f.check(spec)
	i := f.slot()
	w := &f.flows[i]
	*w = flow{
		generation: w.generation + 1,
		order:      f.started,
		tag:        spec.Tag,
		total:      float64(spec.Bytes),
		remaining:  float64(spec.Bytes),
		limit:      float64(spec.Limit),
		since:      now,
		finish:     unit.Forever,
		tightest:   noLink,
		hops:       w.hops[:0],
	}
	f.started++
	if w.limit == 0 {
		w.limit = math.Inf(1)
	}
	if spec.Bytes == 0 || len(spec.Path) == 0 && spec.Limit == 0 {
		w.remaining = 0
		w.finish = now
		f.finish.insert(f.flows, i)
		return FlowID{i, w.generation}
	}
	for _, h := range spec.Path {
		f.addHop(w, h)
	}
	f.attach(i)
	return FlowID{i, w.generation}
}

// Cancel ends a flow early and reports whether it was active. The bytes that it has moved still count as
// carried.
func (f *Fabric) Cancel(now unit.Tick, id FlowID) bool {
	f.advance(now, "Cancel")
	if !f.alive(id) {
		return false
	}
	f.remove(id.slot, f.moved(&f.flows[id.slot], now))
	return true
}

// SetCapacity changes a link's capacity, to 0 for a link that is down. Cost: O(hops of the flows on the
// link), and O(log all flows) for each of them that is in a pool.
func (f *Fabric) SetCapacity(now unit.Tick, id LinkID, capacity unit.BytesPerSec) {
	f.advance(now, "SetCapacity")
	l := &f.links[id]
	checkCapacity(l.name, capacity)
	if l.pool != nil {
		f.dissolve(l.pool)
	}
	f.dismiss(id)
	f.seed(id)
	f.reach = 0
	l.account(now)
	l.capacity = float64(capacity)
	for _, c := range l.crossings {
		f.rebound(c.flow)
	}
	l.demand, l.most = 0, 0 // sum again, without rounding of the size of the old capacity
	for _, c := range l.crossings {
		l.demand += float64(c.multiplicity * f.flows[c.flow].bound)
		l.most += float64(c.multiplicity * f.flows[c.flow].ceiling)
	}
	f.seed(id)
}

// NextFinish returns the instant of the earliest finish at the current rates, and false if no flow will
// finish.
func (f *Fabric) NextFinish() (unit.Tick, bool) {
	if len(f.finish) == 0 {
		return 0, false
	}
	at := f.flows[f.finish[0]].finish
	return at, at != unit.Forever
}

// Finished removes the flows that finish at an instant and appends them to dst in the order of their starts.
// Settle must follow.
//
// It panics if a flow should have finished before now: its capacity would have been unused in between.
func (f *Fabric) Finished(now unit.Tick, dst []Completion) []Completion {
	f.advance(now, "Finished")
	first := len(dst)
	for len(f.finish) > 0 {
		i := f.finish[0]
		w := &f.flows[i]
		if w.finish > now {
			break
		}
		at := w.finish
		if w.bundles != nil {
			i = w.bundles.members[0]
			w = &f.flows[i]
		}
		if at < now {
			panic(fmt.Sprintf("fabric: Finished at %d ns, want at %d ns, when the flow of tag %d finished",
				now, at, w.tag))
		}
		dst = append(dst, Completion{FlowID{i, w.generation}, w.tag})
		f.remove(i, w.total)
	}
	slices.SortFunc(dst[first:], func(a, b Completion) int { // members of pools are not in order
		return cmp.Compare(f.flows[a.ID.slot].order, f.flows[b.ID.slot].order)
	})
	return dst
}

// Rate returns the rate of one transfer of a flow since the last Settle, and 0 for a flow that is not active.
func (f *Fabric) Rate(id FlowID) unit.BytesPerSec {
	if !f.alive(id) {
		return 0
	}
	return unit.BytesPerSec(f.rateOf(&f.flows[id.slot]))
}

// Carried returns the bytes that a link has carried up to now; divided by capacity and time it is the link's
// utilisation. Cost: O(flows on the link).
func (f *Fabric) Carried(now unit.Tick, id LinkID) float64 {
	l := &f.links[id]
	sum := l.carried
	for _, c := range l.crossings {
		if w := &f.flows[c.flow]; w.bundles == nil {
			sum += float64(c.multiplicity * f.moved(w, now))
		}
	}
	if l.pool != nil {
		for _, i := range l.pool.members {
			w := &f.flows[i]
			sum += float64(w.on(id).multiplicity * f.moved(w, now))
		}
	}
	return sum
}

// Use is how a link was used up to an instant.
type Use struct {
	Busy unit.Tick // the time in which the whole capacity carries what the link has carried
	// Excess is the integral over time of how far the demand exceeds the capacity, in capacities: max(0, Σ
	// multiplicity · bound / capacity − 1), where bound is the rate that a flow would have if it were alone.
	// Two flows, each of which could use the whole link, add as much to Excess as one flow that waits for the
	// other.
	Excess unit.Tick
	Flows  int64 // that have ended
}

// Use returns how a link was used up to now, as if it had always had its present capacity.
func (f *Fabric) Use(now unit.Tick, id LinkID) Use {
	l := &f.links[id]
	if l.capacity == 0 {
		return Use{Flows: l.ended}
	}
	excess := l.excess + float64(max(0, l.demand-l.capacity)*float64(now-l.since))
	return Use{
		Busy:   unit.Tick(f.Carried(now, id) / l.capacity * float64(unit.Second)),
		Excess: unit.Tick(excess / l.capacity),
		Flows:  l.ended,
	}
}

// Flows returns the number of active flows.
func (f *Fabric) Flows() int { return len(f.flows) - len(f.idle) - f.pools }

// advance moves the clock to an instant. The instant must not be before the last change, nor after it while
// the change is unsettled.
func (f *Fabric) advance(now unit.Tick, what string) {
	if now < f.now {
		panic(fmt.Sprintf("fabric: %s at %d ns after a change at %d ns, want no earlier", what, now, f.now))
	}
	if now > f.now && len(f.seedLinks)+len(f.seedFlows) > 0 {
		panic(fmt.Sprintf("fabric: %s at %d ns, want Settle of the changes at %d ns first", what, now, f.now))
	}
	f.now = now
}

// check panics if a flow's description is out of range.
func (f *Fabric) check(spec Flow) {
	if spec.Bytes < 0 {
		panic(fmt.Sprintf("fabric: flow of %d bytes, want at least 0", spec.Bytes))
	}
	if !(spec.Limit >= 0) || math.IsInf(float64(spec.Limit), 1) {
		panic(fmt.Sprintf("fabric: flow limit %v B/s, want 0 for none or a finite rate", float64(spec.Limit)))
	}
	for _, h := range spec.Path {
		if h.Link < 0 || int(h.Link) >= len(f.links) {
			panic(fmt.Sprintf("fabric: flow over link %d, want 0 to %d", h.Link, len(f.links)-1))
		}
		if !(h.Multiplicity > 0) || math.IsInf(h.Multiplicity, 1) {
			panic(fmt.Sprintf("fabric: multiplicity %v on link %d, want more than 0", h.Multiplicity, h.Link))
		}
	}
}

// checkCapacity panics unless a capacity is finite and not negative.
func checkCapacity(name string, capacity unit.BytesPerSec) {
	if !(capacity >= 0) || math.IsInf(float64(capacity), 1) {
		panic(fmt.Sprintf("fabric: capacity of link %q = %v B/s, want finite and at least 0",
			name, float64(capacity)))
	}
}
