package des

import (
	"slices"

	"tandem/algo/rng"
)

// slot holds one pending event, or is on the free list.
type slot struct {
	event      Event
	generation uint32 // odd while the slot holds an event
}

// pool stores the pending events, so that the heap moves 16 bytes per event and not the whole event. Removing
// an event increments the generation of its slot, which invalidates every reference to the event.
type pool struct {
	slots []slot
	idle  []uint32 // slots without an event, last freed on top
	live  int
}

// keyed is an event of a round with the key that orders the round.
type keyed struct {
	class, source int32
	sequence      uint64
	id            ID
}

// add stores an event.
func (p *pool) add(event Event) ID {
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

// remove returns an event that is still pending, and frees its slot.
func (p *pool) remove(id ID) (event Event, ok bool) {
	if !p.alive(id) {
		return Event{}, false
	}
	s := &p.slots[id.slot]
	s.generation++
	p.idle = append(p.idle, id.slot)
	p.live--
	return s.event, true
}

// collect appends the pending events of due to dst.
func (p *pool) collect(dst []keyed, due []entry) []keyed {
	for _, d := range due {
		if p.alive(d.id) {
			e := &p.slots[d.id.slot].event
			dst = append(dst, keyed{e.Class, e.Source, e.Sequence, d.id})
		}
	}
	return dst
}

// shuffleSources replaces every source by a hash of it.
func shuffleSources(round []keyed, key uint64) {
	for i := range round {
		round[i].source = int32(rng.Mix(key ^ uint64(uint32(round[i].source))))
	}
}

// order sorts a round by class, source and sequence.
func order(round []keyed) {
	if !slices.IsSortedFunc(round, compareKeys) {
		slices.SortFunc(round, compareKeys)
	}
}

// compareKeys compares by class, then source, then sequence.
func compareKeys(a, b keyed) int {
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
