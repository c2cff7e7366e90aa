package des

import (
	"fmt"

	"tandem/algo/rng"
	"tandem/algo/unit"
)

// maxRounds bounds the rounds of one instant. An instant that takes more is a loop of zero-delay events,
// which would otherwise hang silently.
const maxRounds = 1 << 20

// Event happens at one instant. The queue uses At, Class, Source and Sequence; the other fields are for the
// handler.
type Event struct {
	// At is the instant, in nanoseconds since the start of the run.
	At unit.Tick
	// Sequence is the number of events scheduled before this one. Schedule sets it.
	Sequence uint64
	// Class orders the events of a round before anything else; lower first.
	Class int32
	// Source is the entity that caused the event. It orders the events of a round within a class, so that the
	// order does not depend on which entity ran first.
	Source int32
	// Kind is the type of the event, one of the handler's own.
	Kind int32
	// Target is the entity that the event is for.
	Target int32
	// A, B and C are the payload: ids, handles, sizes.
	A, B, C int64
}

// ID names a scheduled event until it is handled or cancelled. The zero ID names no event.
type ID struct{ slot, generation uint32 }

// Handler is the simulated system that a queue drives.
type Handler interface {
	// Handle processes one event. It may schedule and cancel events.
	Handle(e Event)
	// Settle runs when no event is left at the instant now. It may schedule and cancel events, at now too.
	Settle(now unit.Tick)
}

// Queue holds the clock and the pending events. The zero Queue is ready for use: its clock is at instant 0
// and no event is pending.
type Queue struct {
	now      unit.Tick
	sequence uint64
	heap     radixHeap
	pool     pool
	round    []keyed
	due      []entry
	stopped  bool
	shuffle  uint64 // seed of the order of sources; 0: ascending
}

// Now returns the current instant.
func (q *Queue) Now() unit.Tick { return q.now }

// Pending returns the number of events that are scheduled and neither handled nor cancelled.
func (q *Queue) Pending() int { return q.pool.live }

// Shuffle draws the order of the sources within a class, for each instant, from a seed that is not 0. Results
// that are equal for every seed do not rest on which of two entities acts first at one instant.
func (q *Queue) Shuffle(seed uint64) { q.shuffle = seed }

// Schedule adds an event, sets its Sequence and returns its id. An event for the current instant joins the
// next round of the instant.
//
// It panics if the event's instant has passed. Cost: amortised O(log range of pending instants), about 30 ns;
// no allocation once the queue has grown.
func (q *Queue) Schedule(event Event) ID {
	if event.At < q.now {
		panic(fmt.Sprintf("des: event at %d ns scheduled at %d ns; want no earlier instant: "+
			"class %d, source %d, kind %d, target %d, payload %d %d %d",
			event.At, q.now, event.Class, event.Source, event.Kind, event.Target, event.A, event.B, event.C))
	}
	event.Sequence = q.sequence
	q.sequence++
	id := q.pool.add(event)
	q.heap.push(entry{at: event.At, id: id})
	return id
}

// Cancel removes an event and reports whether it was still pending. An event of the round that is being
// handled can be cancelled until it is handled itself. Cost: O(1); the heap drops its reference when the
// clock reaches the instant.
func (q *Queue) Cancel(id ID) bool {
	_, ok := q.pool.remove(id)
	return ok
}

// Stop makes Run return after the event that is being handled, without settling the instant. The rest of the
// round stays pending: the next Run handles it, together with the events that the round has scheduled for the
// instant.
func (q *Queue) Stop() { q.stopped = true }

// Run handles every instant up to and including until. On return the clock is at until, or at the last
// instant handled if no event is pending or Stop was called.
//
// It panics if one instant takes more than 2^20 rounds.
func (q *Queue) Run(until unit.Tick, h Handler) {
	q.stopped = false
	for !q.stopped {
		if q.pool.live == 0 {
			return // the heap may still hold cancelled events
		}
		at := q.heap.least()
		if at > until {
			q.now = max(q.now, until)
			return
		}
		if !q.fill(at) {
			continue
		}
		q.now = at
		q.instant(h)
	}
}

// instant handles the round that q holds and all later rounds of the same instant, and settles the instant.
func (q *Queue) instant(h Handler) {
	for range maxRounds {
		q.handle(h)
		if q.stopped {
			return
		}
		if q.fill(q.now) {
			continue
		}
		h.Settle(q.now)
		if q.stopped || !q.fill(q.now) {
			return
		}
	}
	panic(fmt.Sprintf("des: more than %d rounds at %d ns: events without delay cause each other",
		maxRounds, q.now))
}

// fill moves the queued events of an instant to the next round and reports whether any of them is pending.
func (q *Queue) fill(at unit.Tick) bool {
	if q.heap.empty() || q.heap.least() != at {
		return false
	}
	q.due = q.heap.pop(q.due[:0])
	q.round = q.pool.collect(q.round[:0], q.due)
	if q.shuffle != 0 {
		shuffleSources(q.round, rng.Key(q.shuffle, "sim/des", uint64(at)))
	}
	order(q.round)
	return len(q.round) > 0
}

// handle passes the events of the round to the handler, in order.
func (q *Queue) handle(h Handler) {
	for i, t := range q.round {
		event, ok := q.pool.remove(t.id)
		if !ok {
			continue // cancelled by an earlier event of the round
		}
		h.Handle(event)
		if q.stopped {
			for _, rest := range q.round[i+1:] {
				q.heap.push(entry{at: q.now, id: rest.id})
			}
			return
		}
	}
}
