package member

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/runtime/driver"
	"tandem/runtime/member/control"
)

// seat is one process of the plan: who has its roles now, and what all its incarnations
// have sent. The host's goroutine owns it.
type process struct {
	roles       job.Process
	member      *member // nil: not here yet, or away
	incarnation uint32  // of the member or, if the process is away, of the one that is awaited
	deaths      int
	returnTimer *time.Timer // fires if the process does not come back

	due     int              // the last step that nn-worker 0 has asked for
	records [][]event.Record // by role of the process
	report  *driver.Report

	pendingValues int           // values that ReadRows waits for
	values        []float32     // answer to ReadRows; nil before
	pendingDense  bool          // PeekDensePart waits for the network
	dense         *model.Values // answer to it; nil before
}

// hasRank reports whether an NN worker is in the process.
func (s *process) hasRank() bool {
	return slices.ContainsFunc(s.roles, func(at msg.Address) bool { return at.Role == msg.NNWorker })
}

// welcome says all that the member of a seat must know of the run.
func (h *Host) welcome(s *process) *control.ToRole {
	w := &control.Welcome{
		Schema: h.schema, Steps: int32(h.plan.Steps), Run: h.run[:], Incarnation: s.incarnation, View: h.view,
	}
	for _, other := range h.processes {
		w.Peers = append(w.Peers, other.peer())
	}
	return &control.ToRole{What: &control.ToRole_Welcome{Welcome: w}}
}

// peer says where a process is reached.
func (s *process) peer() *control.Peer {
	p := &control.Peer{Roles: toRoles(s.roles), Incarnation: s.incarnation}
	if s.member != nil {
		p.Address = s.member.address
	}
	return p
}

// assign gives a member the seat of its process, or says why it may not have it.
func (h *Host) assign(m *member) *refusal {
	s := m.process
	switch {
	case s.member != nil:
		return refuse("claim", "%v is here already, at %s: give every process of a role its own --index",
			s.roles, s.member.address)
	case h.phase == stopped:
		return refuse("late", "%v comes too late: the run is over", s.roles)
	}
	s.member, m.incarnation = m, s.incarnation
	if h.phase == training { // it was away
		h.view++
		peer := &control.PeerChanged{Peer: s.peer(), View: h.view}
		changed := &control.ToRole{What: &control.ToRole_PeerChanged{PeerChanged: peer}}
		for _, other := range h.processes {
			if other != s && other.member != nil {
				other.member.send(changed)
			}
		}
		m.send(h.welcome(s))
	}
	return nil
}

// ready notes that a member can begin. One that came back begins at once.
func (h *Host) ready(s *process) {
	s.member.ready = true
	if s.returnTimer == nil {
		return
	}
	s.returnTimer.Stop()
	h.plan.Log(fmt.Sprintf("%v is back at %s as incarnation %d", s.roles, s.member.address, s.incarnation))
	s.member.send(h.goMessage())
	if h.phase == stopped {
		s.member.send(&control.ToRole{What: &control.ToRole_Stop{Stop: &control.Stop{}}})
	}
}

func (h *Host) goMessage() *control.ToRole {
	return &control.ToRole{What: &control.ToRole_Go{Go: &control.Go{Start: h.begun.UnixNano()}}}
}

// ended handles the end of a member's stream.
func (h *Host) ended(m *member) error {
	if m.process.member != m {
		return nil // it is known to be gone
	}
	if m.hung.Load() {
		return h.died(m, fmt.Sprintf("hangs: it has not answered for %v", h.plan.HangLimit))
	}
	why := ""
	if h.callbacks.Died != nil && h.phase != gathering {
		why = h.callbacks.Died(m.process.roles, m.incarnation)
	}
	if why == "" {
		why = "its connection broke"
	}
	return h.died(m, "has died: "+why)
}

