package search

import (
	"fmt"
	"slices"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// handleInput gives role i one input and performs its outputs.
func (s *State) handleInput(i int, in role.Input) error {
	m := s.change(i)
	if in.Kind == role.Received {
		m.credit.Received(in.Message)
	}
	if in.Kind != role.Start && s.redoes(m.Address().Role) {
		m.log = append(m.log, in)
	}
	s.out.Reset()
	m.HandleInput(0, in, s.out)
	return role.Dispatch(&in, s.out, driver{s, i, m})
}

// driver is the role.Driver of role i of a State, whose member may be changed. Messages and work wait in the
// State until an action makes them happen. An error describes a broken invariant.
type driver struct {
	*State
	i      int
	member *member
}

// Send implements role.Driver.
func (d driver) Send(m msg.Message, payload role.Handle) error {
	if payload.Kind != role.NoData && !d.member.holds(payload) {
		return fmt.Errorf("%v sends %v out of %+v, which it does not hold", d.member.Address(), m,
			payload)
	}
	if err := d.member.credit.Sent(m); err != nil {
		return err
	}
	if err := role.Admit(&d.set.Config, m); err != nil {
		return err
	}
	at, _ := slices.BinarySearchFunc(d.inbox, m, compareMessages)
	d.inbox = slices.Insert(d.inbox, at, m)
	return nil
}

// QueueWork implements role.Driver. Results are one sample for every rank, and one row on every PS that the
// batch touches.
func (d driver) QueueWork(work role.Work, o role.Operands) error {
	for _, h := range o.Reads {
		if !d.member.holds(h) {
			return fmt.Errorf("%v reads %+v for %v, but does not hold it", d.member.Address(), h,
				work.Kind)
		}
	}
	c := &d.set.Config
	lane := d.member.lanes.Lane(work.Kind)
	result := role.Result{Bytes: 1}
	switch work.Kind {
	case role.Read:
		result.Samples = slices.Repeat([]int32{1}, int(c.Ranks))
		result.IDBytes = make([]unit.Bytes, c.Ranks)
		result.SampleBytes = make([]unit.Bytes, c.Ranks)
	case role.Split:
		result.Rows = make([]int32, c.EmbeddingPSs)
		result.SignBytes = make([]unit.Bytes, c.EmbeddingPSs)
		result.ValueBytes = make([]unit.Bytes, c.EmbeddingPSs)
		for p := range c.EmbeddingPSs {
			if d.touches(work.Rank, work.Step, p) {
				result.Rows[p] = 1
			}
		}
	case role.Backward:
		for b := range c.Buckets {
			lane.Push(completion{role.Input{Kind: role.WorkPart, Work: work, Bucket: int32(b)}, nil})
		}
	}
	lane.Push(completion{role.Input{Kind: role.WorkDone, Work: work, Result: result}, o.Makes})
	return nil
}

// Feed implements role.Driver.
func (d driver) Feed(c role.Contribution) error {
	d.member.hold(c.Sum)
	fed, err := d.barrier.Feed(int(c.Rank), c.Step, c.Bucket)
	for rank := range d.buckets {
		if fed == role.Complete || fed == role.Again && rank == int(c.Rank) {
			work := role.Work{Rank: int32(rank), Step: c.Step}
			d.buckets[rank].Push(role.Input{Kind: role.BucketReduced, Work: work, Bucket: c.Bucket})
		}
	}
	return err
}

// Keep implements role.Driver.
func (d driver) Keep(m msg.Message, h role.Handle) error {
	if !m.Kind.HasPayload() {
		return fmt.Errorf("%v keeps the payload of %v, which has none", d.member.Address(), m)
	}
	d.member.hold(h)
	return nil
}

// Release implements role.Driver.
func (d driver) Release(h role.Handle) error { return d.member.release(h) }

// SetTimer implements role.Driver. A State has no time, so the timer may fire at any later action.
func (d driver) SetTimer(unit.Tick) error {
	d.armed |= 1 << d.i
	return nil
}

// Observe implements role.Driver.
func (d driver) Observe(e event.Record) error { return d.observe(e) }

// Finish implements role.Driver.
func (d driver) Finish() error {
	d.finished |= 1 << d.member.Address().Index
	for lane := range d.member.lanes {
		if d.member.lanes[lane].Len() > 0 {
			return fmt.Errorf("%v finishes with work in flight", d.member.Address())
		}
	}
	return nil
}

// Halt implements role.Driver.
func (d driver) Halt(reason error) error { return reason }
