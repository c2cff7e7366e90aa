package fault

import (
	"fmt"
	"slices"

	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// Injector applies a plan to the messages that one incarnation of a role sends. P is the type of
// payloads, which an Injector passes on unread. It is not safe for concurrent use. Memory: the
// messages that it holds back, and a counter for every receiver.
type Injector[P any] struct {
	plan        *Plan
	from        msg.Address
	incarnation uint32
	sent        map[msg.Address]uint64 // number of messages so far, by receiver
	held        []heldMessage[P]       // in the order in which they were sent
	counts      Counts
}

// heldMessage is a message that waits until later messages have overtaken it.
type heldMessage[P any] struct {
	parcel Parcel[P]
	until  uint64    // number of the message to the same receiver that releases this one
	due    unit.Tick // time at which it is released at the latest
}

// Parcel is one copy of a message, with its payload, that the driver delivers.
type Parcel[P any] struct {
	Message msg.Message
	Payload P
	Delay   unit.Tick // before the parcel enters the network
}

// Counts are the numbers of messages and of crashes that a plan has affected.
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
		c.Sent + o.Sent, c.Dropped + o.Dropped, c.Duplicated + o.Duplicated, c.Delayed + o.Delayed,
		c.Held + o.Held, c.Crashes + o.Crashes,
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

// Send decides the fate of a message. It appends to dst the parcels to deliver now, in order:
// copies of this message, and of earlier messages that have waited for it. now is the time of
// sending.
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
	overtaken := func(h *heldMessage[P]) bool { return h.parcel.Message.To == m.To && h.until <= n }
	return in.release(dst, overtaken)
}

// Flush appends to dst the parcels that have waited for HoldMax at the time now.
func (in *Injector[P]) Flush(dst []Parcel[P], now unit.Tick) []Parcel[P] {
	return in.release(dst, func(h *heldMessage[P]) bool { return h.due <= now })
}

// Next returns the time at which the next parcel has waited for HoldMax; ok is false if no message
// is held back.
func (in *Injector[P]) Next() (at unit.Tick, ok bool) {
	if len(in.held) == 0 {
		return 0, false
	}
	return in.held[0].due, true // all wait for the same time
}

// Counts returns the faults so far.
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

// Schedule is the list of crashes of one role instance. The zero value has none.
type Schedule struct{ crashes []Crash }

// Schedule returns the crashes of the role instance at an address, in ascending order of their steps.
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

// Due reports whether the role crashes at an input about a step, and how long the role then stays
// away. Each crash is due once. Inputs that are not about a step have step −1.
func (s *Schedule) Due(step int32) (away unit.Tick, due bool) {
	if len(s.crashes) == 0 || step < s.crashes[0].Step {
		return 0, false
	}
	away = s.crashes[0].Away
	s.crashes = s.crashes[1:]
	return away, true
}