// died handles the death of a member. Why follows its name in a sentence. The run
// goes on if the role may come back.
func (h *Host) died(m *member, why string) error {
	s := m.process
	if s.member != m {
		return nil
	}
	s.member = nil
	m.expel()
	why = fmt.Sprintf("%v at %s %s", s.roles, m.address, why)
	switch {
	case h.phase == gathering:
		return nil // it may join again
	case !h.mayReturn(s) || h.phase == connecting:
		return errors.New(why + h.noReturn(s))
	}
	return h.awaitReturn(s, why)
}

// mayReturn reports whether the run survives the death of a process.
func (h *Host) mayReturn(s *process) bool {
	_, lasting := s.roles.Lasting(h.plan.canRestart)
	return !lasting && h.plan.DeathsMax > 0
}

// noReturn says why a process does not come back though some of its roles could, or can in other modes.
func (h *Host) noReturn(s *process) string {
	at, lasting := s.roles.Lasting(h.plan.canRestart)
	if !lasting || !slices.ContainsFunc(s.roles, func(at msg.Address) bool { return role.CanRestart(at.Role) }) {
		return ""
	}
	return fmt.Sprintf("; it cannot come back, because %v cannot restart", at)
}

// drop ends the membership of a member that misbehaves.
func (h *Host) drop(m *member, reason string) error {
	m.send(abort(fmt.Sprintf("%v was dropped: %s", m.process.roles, reason)))
	return h.died(m, "was dropped: "+reason)
}

// awaitReturn has a process that died come back as its next incarnation.
func (h *Host) awaitReturn(s *process, why string) error {
	if h.phase == stopped {
		return nil // every put is applied: it is not needed any more
	}
	s.deaths++
	if s.deaths > h.plan.DeathsMax {
		return fmt.Errorf("%s; it has died %d times, and the limit is %d", why, s.deaths, h.plan.DeathsMax)
	}
	s.incarnation++
	h.plan.Log(fmt.Sprintf("%s; it may come back as incarnation %d within %v",
		why, s.incarnation, h.plan.ReturnLimit))
	awaited := s.incarnation
	if s.returnTimer != nil {
		s.returnTimer.Stop()
	}
	s.returnTimer = time.AfterFunc(h.plan.ReturnLimit, func() {
		h.post(func() error {
			if h.phase == stopped || s.incarnation != awaited || s.member != nil && s.member.ready {
				return nil
			}
			return fmt.Errorf("%s; it has not come back within %v", why, h.plan.ReturnLimit)
		})
	})
	if h.callbacks.Restart == nil {
		return nil
	}
	if err := h.callbacks.Restart(s.roles, s.incarnation); err != nil {
		return fmt.Errorf("%s; cannot restart it: %w", why, err)
	}
	return nil
}

// Ended says that a process of the plan has ended, and why. It may be called from any
// goroutine. It matters for processes that end before they join.
func (h *Host) Ended(p job.Process, incarnation uint32, why string) {
	h.post(func() error {
		s := h.byRole[p[0]]
		switch {
		case s.incarnation != incarnation:
			return nil // it is known
		case s.member != nil:
			return h.died(s.member, "has died: "+why)
		case h.phase == gathering:
			return errors.New(why)
		}
		return h.awaitReturn(s, fmt.Sprintf("%v has died: %s", p, why))
	})
}

// confirmTimeout is how long the death of a process may take to be noticed here after
// another one has lost its connection to it.
const confirmTimeout = 300 * time.Millisecond

// lost handles that a member has lost another process, or has dropped it. If that is
// dead, its own end will tell. If neither is, one of the two that can restart does: with
// the stream between them, messages were lost that nothing else makes good.
func (h *Host) lost(by *member, s *process, incarnation uint32, reason string) {
	other := s.member
	if other == nil || s.incarnation != incarnation {
		return // it is known
	}
	time.AfterFunc(confirmTimeout, func() {
		h.post(func() error {
			switch {
			case s.member != other || by.process.member != by || h.phase == stopped:
				return nil
			case h.mayReturn(s):
				return h.drop(other, reason)
			case h.mayReturn(by.process):
				return h.drop(by, reason)
			}
			return errors.New(reason)
		})
	})
}
