package search

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
)

// redoes reports whether a role comes back from a crash by a redo log.
func (s *State) redoes(r msg.Role) bool {
	return s.set.Faults > 0 && role.CanRedo(r) && !s.set.Config.CanRestart(r)
}

// hasSent reports whether a message of a role is in flight.
func (s *State) hasSent(at msg.Address) bool {
	return slices.ContainsFunc(s.inbox, func(m msg.Message) bool { return m.From == at })
}

// redo makes a new role i that handles all inputs of the old one again. It must be as the old one was.
func (s *State) redo(i int) error {
	old := s.members[i]
	log := old.log
	if s.set.kept != nil {
		log = s.set.kept(log)
	}
	m := &member{Role: s.set.roles()[i], credit: role.NewCredit(&s.set.Config), crashes: old.crashes + 1}
	s.members[i] = m
	s.owned |= 1 << i
	s.forget(m.Address())
	armed := s.armed
	s.armed &^= 1 << i
	if err := s.redoInput(i, role.Input{Kind: role.Start}); err != nil {
		return err
	}
	for _, in := range log {
		if in.Kind == role.TimerFired {
			s.armed &^= 1 << i
		}
		if in.Kind == role.WorkDone {
			lane := m.lanes.Lane(in.Work.Kind)
			if lane.Len() == 0 {
				return fmt.Errorf("%v handles again the end of %v, which it has not begun", m.Address(),
					in.Work.Kind)
			}
			for _, h := range lane.Pop().makes {
				m.hold(h)
			}
		}
		if err := s.redoInput(i, in); err != nil {
			return err
		}
	}
	m.log = log
	if s.set.kept == nil && (s.armed != armed || !bytes.Equal(m.form(nil), old.form(nil))) {
		return fmt.Errorf("%v handles its inputs again, but is not as it was", m.Address())
	}
	return nil
}

// forget forgets which gradients a PS has applied. Those count that it applies when it handles its inputs
// again.
func (s *State) forget(at msg.Address) {
	switch at.Role {
	case msg.EmbeddingPS:
		s.applied[at.Index] = s.dropped
	case msg.DensePS:
		s.pushed[at.Index] = 0
	}
}

// redoInput gives role i one input again.
func (s *State) redoInput(i int, in role.Input) error {
	m := s.members[i]
	if in.Kind == role.Received {
		m.credit.Received(in.Message)
	}
	s.out.Reset()
	m.HandleInput(0, in, s.out)
	return role.Dispatch(&in, s.out, again{driver{s, i, m}})
}

// again is the driver of a role that handles its inputs again. Its messages and records were seen before.
type again struct{ driver }

// Send implements role.Driver.
func (a again) Send(m msg.Message, _ role.Handle) error { return a.member.credit.Sent(m) }

// Observe implements role.Driver.
func (a again) Observe(e event.Record) error {
	switch e.Kind {
	case event.PutApplied, event.PutDropped:
		a.applied[e.Role.Index] |= a.batchBit(e.Rank, e.Step)
	case event.PushApplied, event.PushDropped:
		a.pushed[e.Role.Index] |= a.batchBit(e.Rank, e.Step)
	}
	return nil
}

// Finish implements role.Driver.
func (a again) Finish() error { return errors.New("a role without steps finishes") }
