package search

import (
	"cmp"
	"fmt"
	"slices"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// handleInput gives role i one input and performs its outputs.
func (s *State) handleInput(i int, in role.Input) error {
	var out role.Outputs
	s.unshare(i)
	if in.Kind == role.Received {
		s.credit[i].Received(in.Message)
	}
	s.roles[i].HandleInput(0, in, &out)
	return role.Dispatch(&in, &out, driver{s, i})
}

// driver is the role.Driver of one role of a State. Messages and work wait in the State until an action makes
// them happen. An error describes a broken invariant.
type driver struct {
	*State
	i int
}

// Send implements role.Driver.
func (d driver) Send(m msg.Message, payload role.Handle) error {
	if payload.Kind != role.NoData && !d.holds(d.i, payload) {
		return fmt.Errorf("%v sends %v out of %+v, which it does not hold", d.roles[d.i].Address(), m,
			payload)
	}
	if err := d.credit[d.i].Sent(m); err != nil {
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
		if !d.holds(d.i, h) {
			return fmt.Errorf("%v reads %+v for %v, but does not hold it", d.roles[d.i].Address(), h,
				work.Kind)
		}
	}
	c := &d.set.Config
	lane := d.lanes[d.i].Lane(work.Kind)
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
	d.hold(d.i, c.Sum)
	complete, err := d.barrier.Feed(int(c.Rank), c.Step, c.Bucket)
	if err != nil || !complete {
		return err
	}
	for rank := range d.buckets {
		work := role.Work{Rank: int32(rank), Step: c.Step}
		d.buckets[rank].Push(role.Input{Kind: role.BucketReduced, Work: work, Bucket: c.Bucket})
	}
	return nil
}

// Keep implements role.Driver.
func (d driver) Keep(m msg.Message, h role.Handle) error {
	if !m.Kind.HasPayload() {
		return fmt.Errorf("%v keeps the payload of %v, which has none", d.roles[d.i].Address(), m)
	}
	d.hold(d.i, h)
	return nil
}

// Release implements role.Driver.
func (d driver) Release(h role.Handle) error {
	at, held := slices.BinarySearchFunc(d.held[d.i], h, compareHandles)
	if !held {
		return fmt.Errorf("%v releases %+v, which it does not hold", d.roles[d.i].Address(), h)
	}
	d.held[d.i] = slices.Delete(d.held[d.i], at, at+1)
	return nil
}

// SetTimer implements role.Driver. A State has no time, so the timer may fire at any later action.
func (d driver) SetTimer(unit.Tick) error {
	d.armed |= 1 << d.i
	return nil
}

// Observe implements role.Driver.
func (d driver) Observe(e event.Record) error { return d.observe(e) }

// Finish implements role.Driver.
func (d driver) Finish() error {
	d.finished++
	for lane := range d.lanes[d.i] {
		if d.lanes[d.i][lane].Len() > 0 {
			return fmt.Errorf("%v finishes with work in flight", d.roles[d.i].Address())
		}
	}
	return nil
}

// Halt implements role.Driver.
func (d driver) Halt(reason error) error { return reason }

// hold adds a handle to those of role i.
func (s *State) hold(i int, h role.Handle) {
	if at, held := slices.BinarySearchFunc(s.held[i], h, compareHandles); !held {
		s.held[i] = slices.Insert(s.held[i], at, h)
	}
}

func (s *State) holds(i int, h role.Handle) bool {
	_, held := slices.BinarySearchFunc(s.held[i], h, compareHandles)
	return held
}

func compareHandles(a, b role.Handle) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Step, b.Step))
}
