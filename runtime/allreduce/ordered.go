package allreduce

import (
	"context"
	"fmt"
	"slices"

	"tandem/algo/exec"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/runtime/wire"
)

// Ordered is the members of one process in a group whose members all-reduce one thing after
// the other, all in the same order, and wait for each: a dense.Collective, if every rank is a
// member. Sum and Gather are called from one goroutine.
//
// Each rank is a member of its own, whether it shares its process or not: so sums go along
// the same tree however ranks are placed. Between members of one process chunks are copied.
type Ordered struct {
	members []*member
	ctx     context.Context // ends every wait
	calls   int32
}

// member is one member of the group that is here.
type member struct {
	at    msg.Address
	group *Group
	done  chan [][]float32
}

// NewOrdered returns the members at some positions in Members, which ascend. Self, Done, Buckets and Ahead of the
// configuration are not used; Send is called for members of other processes. The end of ctx ends every wait, with
// its cause; whoever learns that a member is lost ends it.
func NewOrdered(ctx context.Context, c Config, here []int) (*Ordered, error) {
	o := &Ordered{ctx: ctx}
	// A member that has ended a round may be in the one behind the next: it had this member's part of the next.
	c.Buckets, c.Ahead = 1, 2
	away := c.Send
	c.Send = func(m msg.Message, payload exec.Payload) error {
		if o.member(m.To) == nil {
			return away(m, payload)
		}
		return o.deliverLocal(m, payload.(wire.Chunk))
	}
	for _, i := range here {
		done := make(chan [][]float32, 1)
		c.Self, c.Done = i, func(_, _ int32, stats [][]float32) { done <- stats }
		group, err := New(c)
		if err != nil {
			return nil, err
		}
		o.members = append(o.members, &member{c.Members[i], group, done})
	}
	if len(here) == 0 {
		return nil, fmt.Errorf("allreduce: no member of %d is here", len(c.Members))
	}
	return o, nil
}

// member returns the member with an address, nil if it is not here.
func (o *Ordered) member(at msg.Address) *member {
	i := slices.IndexFunc(o.members, func(m *member) bool { return m.at == at })
	if i < 0 {
		return nil
	}
	return o.members[i]
}

// deliverLocal delivers a chunk within this process. It is copied, because its memory is the sender's.
func (o *Ordered) deliverLocal(m msg.Message, c wire.Chunk) error {
	c.Values, c.Stats = slices.Clone(c.Values), slices.Clone(c.Stats)
	return o.member(m.To).group.Deliver(m, c)
}

// Sum replaces what each member here gives, in their order, by the sum over all members, along the tree.
func (o *Ordered) Sum(given [][]float32) error {
	_, err := o.allReduce(given, nil)
	return err
}

// Gather returns the values of all members, in their order.
func (o *Ordered) Gather(given [][]float32) ([]float32, error) {
	all, err := o.allReduce(nil, given)
	return slices.Concat(all...), err
}

// allReduce is one all-reduce; the calls' numbers stand for steps.
func (o *Ordered) allReduce(values, stats [][]float32) (all [][]float32, err error) {
	o.calls++
	of := func(given [][]float32, i int) []float32 {
		if given == nil {
			return nil
		}
		return given[i]
	}
	for i, m := range o.members {
		if err := m.group.Feed(o.calls, 0, of(values, i), of(stats, i)); err != nil {
			return nil, err
		}
	}
	for _, m := range o.members {
		select {
		case all = <-m.done:
		case <-o.ctx.Done():
			return nil, context.Cause(o.ctx)
		}
	}
	return all, nil
}

// FrameMax is that of Group.
func (o *Ordered) FrameMax() unit.Bytes { return o.members[0].group.FrameMax() }

// Deliver is that of Group, for the member that the message is for. It refuses what is for none here.
func (o *Ordered) Deliver(m msg.Message, c wire.Chunk) error {
	to := o.member(m.To)
	if to == nil {
		return &Refused{m.From, wire.Refusef(wire.Inadmissible, "to: %v sums nothing", m.To)}
	}
	if o.member(m.From) != nil {
		return &Refused{m.From, wire.Refusef(wire.Forged, "from: %v is in this process", m.From)}
	}
	return to.group.Deliver(m, c)
}
