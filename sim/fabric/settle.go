package fabric

import (
	"math"

	"tandem/algo/unit"
)

// filling is the scratch of Settle: the touched part of the fabric.
type filling struct {
	visit   uint64 // number of solutions so far; marks visited links and flows
	links   []LinkID
	flows   []uint32
	heap    []saturation
	floor   float64  // no link that is touched is full below this level
	full    []LinkID // links that have filled up
	crowded []LinkID // links whose capacity no longer suffices
	joining []uint32 // flows that can join a pool
	rebuild bool     // the finish heap is rebuilt at the end, not updated for each flow
}

// Settle computes the max-min fair rate of every flow from now on, and thereby its finish. Only the touched
// part is solved again: the flows and links that are connected to a change since the last Settle through
// links that are not slack and flows that are fast enough.
//
// While all rates rise together from 0, a flow that has ended makes no difference before its own rate, where
// it stopped rising, and a new flow makes none before one of its links is full. Flows that stopped rising
// earlier keep their rates.
//
// A link is slack if its capacity suffices for the ceilings of its flows. Where the solution exceeds a
// ceiling, the ceiling is raised, and the links that are no longer slack are solved with the others again.
// Where one link alone slows down several flows, they can be one, the bundle of a pool.
//
// Cost: for F flows, H hops and L links touched, O((H + L) log L), and O(log all flows) for each flow whose
// rate changes; nothing if nothing was touched. Members of a pool are touched only when its rate leaves what
// headroom and slump allow, another of their links no longer suffices, or a capacity changes. No allocation
// once the fabric has grown, but for pools.
func (f *Fabric) Settle(now unit.Tick) {
	f.advance(now, "Settle")
	if len(f.seedLinks)+len(f.seedFlows) == 0 {
		f.reach = math.Inf(1)
		return
	}
	for again := true; again; again = f.raise() {
		f.collect()
		// Rebuilding costs about as much as moving one entry in eight.
		f.fill.rebuild = len(f.fill.flows) > len(f.finish)/8
		f.solve()
		if f.fill.rebuild {
			f.finish.rebuild(f.flows)
		}
	}
	f.lower()
	f.gather()
}

// reachTolerance is the relative difference of two rates that counts as rounding.
const reachTolerance = 1e-9

// fillBound returns a level below which a link without guests is not full, if settled flows keep to their
// rates until they are at that level and flows without a rate keep rising. Each pass raises the level, up to
// the one where the link is full.
func (f *Fabric) fillBound(l *link) float64 {
	const passes = 3
	level := 0.0
	for range passes {
		remaining, usage := l.capacity, 0.0
		for _, c := range l.crossings {
			if rate := f.flows[c.flow].rate; rate > 0 && rate < level {
				remaining -= float64(c.multiplicity * rate)
			} else {
				usage += c.multiplicity
			}
		}
		if usage == 0 {
			return math.Inf(1)
		}
		level = max(level, remaining/usage)
	}
	return level
}

// collect lists the touched flows and the links that may bind them, by breadth first search from the seeds,
// and clears the seeds.
func (f *Fabric) collect() {
	s := &f.fill
	s.visit++
	s.links, s.flows = s.links[:0], s.flows[:0]
	if len(f.seedFlows) > 0 && f.reach > 0 {
		for _, id := range f.seedLinks {
			f.reach = min(f.reach, f.fillBound(&f.links[id]))
		}
	}
	s.floor, f.reach = f.reach*(1-reachTolerance), math.Inf(1)
	for _, i := range f.seedFlows {
		if f.flows[i].generation&1 == 1 { // else cancelled at the same instant
			f.visitFlow(i)
		}
	}
	for _, id := range f.seedLinks {
		// Even if the link is slack now, its flows may become faster.
		f.links[id].seeded = false
		f.visitFlows(id)
	}
	f.seedFlows, f.seedLinks = f.seedFlows[:0], f.seedLinks[:0]
	for nextFlow, nextLink := 0, 0; nextFlow < len(s.flows) || nextLink < len(s.links); {
		if nextFlow < len(s.flows) {
			f.visitLinks(&f.flows[s.flows[nextFlow]])
			nextFlow++
			continue
		}
		id := s.links[nextLink]
		if l := &f.links[id]; int(l.open) < len(l.crossings) {
			l.remaining -= f.visitFlows(id)
		}
		nextLink++
	}
}

