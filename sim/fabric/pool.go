package fabric

import "tandem/algo/unit"

// pool holds flows that one link alone slows down: all their other links are slack. So they all have the same
// rate, and a virtual clock that runs at this rate serves them, as in station.Shared. To the rest of the
// fabric they are a single flow over the link, the bundle. A change of their rate costs O(1), not O(flows).
//
// A pool has one ceiling, which is that of its bundle and of each member. It is within the bound of every
// member, and the other links of the members, on which they are guests, suffice for it. So neither its bound
// nor another link binds a member while the pool is below its ceiling. A pool that rises above it is
// dissolved, and a guest whose link no longer suffices leaves its pool. Both are then solved again as flows
// of their own, and may join a pool again at the end of Settle:
//
//  1. What has changed seeds links and flows; a flow begins with ceiling 0, outside of pools.
//  2. The seeds and what they reach are solved, a bundle as one flow.
//  3. Ceilings that are exceeded are raised. Pools above theirs are dissolved, guests of links that no longer
//     suffice leave: seeds of another solution (2).
//  4. Once none is left, ceilings far above the rates of the last solution are lowered.
//  5. Flows that a link has stopped in it join the link's pool, where nothing else can bind them below its
//     ceiling.
type pool struct {
	link    LinkID
	bundle  uint32     // the slot of the bundle
	virtual float64    // bytes that a member has moved since the pool began, up to the bundle's since
	members finishHeap // by the virtual time of their ends
	widest  float64    // multiplicity of the bundle since it was last summed from zero
}

// poolLeast is the number of flows that make a pool. Fewer are solved as fast one by one.
const poolLeast = 4

// headroom is how many times as fast as now a flow may become before its ceiling is raised; slump is how many
// times its rate its ceiling may be before it is lowered. The nearer they are to 1, the more links are slack
// and the more often ceilings change: for a pool of equal flows, after a fifth of them have gone.
const (
	headroom = 1.25
	slump    = 1.6
)

// at returns the virtual time of a pool at an instant.
func (f *Fabric) at(p *pool, now unit.Tick) float64 {
	w := &f.flows[p.bundle]
	return p.virtual + float64(w.rate*(now-w.since).Seconds())
}

// rateOf returns the rate of a flow.
func (f *Fabric) rateOf(w *flow) float64 {
	if w.pool != nil {
		return f.flows[w.pool.bundle].rate
	}
	return w.rate
}

// moved returns the bytes that one transfer of a flow has moved by now.
func (f *Fabric) moved(w *flow, now unit.Tick) float64 {
	if w.pool != nil {
		return min(w.total, max(0, w.total-(w.due-f.at(w.pool, now))))
	}
	return w.moved(now)
}

// setRate sets the rate of a flow from now on, and of all members of a pool if the flow is their bundle. It
// computes when the flow, or the first member, finishes.
func (f *Fabric) setRate(w *flow, rate float64) {
	p := w.bundles
	if p == nil {
		w.setRate(f.now, rate)
		return
	}
	p.virtual, w.since, w.rate = f.at(p, f.now), f.now, rate
	w.finish = finishAfter(f.now, f.flows[p.members[0]].due-p.virtual, rate)
}

// gather makes the flows that a link has stopped in this Settle members of its pool, if nothing else can
// bind them.
func (f *Fabric) gather() {
	s := &f.fill
	for _, id := range s.full {
		l := &f.links[id]
		if l.pool == nil && len(l.crossings) < poolLeast {
			continue
		}
		stopped := func(w *flow) bool { return w.visit == s.visit && w.stoppedBy == id && w.rate > 0 }
		if l.pool != nil && !stopped(&f.flows[l.pool.bundle]) {
			continue
		}
		s.joining = s.joining[:0]
		for _, c := range l.crossings {
			if w := &f.flows[c.flow]; stopped(w) && w.bundles == nil && f.canJoin(w, l) {
				s.joining = append(s.joining, c.flow)
			}
		}
		if l.pool == nil && len(s.joining) < poolLeast {
			continue
		}
		for _, i := range s.joining {
			if l.pool == nil {
				f.newPool(id, f.flows[i].rate)
			}
			if w := &f.flows[i]; f.canJoin(w, l) { // with those that have joined
				f.join(i, l)
			}
		}
	}
}

// ceilingOn returns the ceiling of the pool of a link, or of the one that a flow that the link has stopped
// begins.
func (f *Fabric) ceilingOn(l *link, w *flow) float64 {
	if l.pool != nil {
		return f.flows[l.pool.bundle].ceiling
	}
	return headroom * w.rate
}

// canJoin reports whether neither its bound nor another of its links can bind a flow below the ceiling of a
// link's pool.
func (f *Fabric) canJoin(w *flow, of *link) bool {
	ceiling := f.ceilingOn(of, w)
	if w.bound < ceiling {
		return false
	}
	for k := range w.hops {
		h := &w.hops[k]
		if l := &f.links[h.link]; l != of && !l.admits(float64(h.multiplicity*(ceiling-w.ceiling))) {
			return false
		}
	}
	return true
}

// newPool begins the pool of a link, without members.
func (f *Fabric) newPool(id LinkID, rate float64) {
	i := f.slot()
	b := &f.flows[i]
	*b = flow{
		generation: b.generation + 1, rate: rate, ceiling: headroom * rate, tightest: id, fixed: true,
		since: f.now, finish: unit.Forever, hops: append(b.hops[:0], hop{link: id}),
	}
	b.bundles = &pool{link: id, bundle: i}
	f.links[id].pool = b.bundles
	f.cross(i, 0)
	f.finish.insert(f.flows, i)
	f.pools++
}

