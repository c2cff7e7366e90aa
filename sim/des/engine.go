// Package gemm is the simulator's clock: a queue of typed events in virtual
// time, handled one instant at a time, in an order that depends on nothing but
// the events themselves.
//
// All events of an instant that exist when the instant is reached form its
// first round, handled in the order (class, source, sequence). Events that a
// round creates for the same instant form the next round. After the last round
// the handler settles the instant once; that is where shared resources are
// re-solved, whatever number of transfers started or ended. Settling may
// schedule too: events of the same instant make a further round, after which
// the instant is settled again.
//
// An engine is single-threaded and draws no random numbers; a role that wants
// some takes a stream from algo/rng.
package des

import (
	"fmt"

	"tandem/algo/unit"
)

// maxRounds bounds the rounds of one instant. An instant that takes more is a
// loop of zero-delay events, which would otherwise hang without a trace.
const maxRounds = 1 << 20

// Event is something that happens at one instant. Only At, Class, Source and
// Sequence mean anything to the engine; the rest is the handler's.
type Event struct {
	// At is the instant, in nanoseconds since the start of the run.
	At unit.Tick
	// Sequence is the number of events scheduled before this one. The engine
	// sets it.
	Sequence uint64
	// Class orders the events of a round before anything else; lower first.
	Class int32
	// Source is the entity that caused the event. It orders the events of a
	// round within a class, so that the order does not depend on which entity
	// happened to run first.
	Source int32
	// Kind tells a handler's event types apart.
	Kind int32
	// Target is the entity that the event is for.
	Target int32
	// A, B and C are the payload: ids, handles, sizes.
	A, B, C int64
}

// ID names a scheduled event until it is handled or cancelled. The zero ID
// names no event.
type ID struct{ slot, generation uint32 }

// Handler is the simulated world that an engine drives.
type Handler interface {
	// Handle takes one event. It may schedule and cancel events.
	Handle(e Event)
	// Settle runs when no event is left at instant now. It may schedule and
	// cancel events, at now too.
	Settle(now unit.Tick)
}

// Engine holds the clock and the pending events. The zero Engine stands at
// instant 0 with nothing pending, ready for use.
type Engine struct {
	now      unit.Tick
	sequence uint64
	queue    radixHeap
	pool     pool
	round    []turn
	due      []entry
	stopped  bool
}

// Now returns the instant of the clock.
func (e *Engine) Now() unit.Tick { return e.now }

// Pending returns the number of events that are scheduled and neither handled
// nor cancelled.
func (e *Engine) Pending() int { return e.pool.live }

// Schedule adds an event, ignoring and setting its Sequence, and returns its
// id. An event for the present instant joins the next round of the instant.
//
// It panics if the event's instant has passed.
// Cost: amortized O(log range of pending instants), about 30 ns; no allocation
// once the engine has grown.
func (e *Engine) Schedule(event Event) ID {
	if event.At < e.now {
		panic(fmt.Sprintf("des: event at %d ns scheduled at %d ns, want no earlier: class %d, source %d, kind %d, target %d, payload %d %d %d",
			event.At, e.now, event.Class, event.Source, event.Kind, event.Target, event.A, event.B, event.C))
	}
	event.Sequence = e.sequence
	e.sequence++
	id := e.pool.put(event)
	e.queue.push(entry{at: event.At, id: id})
	return id
}

// Cancel withdraws an event and reports whether it was still to come. An event
// of the round being handled can be cancelled until its turn. Cost: O(1); the
// queue drops its reference when the instant is reached.
func (e *Engine) Cancel(id ID) bool {
	_, ok := e.pool.take(id)
	return ok
}

// Stop makes Run return after the event being handled, without settling the
// instant. The rest of the round stays pending: a further Run takes it up,
// together with what the round has scheduled for the instant.
func (e *Engine) Stop() { e.stopped = true }

// Run handles every instant up to and including until. On return the clock
// stands at until, or at the last instant handled if nothing is pending or Stop
// was called.
//
// It panics if one instant takes more than 2^20 rounds.
func (e *Engine) Run(until unit.Tick, h Handler) {
	e.stopped = false
	for !e.stopped {
		if e.pool.live == 0 {
			return // the queue may still hold what has been cancelled
		}
		at := e.queue.least()
		if at > until {
			e.now = max(e.now, until)
			return
		}
		if !e.fill(at) {
			continue
		}
		e.now = at
		e.instant(h)
	}
}

// instant handles the round that e holds, all later rounds of the same instant,
// and settles it.
func (e *Engine) instant(h Handler) {
	for range maxRounds {
		e.handle(h)
		if e.stopped {
			return
		}
		if e.fill(e.now) {
			continue
		}
		h.Settle(e.now)
		if e.stopped || !e.fill(e.now) {
			return
		}
	}
	panic(fmt.Sprintf("des: more than %d rounds at %d ns: events without delay cause each other", maxRounds, e.now))
}

// fill takes the queued events of an instant as the next round and reports
// whether one of them is to be handled.
func (e *Engine) fill(at unit.Tick) bool {
	if e.queue.empty() || e.queue.least() != at {
		return false
	}
	e.due = e.queue.pop(e.due[:0])
	e.round = e.pool.order(e.round[:0], e.due)
	return len(e.round) > 0
}

// handle takes the events of the round in turn.
func (e *Engine) handle(h Handler) {
	for i, t := range e.round {
		event, ok := e.pool.take(t.id)
		if !ok {
			continue // cancelled by an earlier event of the round
		}
		h.Handle(event)
		if e.stopped {
			for _, rest := range e.round[i+1:] {
				e.queue.push(entry{at: e.now, id: rest.id})
			}
			return
		}
	}
}
