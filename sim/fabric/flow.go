package fabric

import (
	"math"

	"tandem/algo/unit"
)

// link is a link with the flows that cross it. The fields that Settle uses come first.
type link struct {
	crossings []crossing
	capacity  float64
	most      float64 // Σ multiplicity · ceiling over the flows: the most capacity that they use
	pool      *pool   // of flows that this link alone slows down; nil: there is none
	guests    int32   // crossings by members of other links' pools
	binds     bool    // has stopped a flow in the last solution that visited the link

	// Scratch of Settle.
	open      int32   // number of crossings of flows whose rate is not fixed
	remaining float64 // capacity not yet used by flows whose rate is fixed
	usage     float64 // Σ multiplicity over the flows whose rate is not fixed
	visit     uint64  // the last solution that visited the link

	demand  float64 // Σ multiplicity · bound over the flows: what they could use alone
	weight  float64 // usage when it was last summed from zero
	carried float64 // bytes of the flows that have ended
	excess  float64 // integral of max(0, demand − capacity) over time in nanoseconds, up to since
	since   unit.Tick
	ended   int64  // flows that have ended
	starts  uint64 // Fabric.started of the last flow that started over the link
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
// does not change costs nothing. The fields that Settle uses come first.
type flow struct {
	hops       []hop
	rate       float64
	bound      float64 // least of limit and capacity/multiplicity of every hop
	ceiling    float64 // the rate does not exceed it; it follows the rate, up to bound: see Fabric.raise
	generation uint32
	visit      uint64 // the last solution that visited the flow
	place      int32  // in the finish heap, or in that of its pool
	tightest   LinkID // the link that sets bound, or noLink
	stoppedBy  LinkID // the link whose filling up fixed the rate in the last solution, or noLink
	fixed      bool   // scratch of Settle
	finish     unit.Tick

	pool      *pool   // of which the flow is a member: its rate is that of the bundle
	bundles   *pool   // whose bundle the flow is
	due       float64 // of a member: the virtual time of its end
	since     unit.Tick
	remaining float64 // bytes at instant since
	total     float64
	limit     float64 // explicit limit, or +Inf
	order     uint64  // number of flows started before
	tag       int64
}

// slackTolerance is the relative excess of use over capacity that counts as rounding: the sums are of the
// very rates that fill a link.
const slackTolerance = 1e-12

// suffices reports whether the capacity of the link is enough for its flows even if they use more, beyond
// their ceilings.
func (l *link) suffices(more float64) bool { return l.most+more <= l.capacity*(1+slackTolerance) }

// slack reports whether the link cannot bind any flow: its capacity suffices. The max-min rates are then the
// same without the link, so a change does not spread over it.
//
// No rounding of the sum may decide in two cases. A link that has stopped a flow binds it, also if all flows
// have just reached their ceilings. A link with guests is slack: they leave their pools where it no longer
// suffices.
func (l *link) slack() bool { return l.guests > 0 || l.admits(0) }

// admits reports whether the link is slack, or would be without guests, if its flows use more than their
// ceilings.
func (l *link) admits(more float64) bool { return !l.binds && l.suffices(more) }

// account integrates the excess of demand up to now, before demand or capacity changes.
func (l *link) account(now unit.Tick) {
	l.excess += float64(max(0, l.demand-l.capacity) * float64(now-l.since))
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
	w.finish = finishAfter(now, w.remaining, rate)
}

// finishAfter returns the instant at which bytes that are left have moved.
func finishAfter(now unit.Tick, left, rate float64) unit.Tick {
	if left <= 0 {
		return now
	}
	// In this order of operations a whole number of nanoseconds stays whole. Less than a thousandth of a
	// nanosecond past a whole number is rounding.
	wait := math.Ceil(left*float64(unit.Second)/rate - 1e-3)
	if wait < float64(unit.Forever-now) {
		return now + unit.Tick(max(wait, 0))
	}
	return unit.Forever
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

// seed marks a link for the next Settle unless the link is slack now. A flow that starts seeds its links with
// it, and one that ends seeds them before: where it begins to bind, and where it stops binding.
func (f *Fabric) seed(id LinkID) {
	if l := &f.links[id]; !l.seeded && !l.slack() {
		l.seeded = true
		f.seedLinks = append(f.seedLinks, id)
	}
}

// addHop adds a hop to the path of a flow that starts, or its multiplicity to an earlier hop over the link.
func (f *Fabric) addHop(w *flow, h Hop) {
	if l := &f.links[h.Link]; l.starts != f.started {
		l.starts = f.started
		w.hops = append(w.hops, hop{link: h.Link, multiplicity: h.Multiplicity})
		return
	}
	w.on(h.Link).multiplicity += h.Multiplicity
}

// on returns the hop of a flow over a link that it crosses.
func (w *flow) on(id LinkID) *hop {
	for k := range w.hops {
		if w.hops[k].link == id {
			return &w.hops[k]
		}
	}
	panic("fabric: flow does not cross the link")
}

// attach adds a flow to the links of its path. Its ceiling is 0 until it has a rate.
func (f *Fabric) attach(i uint32) {
	w := &f.flows[i]
	w.bound, w.tightest = f.boundOf(w)
	for k := range w.hops {
		h := &w.hops[k]
		l := &f.links[h.link]
		l.account(f.now)
		f.cross(i, k)
		l.demand += float64(h.multiplicity * w.bound)
		f.seed(h.link)
	}
	f.finish.insert(f.flows, i)
	f.seedFlows = append(f.seedFlows, i)
}

// cross adds a hop of a flow to the crossings of its link.
func (f *Fabric) cross(i uint32, k int) {
	h := &f.flows[i].hops[k]
	l := &f.links[h.link]
	h.place = int32(len(l.crossings))
	l.crossings = append(l.crossings, crossing{h.multiplicity, i, int32(k)})
}

// uncross removes a hop from the crossings of its link.
func (f *Fabric) uncross(h *hop) {
	l := &f.links[h.link]
	last := len(l.crossings) - 1
	end := l.crossings[last]
	l.crossings[h.place] = end
	f.flows[end.flow].hops[end.hop].place = h.place
	l.crossings = l.crossings[:last]
}

// remove removes a flow. Moved is the number of bytes that one transfer of the flow has moved.
func (f *Fabric) remove(i uint32, moved float64) {
	w := &f.flows[i]
	if w.pool != nil {
		f.leave(i)
	}
	f.finish.remove(f.flows, i)
	f.reach = min(f.reach, w.rate)
	for k := range w.hops {
		h := &w.hops[k]
		l := &f.links[h.link]
		f.seed(h.link)
		l.account(f.now)
		l.ended++
		l.carried += float64(h.multiplicity * moved)
		l.demand -= float64(h.multiplicity * w.bound)
		l.most -= float64(h.multiplicity * w.ceiling)
		f.uncross(h)
		if len(l.crossings) == 0 {
			l.demand, l.most = 0, 0 // without the rounding of the sum
		}
	}
	f.free(i)
}

// free makes a slot free for another flow.
func (f *Fabric) free(i uint32) {
	w := &f.flows[i]
	w.generation++
	w.hops, w.bundles = w.hops[:0], nil
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
	}
	w.bound = bound
	if bound < w.ceiling {
		f.setCeiling(w, bound)
	}
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
