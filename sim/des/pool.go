package des

import "slices"

// slot keeps one pending event, or waits on the free list.
type slot struct {
	event      Event
	generation uint32 // odd while the slot holds an event
}

// pool keeps the pending events, so that the queue moves 16 bytes an event and
// not the whole of it. Taking an event out raises its slot's generation, which
// makes every reference to it stale.
type pool struct {
	slots []slot
	idle  []uint32 // slots without an event, last freed on top
	live  int
}

// turn is an event of a round with the key that orders it.
type turn struct {
	class, source int32
	sequence      uint64
	id            ID
}

// put stores an event.
func (p *pool) put(event Event) ID {
	p.live++
	if n := len(p.idle); n > 0 {
		i := p.idle[n-1]
		p.idle = p.idle[:n-1]
		s := &p.slots[i]
		s.event = event
		s.generation++
		return ID{i, s.generation}
	}
	p.slots = append(p.slots, slot{event, 1})
	return ID{uint32(len(p.slots) - 1), 1}
}

// alive reports whether id names a pending event.
func (p *pool) alive(id ID) bool {
	return id.generation&1 == 1 && int(id.slot) < len(p.slots) && p.slots[id.slot].generation == id.generation
}

// take removes an event and returns it, if it is still pending.
func (p *pool) take(id ID) (event Event, ok bool) {
	if !p.alive(id) {
		return Event{}, false
	}
	s := &p.slots[id.slot]
	s.generation++
	p.idle = append(p.idle, id.slot)
	p.live--
	return s.event, true
}

// order appends the pending events of due to dst by class, source and sequence.
func (p *pool) order(dst []turn, due []entry) []turn {
	for _, d := range due {
		if p.alive(d.id) {
			e := &p.slots[d.id.slot].event
			dst = append(dst, turn{e.Class, e.Source, e.Sequence, d.id})
		}
	}
	if !slices.IsSortedFunc(dst, compareTurns) {
		slices.SortFunc(dst, compareTurns)
	}
	return dst
}

// compareTurns orders by class, then source, then sequence.
func compareTurns(a, b turn) int {
	switch {
	case a.class != b.class:
		return int(int64(a.class) - int64(b.class))
	case a.source != b.source:
		return int(int64(a.source) - int64(b.source))
	case a.sequence < b.sequence:
		return -1
	case a.sequence > b.sequence:
		return 1
	}
	return 0
}