// join makes a flow a member of the pool of one of its links.
func (f *Fabric) join(i uint32, of *link) {
	w, p := &f.flows[i], of.pool
	f.setCeiling(w, f.flows[p.bundle].ceiling)
	left := w.total - w.moved(f.now)
	f.finish.remove(f.flows, i)
	w.pool, w.due, w.finish = p, f.at(p, f.now)+left, unit.Forever
	p.members.insert(f.flows, i)
	for k := range w.hops {
		if h := &w.hops[k]; h.link != p.link {
			f.links[h.link].guests++
			continue
		}
		f.uncross(&w.hops[k])
		of.most -= float64(w.hops[k].multiplicity * w.ceiling)
		f.widen(p, w.hops[k].multiplicity)
	}
}

// leave makes a member of a pool a flow of its own, with the same rate and ceiling, to be solved again.
func (f *Fabric) leave(i uint32) {
	w := &f.flows[i]
	p := w.pool
	b := &f.flows[p.bundle]
	w.remaining = w.total - f.moved(w, f.now)
	w.since, w.rate, w.finish = f.now, b.rate, finishAfter(f.now, w.remaining, b.rate)
	p.members.remove(f.flows, i)
	w.pool, w.due = nil, 0
	f.finish.insert(f.flows, i)
	f.reach = min(f.reach, b.rate)
	f.seedFlows = append(f.seedFlows, i, p.bundle)
	for k := range w.hops {
		h := &w.hops[k]
		l := &f.links[h.link]
		if h.link != p.link {
			l.guests--
			continue
		}
		f.cross(i, k)
		l.most += float64(h.multiplicity * w.ceiling)
		f.widen(p, -h.multiplicity)
	}
}

// widen changes the number of transfers on its link that the bundle of a pool stands for, after a member has
// come or gone. A bundle without members ends.
func (f *Fabric) widen(p *pool, by float64) {
	b, l := &f.flows[p.bundle], &f.links[p.link]
	h := &b.hops[0]
	if len(p.members) == 0 {
		l.most -= float64(h.multiplicity * b.ceiling)
		f.uncross(h)
		l.pool = nil
		f.finish.remove(f.flows, p.bundle)
		f.free(p.bundle)
		f.pools--
		return
	}
	width := h.multiplicity + by
	if width < p.widest/2 { // sum again before the rounding of many subtractions shows
		width = 0
		for _, i := range p.members {
			width += f.flows[i].on(p.link).multiplicity
		}
		p.widest = width
	}
	p.widest = max(p.widest, width)
	l.most += float64((width - h.multiplicity) * b.ceiling)
	h.multiplicity, l.crossings[h.place].multiplicity = width, width
	b.bound = l.capacity / width
	f.setRate(b, b.rate) // another member may be the first to finish
	f.finish.fix(f.flows, p.bundle)
}

// dissolve makes all members of a pool flows of their own.
func (f *Fabric) dissolve(p *pool) {
	for n := len(p.members); n > 0; n-- {
		f.leave(p.members[n-1])
	}
}

// dismiss makes the guests of a link flows of their own.
func (f *Fabric) dismiss(id LinkID) {
	l := &f.links[id]
	for k := 0; l.guests > 0; k++ {
		if i := l.crossings[k].flow; f.flows[i].pool != nil {
			f.leave(i)
		}
	}
}

// raise raises the ceilings of the touched flows that have become faster, and reports whether flows must be
// solved again: those on links whose capacity no longer suffices, and the members of pools that exceed their
// ceilings.
func (f *Fabric) raise() (again bool) {
	s := &f.fill
	s.crowded = s.crowded[:0]
	for _, i := range s.flows {
		w := &f.flows[i]
		if w.rate <= w.ceiling*(1+reachTolerance) {
			continue
		}
		if w.bundles != nil {
			f.dissolve(w.bundles)
			again = true
			continue
		}
		f.setCeiling(w, min(w.bound, headroom*w.rate))
	}
	for _, id := range s.crowded {
		f.dismiss(id)
		f.seed(id)
		f.reach = min(f.reach, f.fillBound(&f.links[id]))
		again = true
	}
	return again
}

// lower lowers the ceilings of the touched flows that have become much slower.
func (f *Fabric) lower() {
	for _, i := range f.fill.flows {
		w := &f.flows[i]
		if w.ceiling <= slump*w.rate {
			continue
		}
		ceiling := min(w.ceiling, headroom*w.rate)
		f.setCeiling(w, ceiling)
		if w.bundles == nil {
			continue
		}
		for _, k := range w.bundles.members {
			f.setCeiling(&f.flows[k], ceiling)
		}
	}
}

// setCeiling sets the ceiling of a flow. It notes the links whose capacity no longer suffices.
func (f *Fabric) setCeiling(w *flow, ceiling float64) {
	for k := range w.hops {
		h := &w.hops[k]
		if w.pool != nil && w.pool.link == h.link {
			continue // the bundle counts there
		}
		l := &f.links[h.link]
		was := l.slack()
		l.most += float64(h.multiplicity * (ceiling - w.ceiling))
		if was && !l.suffices(0) {
			f.fill.crowded = append(f.fill.crowded, h.link)
		}
	}
	w.ceiling = ceiling
}