// visitLinks adds the links of a touched flow that are not slack to the touched links, and the flow to what
// is open on them.
func (f *Fabric) visitLinks(w *flow) {
	s := &f.fill
	for _, h := range w.hops {
		l := &f.links[h.link]
		if l.visit != s.visit {
			if l.slack() {
				continue
			}
			l.visit, l.binds = s.visit, false
			l.remaining, l.usage, l.open = l.capacity, 0, 0
			s.links = append(s.links, h.link)
		}
		l.usage += h.multiplicity
		l.open++
	}
}

// visitFlows adds the flows of a link without guests that are fast enough to the touched flows, and returns
// the capacity that the others keep.
func (f *Fabric) visitFlows(id LinkID) (kept float64) {
	s := &f.fill
	for _, c := range f.links[id].crossings {
		switch w := &f.flows[c.flow]; {
		case w.visit == s.visit:
		case w.rate >= s.floor:
			f.visitFlow(c.flow)
		default:
			kept += float64(c.multiplicity * w.rate)
		}
	}
	return kept
}

// visitFlow adds a flow to the touched flows, once.
func (f *Fabric) visitFlow(i uint32) {
	if w := &f.flows[i]; w.visit != f.fill.visit {
		w.visit = f.fill.visit
		w.fixed = false
		f.fill.flows = append(f.fill.flows, i)
	}
}

// solve fixes the rates of the touched flows by progressive filling. All rates rise together from 0. When a
// link is full, or a flow at its limit, the rates of these flows stay at that level and the other rates keep
// rising.
//
// A link that is not full yet fills up at the level remaining/usage. Fixing flows below that level only
// raises it, so the heap may hold levels that are too low; solve computes the level of a link again when the
// link is first in the heap.
//
// Source: Bertsekas, Gallager, "Data Networks" (1992), section 6.5.2, with weights on the links' side; the
// lazy heap is ours.
func (f *Fabric) solve() {
	s := &f.fill
	s.heap, s.full = s.heap[:0], s.full[:0]
	for _, id := range s.links {
		l := &f.links[id]
		l.weight = l.usage
		s.heap = append(s.heap, saturation{l.remaining / l.usage, int32(id)})
	}
	for _, i := range s.flows {
		if w := &f.flows[i]; !f.boundByLinks(w) {
			s.heap = append(s.heap, saturation{w.bound, ^int32(i)})
		}
	}
	heapify(s.heap)
	level := 0.0
	for left := len(s.flows); left > 0; {
		top := s.heap[0]
		if top.of < 0 { // a flow at its bound
			level = max(level, top.level)
			s.heap = drop(s.heap)
			left -= f.fix(uint32(^top.of), level, noLink)
			continue
		}
		l := &f.links[top.of]
		if l.open == 0 {
			s.heap = drop(s.heap)
			continue
		}
		if at := f.fillLevel(l, max(level, s.floor)); at > top.level {
			s.heap[0].level = at
			sink(s.heap, 0)
			continue
		}
		level = max(level, top.level)
		s.heap = drop(s.heap)
		l.binds = true
		s.full = append(s.full, LinkID(top.of))
		for _, c := range l.crossings {
			left -= f.fix(c.flow, level, LinkID(top.of))
		}
	}
}

// fillLevel returns the level at which a link is full if all its open flows keep rising together. Only
// rounding could put it below the current level, so the current level is the minimum.
func (f *Fabric) fillLevel(l *link, level float64) float64 {
	if l.usage < 1e-3*l.weight {
		// Sum again before the rounding of many subtractions shows.
		l.usage = 0
		for _, c := range l.crossings {
			if !f.flows[c.flow].fixed {
				l.usage += c.multiplicity
			}
		}
		l.weight = l.usage
	}
	return max(level, l.remaining/l.usage)
}

// boundByLinks reports whether the link that sets a flow's bound is touched. Then the touched links alone
// keep the flow within its bound.
func (f *Fabric) boundByLinks(w *flow) bool {
	return w.tightest != noLink && f.links[w.tightest].visit == f.fill.visit
}

// fix sets the final rate of a flow, which a link has stopped, or noLink. It returns 1, or 0 if the rate was
// fixed already.
func (f *Fabric) fix(i uint32, rate float64, by LinkID) int {
	w := &f.flows[i]
	if w.fixed {
		return 0
	}
	w.fixed, w.stoppedBy = true, by
	for _, h := range w.hops {
		// The values of a slack link that is not touched are unused.
		l := &f.links[h.link]
		l.remaining -= float64(h.multiplicity * rate)
		l.usage -= h.multiplicity
		l.open--
	}
	if rate != w.rate {
		f.setRate(w, rate)
		if !f.fill.rebuild {
			f.finish.fix(f.flows, i)
		}
	}
	return 1
}
