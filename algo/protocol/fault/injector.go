package fault

import (
	"fmt"
	"slices"

	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// Injector applies a plan to the messages that one incarnation of a role sends. It is not safe for
// concurrent use. Memory: the messages held back and a counter for every receiver.
type Injector[P any] struct {
	plan        *Plan
	from        msg.Address
	incarnation uint32
	sent        map[msg.Address]uint64 // messages so far, by receiver
	held        []heldMessage[P]       // in the order of sending
	counts      Counts
}

// held is a message that waits for later ones to overtake it.
type heldMessage[P any] struct {
	parcel Parcel[P]
	until  uint64    // the number of the message to the same receiver that releases it
	due    unit.Tick // when it is released at the latest
}

// Parcel is one copy of a message that travels, with its payload.
type Parcel[P any] struct {
	Message msg.Message
	Payload P
	Delay   unit.Tick // before it enters the network, beyond whatever the driver takes to deliver
}

// Counts is what a plan has done to a run: numbers of messages, and of crashes.
type Counts struct {
	Sent       int64 `json:"sent"` // by the roles, before any fault
	Dropped    int64 `json:"dropped"`
	Duplicated int64 `json:"duplicated"`
	Delayed    int64 `json:"delayed"`
	Held       int64 `json:"held"`    // copies that waited for later messages to overtake them
	Crashes    int64 `json:"crashes"` // counted by the driver, not by an Injector
}

// Add returns the sum of two counts.
func (c Counts) Add(o Counts) Counts {
	return Counts{
		c.Sent + o.Sent, c.Dropped + o.Dropped, c.Duplicated + o.Duplicated, c.Delayed + o.Delayed, c.Held + o.Held,
		c.Crashes + o.Crashes,
	}
}

// String returns the counts as reports print them.
func (c Counts) String() string {
	return fmt.Sprintf("of %d messages %d lost, %d duplicated, %d delayed, %d held back; crashes: %d",
		c.Sent, c.Dropped, c.Duplicated, c.Delayed, c.Held, c.Crashes)
}

// NewInjector returns the injector of one incarnation of a role.
func NewInjector[P any](p *Plan, from msg.Address, incarnation uint32) *Injector[P] {
	return &Injector[P]{plan: p, from: from, incarnation: incarnation, sent: map[msg.Address]uint64{}}
}

// Send decides on a message and appends to dst the parcels that travel now, in order: copies of this
// message and of earlier ones that have waited for it.
func (in *Injector[P]) Send(dst []Parcel[P], now unit.Tick, m msg.Message, payload P) []Parcel[P] {
	n := in.sent[m.To]
	in.sent[m.To] = n + 1
	in.counts.Sent++
	f := in.plan.fateOf(in.from, m.To, in.incarnation, n)
	p := Parcel[P]{m, payload, f.delay}
	copies := 1
	if f.duplicate {
		copies = 2
		in.counts.Duplicated++
	}
	if f.drop {
		copies = 0
		in.counts.Dropped++
	} else if f.delay > 0 {
		in.counts.Delayed++
	}
	for range copies {
		if f.behind > 0 {
			in.held = append(in.held, heldMessage[P]{p, n + f.behind, now + HoldMax})
			in.counts.Held++
		} else {
			dst = append(dst, p)
		}
	}
	return in.release(dst, func(h *heldMessage[P]) bool { return h.parcel.Message.To == m.To && h.until <= n })
}

// Flush appends the parcels that have waited for HoldMax.
func (in *Injector[P]) Flush(dst []Parcel[P], now unit.Tick) []Parcel[P] {
	return in.release(dst, func(h *heldMessage[P]) bool { return h.due <= now })
}

// Next returns the time at which Flush has something to do, if it has.
func (in *Injector[P]) Next() (at unit.Tick, ok bool) {
	if len(in.held) == 0 {
		return 0, false
	}
	return in.held[0].due, true // all wait equally long
}

// Counts returns what has been decided so far.
func (in *Injector[P]) Counts() Counts { return in.counts }

func (in *Injector[P]) release(dst []Parcel[P], free func(*heldMessage[P]) bool) []Parcel[P] {
	in.held = slices.DeleteFunc(in.held, func(h heldMessage[P]) bool {
		if !free(&h) {
			return false
		}
		dst = append(dst, h.parcel)
		return true
	})
	return dst
}

// Schedule tells when a role instance crashes. The zero value says never.
type Schedule struct{ crashes []Crash }

// Schedule returns the crashes of one role instance, in the order of the plan's steps.
func (p *Plan) Schedule(at msg.Address) Schedule {
	var s Schedule
	for _, c := range p.Crashes {
		if c.Role == at.Role && c.Index == at.Index {
			s.crashes = append(s.crashes, c)
		}
	}
	slices.SortStableFunc(s.crashes, func(a, b Crash) int { return int(a.Step) - int(b.Step) })
	return s
}

// Due reports whether the role crashes instead of taking an input about a step, and for how long it is away
// then. A crash is due once. Inputs that are about no step have step −1.
func (s *Schedule) Due(step int32) (away unit.Tick, due bool) {
	if len(s.crashes) == 0 || step < s.crashes[0].Step {
		return 0, false
	}
	away = s.crashes[0].Away
	s.crashes = s.crashes[1:]
	return away, true
}
