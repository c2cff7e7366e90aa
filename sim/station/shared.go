package station

import (
	"fmt"
	"math"

	"tandem/algo/unit"
)

// Shared is a set of equal servers that all activities share at the same time (processor sharing), such as
// the cores of a host. An activity of width w runs as w threads; every thread gets the same part of a core,
// at most a whole core:
//
//	part = min(1, cores / Σ width)
//
// All threads advance equally, so one virtual clock that runs at the rate part serves all activities: an
// activity that starts at virtual time v ends at v + work/width, even if others start and end in between. So
// a change of load costs O(1), not O(activities).
//
// One core models a resource that is shared in equal parts, such as a memory bus.
//
// Source: the virtual time of Demers, Keshav, Shenker, "Analysis and simulation of a fair queueing
// algorithm", SIGCOMM 1989, and Parekh, Gallager 1993.
type Shared struct {
	cores   float64
	now     unit.Tick // instant of the last change
	virtual float64   // nanoseconds of a thread's progress up to now
	width   float64   // Σ width of the running activities
	running int       // number of them
	busy    float64   // core-nanoseconds used up to now
	waited  float64   // nanoseconds of threads that had no core of their own, up to now
	served  int64     // activities that have ended
	started uint64
	slots   []activity
	idle    []uint32
	queue   []ending // binary heap; may hold cancelled activities
}

// ActivityID identifies a running activity. No activity has the zero ActivityID.
type ActivityID struct{ slot, generation uint32 }

// Done is a finished activity with the tag that Start received.
type Done struct {
	ID  ActivityID
	Tag int64
}

// activity is a slot for a running activity; its generation is odd while it runs.
type activity struct {
	generation uint32
	width      float64
	tag        int64
}

// ending is the virtual time at which an activity ends.
type ending struct {
	virtual float64
	order   uint64 // activities of one instant end in the order of their starts
	id      ActivityID
}

// NewShared returns idle cores. Their number need not be whole: a part of equal hosts has a part of their
// cores. It panics if cores is not more than 0.
func NewShared(cores float64) *Shared {
	if !(cores > 0) {
		panic(fmt.Sprintf("station: %v shared cores, want more than 0", cores))
	}
	return &Shared{cores: cores}
}

// Start begins an activity of some core time that can use up to width cores at once. Width need not be whole,
// where an activity stands for several that are not of equal length. Work is at least 0 and width more than
// 0, or it panics.
func (c *Shared) Start(now, work unit.Tick, width float64, tag int64) ActivityID {
	if work < 0 || !(width > 0) {
		panic(fmt.Sprintf("station: activity of %d core-ns and width %v, want at least 0 and more than 0",
			work, width))
	}
	c.advance(now)
	var i uint32
	if n := len(c.idle); n > 0 {
		i, c.idle = c.idle[n-1], c.idle[:n-1]
	} else {
		i = uint32(len(c.slots))
		c.slots = append(c.slots, activity{})
	}
	a := &c.slots[i]
	*a = activity{a.generation + 1, width, tag}
	id := ActivityID{i, a.generation}
	c.width += width
	c.running++
	c.push(ending{c.virtual + float64(work)/width, c.started, id})
	c.started++
	return id
}

// Cancel ends an activity early and reports whether it was running.
func (c *Shared) Cancel(now unit.Tick, id ActivityID) bool {
	c.advance(now)
	if !c.runs(id) {
		return false
	}
	c.release(id)
	return true
}

// NextFinish returns the instant of the earliest end if nothing changes, and false if no activity will end.
// Ends are rounded up to a nanosecond.
func (c *Shared) NextFinish() (unit.Tick, bool) {
	c.purge()
	if len(c.queue) == 0 {
		return 0, false
	}
	wait := math.Ceil((c.queue[0].virtual-c.virtual)/c.part() - 1e-3)
	if !(wait < float64(unit.Forever-c.now)) {
		return 0, false
	}
	return c.now + unit.Tick(max(wait, 0)), true
}

// Finished removes the activities that have ended by now and appends them to dst in the order of their ends,
// and of their starts where those are equal. It panics if now is later than NextFinish: the cores would have
// been unused in between.
func (c *Shared) Finished(now unit.Tick, dst []Done) []Done {
	at, ok := c.NextFinish()
	if ok && now > at {
		panic(fmt.Sprintf("station: Finished at %d ns, want at %d ns, when an activity ended", now, at))
	}
	c.advance(now)
	if !ok || now < at {
		return dst
	}
	// The first activity has ended, even if rounding puts its end later.
	c.virtual = max(c.virtual, c.queue[0].virtual)
	for c.purge(); len(c.queue) > 0 && c.queue[0].virtual <= c.virtual; c.purge() {
		id := c.queue[0].id
		dst = append(dst, Done{id, c.slots[id.slot].tag})
		c.release(id)
	}
	return dst
}

// Busy returns the core time used until now; divided by cores and time it is the utilisation. Now must not be
// before the last change.
func (c *Shared) Busy(now unit.Tick) unit.Tick {
	return unit.Tick(c.busy + c.part()*c.width*float64(now-c.now))
}

// Servers implements Station.
func (c *Shared) Servers() float64 { return c.cores }

// Stats implements Station. A thread waits for the part of a core that it does not have while more threads
// than cores are running.
func (c *Shared) Stats(now unit.Tick) Stats {
	return Stats{
		Busy: c.Busy(now), Waited: unit.Tick(c.waited + c.excess()*float64(now-c.now)), Served: c.served,
	}
}

// excess returns the number of threads beyond the number of cores.
func (c *Shared) excess() float64 { return max(0, c.width-c.cores) }

// part returns the progress of a thread per nanosecond.
func (c *Shared) part() float64 {
	if c.width <= c.cores {
		return 1
	}
	return c.cores / c.width
}

// advance moves the clocks to an instant.
func (c *Shared) advance(now unit.Tick) {
	if now < c.now {
		panic(fmt.Sprintf("station: cores used at %d ns after a change at %d ns, want no earlier", now,
			c.now))
	}
	progress := c.part() * float64(now-c.now)
	c.busy += float64(progress * c.width)
	c.waited += c.excess() * float64(now-c.now)
	c.virtual += progress
	c.now = now
	if c.running == 0 {
		c.virtual = 0 // a small sum stays exact
		c.queue = c.queue[:0]
	}
}

// runs reports whether id identifies a running activity.
func (c *Shared) runs(id ActivityID) bool {
	return id.generation&1 == 1 && int(id.slot) < len(c.slots) && c.slots[id.slot].generation == id.generation
}

// release frees an activity's slot; its ending in the queue becomes invalid.
func (c *Shared) release(id ActivityID) {
	a := &c.slots[id.slot]
	c.served++
	c.width -= a.width
	if c.running--; c.running == 0 {
		c.width = 0 // without the rounding of parts
	}
	a.generation++
	c.idle = append(c.idle, id.slot)
}
