package fabric

import (
	"math"

	"tandem/algo/unit"
)

// link is a link with the flows that cross it. The fields that Settle uses come first, in one cache line.
type link struct {
	crossings []crossing
	capacity  float64
	// demand is Σ multiplicity · bound over the flows: the most capacity that they could use. A link whose
	// demand is within its capacity is slack.
	demand float64

	// Scratch of Settle.
	remaining float64 // capacity not yet used by flows whose rate is fixed
	usage     float64 // Σ multiplicity over the flows whose rate is not fixed
	visit     uint64  // the last Settle that visited the link
	open      int32   // number of crossings of flows whose rate is not fixed

	weight  float64 // usage when it was last summed from zero
	carried float64 // bytes of the flows that have ended
	excess  float64 // integral of max(0, demand − capacity) over time in nanoseconds, up to since
	since   unit.Tick
	ended   int64 // flows that have ended
	name    string
	seeded  bool // is in Fabric.seedLinks
}

// crossing means that a hop of a flow is over the link that holds the crossing.
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

// flow is a started flow. Its remaining bytes are those at the last change of its rate, so a flow whose rate
// does not change costs nothing. The fields that Settle uses come first, in one cache line.
type flow struct {
	hops       []hop
	rate       float64
	bound      float64 // least of limit and capacity/multiplicity of every hop
	generation uint32
	visit      uint64 // the last Settle that visited the flow
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

// slackTolerance is the relative excess of demand over capacity that counts as rounding: the sums are of the
// very rates that fill a link.
const slackTolerance = 1e-12

// slack reports whether the link cannot bind any flow: its capacity would suffice even if all flows reached
// their bounds. The max-min rates are then the same without the link, so a change does not spread over it.
func (l *link) slack() bool { return l.demand <= l.capacity*(1+slackTolerance) }

// account integrates the excess of demand up to now, before demand or capacity changes.
func (l *link) account(now unit.Tick) {
	l.excess += max(0, l.demand-l.capacity) * float64(now-l.since)
	l.since = now
}

// moved returns the bytes that one transfer of the flow has moved by now.
func (w *flow) moved(now unit.Tick) float64 {
	return min(w.total, w.total-w.remaining+float64(w.rate*(now-w.since).Seconds()))
}

// setRate sets the rate from now on and computes the finish.
func (w *flow) setRate(now unit.Tick, rate float64) {
	w.remaining = w.total - w.moved(now)
	w.since = now
	w.rate = rate
	if w.remaining <= 0 {
		w.finish = now
		return
	}
	// In this order of operations a whole number of nanoseconds stays whole. Less than a thousandth of a
	// nanosecond past a whole number is rounding.
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

// alive reports whether id identifies an active flow. The slot of an active flow has an odd generation.
func (f *Fabric) alive(id FlowID) bool {
	return id.generation&1 == 1 && int(id.slot) < len(f.flows) && f.flows[id.slot].generation == id.generation
}

// seed marks a link for the next Settle unless the link is slack now. A change seeds its links both before
// and after, so it misses neither a link that begins to bind nor one that stops binding.
func (f *Fabric) seed(id LinkID) {
	if l := &f.links[id]; !l.seeded && !l.slack() {
		l.seeded = true
		f.seedLinks = append(f.seedLinks, id)
	}
}

// attach adds a flow to the links of its path.
func (f *Fabric) attach(i uint32) {
	w := &f.flows[i]
	w.bound, w.tightest = f.boundOf(w)
	for k := range w.hops {
		h := &w.hops[k]
		l := &f.links[h.link]
		h.place = int32(len(l.crossings))
		l.account(f.now)
		l.crossings = append(l.crossings, crossing{h.multiplicity, i, int32(k)})
		l.demand += float64(h.multiplicity * w.bound)
		f.seed(h.link)
	}
}

// remove removes a flow. Moved is the number of bytes that one transfer of the flow has moved.
func (f *Fabric) remove(i uint32, moved float64) {
	w := &f.flows[i]
	f.reach = min(f.reach, w.rate)
	for k := range w.hops {
		h := &w.hops[k]
		l := &f.links[h.link]
		f.seed(h.link)
		l.account(f.now)
		l.ended++
		l.carried += float64(h.multiplicity * moved)
		last := len(l.crossings) - 1
		end := l.crossings[last]
		l.crossings[h.place] = end
		f.flows[end.flow].hops[end.hop].place = h.place
		l.crossings = l.crossings[:last]
		if last == 0 {
			l.demand = 0 // without the rounding of the sum
		} else {
			l.demand -= float64(h.multiplicity * w.bound)
		}
	}
	f.finish.remove(f.flows, i)
	w.generation++
	w.hops = w.hops[:0]
	f.idle = append(f.idle, i)
}

// rebound updates a flow's bound after a capacity on its path changed.
func (f *Fabric) rebound(i uint32) {
	w := &f.flows[i]
	bound, tightest := f.boundOf(w)
	w.tightest = tightest
	if bound == w.bound {
		return
	}
	for _, h := range w.hops {
		f.seed(h.link)
		f.links[h.link].account(f.now)
		f.links[h.link].demand += float64(h.multiplicity * (bound - w.bound))
		f.seed(h.link)
	}
	w.bound = bound
	f.seedFlows = append(f.seedFlows, i)
}

// boundOf returns the rate that a flow would have if it were alone, and the link that sets this bound, or
// noLink if the flow's own limit does.
func (f *Fabric) boundOf(w *flow) (bound float64, tightest LinkID) {
	bound, tightest = w.limit, noLink
	for _, h := range w.hops {
		if most := f.links[h.link].capacity / h.multiplicity; most <= bound {
			bound, tightest = most, h.link
		}
	}
	return bound, tightest
}

// noLink means that there is no such link.
const noLink LinkID = -1
