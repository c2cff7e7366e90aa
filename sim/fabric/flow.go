package fabric

import (
	"math"

	"tandem/algo/unit"
)

// link is a link with the flows that cross it. What Settle works on comes first,
// in one cache line.
type link struct {
	crossings []crossing
	capacity  float64
	// demand is Σ multiplicity · bound over the flows: the most that they could
	// take. A link whose demand is within its capacity is slack.
	demand float64

	// Scratch of Settle.
	remaining float64 // capacity not yet given to a flow of fixed rate
	usage     float64 // Σ multiplicity over the flows of no fixed rate
	visit     uint64  // the last Settle that met the link
	open      int32   // number of crossings of flows of no fixed rate

	weight  float64 // usage when it was last summed afresh
	carried float64 // bytes of the flows that have ended
	name    string
	seeded  bool // is in Fabric.seedLinks
}

// crossing says that hop of flow is over the link that holds the crossing.
type crossing struct {
	multiplicity float64
	flow         uint32
	hop          int32
}

// hop is a Hop with its place in the link's crossings.
type hop struct {
	multiplicity float64
	link         LinkID
	place        int32
}

// flow is a started flow. Its remaining bytes are kept as of the instant of its
// last change of rate, so that a flow whose rate stays costs nothing. What
// Settle works on comes first, in one cache line.
type flow struct {
	hops       []hop
	rate       float64
	bound      float64 // least of limit and capacity/multiplicity of every hop
	generation uint32
	visit      uint64 // the last Settle that met the flow
	place      int32  // in the finish heap
	tightest   LinkID // the link that sets bound, or noLink
	fixed      bool   // scratch of Settle
	finish     unit.Tick

	since     unit.Tick
	remaining float64 // bytes at instant since
	total     float64
	limit     float64 // explicit limit, or +Inf
	order     uint64  // number of flows started before
	tag       int64
}

// slackTolerance is the relative excess of demand over capacity that is taken
// for rounding: sums of the very rates that fill a link.
const slackTolerance = 1e-12

// slack reports whether the link can bind no flow: even if all flows reached
// their bounds, capacity would suffice. Max-min rates are then the same without
// the link, and it connects nothing.
func (l *link) slack() bool { return l.demand <= l.capacity*(1+slackTolerance) }

// moved returns the bytes that one member has moved by now.
func (w *flow) moved(now unit.Tick) float64 {
	return min(w.total, w.total-w.remaining+float64(w.rate*(now-w.since).Seconds()))
}

// setRate gives the flow a rate from now on and works out its finish.
func (w *flow) setRate(now unit.Tick, rate float64) {
	w.remaining = w.total - w.moved(now)
	w.since = now
	w.rate = rate
	if w.remaining <= 0 {
		w.finish = now
		return
	}
	// In this order a whole number of nanoseconds comes out whole. A finish
	// less than a thousandth of a nanosecond past one is that much rounding.
	wait := math.Ceil(w.remaining*float64(unit.Second)/rate - 1e-3)
	w.finish = unit.Forever
	if wait < float64(unit.Forever-now) {
		w.finish = now + unit.Tick(max(wait, 0))
	}
}

// slot returns a free flow slot.
func (f *Fabric) slot() uint32 {
	if n := len(f.idle); n > 0 {
		i := f.idle[n-1]
		f.idle = f.idle[:n-1]
		return i
	}
	f.flows = append(f.flows, flow{})
	return uint32(len(f.flows) - 1)
}

// alive reports whether id names a flow under way. A flow's slot has an odd
// generation while it is.
func (f *Fabric) alive(id FlowID) bool {
	return id.generation&1 == 1 && int(id.slot) < len(f.flows) && f.flows[id.slot].generation == id.generation
}

// seed marks a link for the next Settle if it binds as things are. A change
// seeds the links concerned both before and after it, and so misses neither a
// link that begins to bind nor one that ceases to.
func (f *Fabric) seed(id LinkID) {
	if l := &f.links[id]; !l.seeded && !l.slack() {
		l.seeded = true
		f.seedLinks = append(f.seedLinks, id)
	}
}

// attach enters a flow at the links of its path.
func (f *Fabric) attach(i uint32) {
	w := &f.flows[i]
	w.bound, w.tightest = f.boundOf(w)
	for k := range w.hops {
		h := &w.hops[k]
		l := &f.links[h.link]
		h.place = int32(len(l.crossings))
		l.crossings = append(l.crossings, crossing{h.multiplicity, i, int32(k)})
		l.demand += float64(h.multiplicity * w.bound)
		f.seed(h.link)
	}
}

// remove takes a flow out that has moved so many bytes a member.
func (f *Fabric) remove(i uint32, moved float64) {
	w := &f.flows[i]
	for k := range w.hops {
		h := &w.hops[k]
		l := &f.links[h.link]
		f.seed(h.link)
		l.carried += float64(h.multiplicity * moved)
		last := len(l.crossings) - 1
		end := l.crossings[last]
		l.crossings[h.place] = end
		f.flows[end.flow].hops[end.hop].place = h.place
		l.crossings = l.crossings[:last]
		if last == 0 {
			l.demand = 0 // and forget the rounding of the sum
		} else {
			l.demand -= float64(h.multiplicity * w.bound)
		}
	}
	f.finish.remove(f.flows, i)
	w.generation++
	w.hops = w.hops[:0]
	f.idle = append(f.idle, i)
}

// rebound works out a flow's bound anew after a capacity on its path changed.
func (f *Fabric) rebound(i uint32) {
	w := &f.flows[i]
	bound, tightest := f.boundOf(w)
	w.tightest = tightest
	if bound == w.bound {
		return
	}
	for _, h := range w.hops {
		f.seed(h.link)
		f.links[h.link].demand += float64(h.multiplicity * (bound - w.bound))
		f.seed(h.link)
	}
	w.bound = bound
	f.seedFlows = append(f.seedFlows, i)
}

// boundOf returns the rate that a flow could have if it were alone, and the link
// that allows no more, or noLink if it is the flow's own limit.
func (f *Fabric) boundOf(w *flow) (bound float64, tightest LinkID) {
	bound, tightest = w.limit, noLink
	for _, h := range w.hops {
		if most := f.links[h.link].capacity / h.multiplicity; most <= bound {
			bound, tightest = most, h.link
		}
	}
	return bound, tightest
}

// noLink stands for no link.
const noLink LinkID = -1
