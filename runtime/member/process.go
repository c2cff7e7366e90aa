package member

import (
	"fmt"
	"slices"
	"time"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/runtime/driver"
	"tandem/runtime/member/control"
)

// process is what the host knows of one process of the plan: its current member, and what all its
// incarnations have sent. It belongs to the host's goroutine.
type process struct {
	seat        job.Process // the roles with which it was started
	roles       job.Process // those that it has in this run; none: it is spare
	member      *member     // nil before the process joins, and after it died
	incarnation uint32      // of the member or, if there is none, of the member that is awaited
	deaths      int
	returnTimer *time.Timer // fires if the process does not come back in time

	due       int   // the last step before which rank 0 has waited
	waits     bool  // rank 0 waits now
	firstRole int   // index of the first role in the host's merger
	records   int64 // number of records
	// recorded counts the records of each role. A role that handles its inputs again makes the same records
	// again: again counts those that are to come, and are not merged.
	recorded, again []int64
	report          *driver.Report

	pendingValues int           // number of values that ReadRows waits for
	values        []float32     // the answer; nil before it arrives
	pendingDense  bool          // ReadDense waits
	dense         *model.Values // the answer; nil before it arrives
	// pendingDigests says that Digests waits for digests, which are nil before they arrive.
	pendingDigests bool
	digests        *driver.Digests
	exporting      *control.Export // what Export waits for; nil: nothing
}

// String names the process in lines for people.
func (s *process) String() string {
	if len(s.roles) == 0 || slices.Equal(s.seat, s.roles) {
		return s.seat.String()
	}
	return fmt.Sprintf("%v (now %s)", s.seat, s.roles.Names())
}

// hasRank reports whether the process has an NN worker.
func (s *process) hasRank() bool { return s.roles.HasKind(msg.NNWorker) }

// hasWorker reports whether the process has an embedding worker.
func (s *process) hasWorker() bool { return s.roles.HasKind(msg.EmbeddingWorker) }

// hasPS reports whether the process has an embedding PS.
func (s *process) hasPS() bool { return s.roles.HasKind(msg.EmbeddingPS) }

// welcome returns the message that describes the run to a process.
func (h *Host) welcome(s *process) *control.ToMember {
	w := &control.Welcome{
		Schema: h.schema, Steps: int32(h.plan.Steps), Run: h.run[:], Incarnation: s.incarnation, View: h.view,
		Begin: int32(h.plan.Origin.Step), Model: h.plan.Origin.Model, Draining: h.draining,
		Hot: h.plan.Origin.Hot.Signs(), Held: h.plan.Origin.Held, Kept: s.member.holds, Redo: h.plan.Redo,
		Roles: toRoles(s.roles),
	}
	for _, other := range h.processes {
		w.Peers = append(w.Peers, other.peer())
	}
	return &control.ToMember{What: &control.ToMember_Welcome{Welcome: w}}
}

// peer returns the message that describes a process to the others.
func (s *process) peer() *control.Peer {
	p := &control.Peer{Roles: toRoles(s.roles), Incarnation: s.incarnation}
	if s.member != nil {
		p.Address = s.member.address
	}
	return p
}

// assign makes m the member of its process, or returns why it must not be.
func (h *Host) assign(m *member) *refusal {
	s := m.process
	switch {
	case s.member != nil:
		return refuse("claim", "%v has joined already, from %s: give every process of a role its own --index",
			s, s.member.address)
	case len(s.roles) == 0:
		s.member = m // it waits for the next part
		return nil
	case h.phase == stopped && !s.roles.HoldsModel():
		return refuse("late", "%v joins too late: the run is over", s)
	}
	s.member, m.incarnation = m, s.incarnation
	if h.phase >= training { // the process comes back
		h.view++
		peer := &control.PeerChanged{Peer: s.peer(), View: h.view}
		changed := &control.ToMember{What: &control.ToMember_PeerChanged{PeerChanged: peer}}
		for _, other := range h.processes {
			if other != s && other.member != nil {
				other.member.send(changed)
			}
		}
		m.send(h.welcome(s))
	}
	return nil
}

// ready notes that a member is connected to its peers. A member that came back during training starts at
// once or, if it has ranks, with what those of another process have.
func (h *Host) ready(s *process) error {
	s.member.ready = true
	if s.returnTimer == nil {
		return nil
	}
	s.returnTimer.Stop()
	h.plan.Log(fmt.Sprintf("%v is back at %s as incarnation %d", s, s.member.address, s.incarnation))
	if s.hasRank() {
		return h.seekRank()
	}
	h.begin(s, nil)
	if h.phase == stopped {
		s.member.send(&control.ToMember{What: &control.ToMember_Stop{Stop: &control.Stop{}}})
	}
	return nil
}

// begin makes a process train. Rank is what its ranks begin with; nil: the origin of the run.
func (h *Host) begin(s *process, rank *control.Rank) {
	s.member.begun = true
	start := &control.Start{Start: h.begun.UnixNano(), Rank: rank}
	s.member.send(&control.ToMember{What: &control.ToMember_Start{Start: start}})
}

// ended handles the end of a member's stream.
func (h *Host) ended(m *member) error {
	if m.process.member != m {
		return nil // its end was handled before
	}
	if m.hung.Load() {
		return h.died(m, fmt.Sprintf("hangs: it has not answered for %v", h.plan.HangLimit))
	}
	why := ""
	if h.callbacks.Died != nil && h.phase != gathering && len(m.process.roles) > 0 {
		why = h.callbacks.Died(m.process.seat, m.incarnation)
	}
	if why == "" {
		why = "its connection broke"
	}
	return h.died(m, "has died: "+why)
}

// died handles the death of a member. why continues a sentence that begins with the member's name. The run
// goes on if the process may come back.
func (h *Host) died(m *member, why string) error {
	s := m.process
	if s.member != m {
		return nil
	}
	s.member, s.waits = nil, false
	if len(s.roles) == 0 { // nothing waits for it
		m.expel()
		return nil
	}
	for i, at := range s.roles {
		if h.plan.redoes(at.Role) { // the records that it has not sent are still to come
			s.again[i] = s.recorded[i]
		} else {
			h.merger.end(s.firstRole + i)
		}
	}
	h.merger.merge(false)
	m.expel()
	why = fmt.Sprintf("%v at %s %s", s, m.address, why)
	switch {
	case h.phase == gathering:
		return nil // the process may join again
	case h.export.Writes(s.roles[0]) && s.exporting == nil:
		return &driver.LostError{Reason: why + ", before its part of the model was written"}
	case !h.mayReturn(s) || h.phase == connecting:
		return &driver.LostError{Reason: why + h.noReturn(s)}
	case s.hasRank() && len(h.trainingRanks()) == 0:
		return &driver.LostError{Reason: why + ": no other process has the parameters of its ranks"}
	}
	if err := h.awaitReturn(s, why); err != nil {
		return err
	}
	return h.seekRank() // this one may have been asked
}

// lost returns a *driver.LostError.
func lost(format string, args ...any) error {
	return &driver.LostError{Reason: fmt.Sprintf(format, args...)}
}

// mayReturn reports whether the run survives the death of a process.
func (h *Host) mayReturn(s *process) bool {
	_, lasting := s.roles.Lasting(h.plan.canRestart)
	if s.hasRank() && (h.phase == stopped || h.hasEveryWorker(s)) {
		return false
	}
	return !lasting && h.plan.DeathsMax > 0
}

// hasEveryWorker reports whether all embedding workers of the run are in one process. Those of another one
// would have the batches of its ranks (role.Config.ProcessOf), which ranks need to come back.
func (h *Host) hasEveryWorker(s *process) bool {
	return s.hasWorker() && !slices.ContainsFunc(h.processes, func(other *process) bool {
		return other != s && other.hasWorker()
	})
}

// noReturn explains why a process cannot come back, if some of its roles could or can in other modes.
func (h *Host) noReturn(s *process) string {
	at, lasting := s.roles.Lasting(h.plan.canRestart)
	if !lasting && s.hasRank() && h.hasEveryWorker(s) {
		return "; it cannot come back, because no other process has an embedding worker"
	}
	if !lasting || !slices.ContainsFunc(s.roles,
		func(at msg.Address) bool { return role.CanRestart(at.Role) }) {
		return ""
	}
	return fmt.Sprintf("; it cannot come back, because %v cannot restart", at)
}

// drop ends the membership of a member that violated the protocol.
func (h *Host) drop(m *member, reason string) error {
	m.send(abort(fmt.Sprintf("%v was dropped: %s", m.process, reason)))
	return h.died(m, "was dropped: "+reason)
}

// awaitReturn waits for the next incarnation of a process that died.
func (h *Host) awaitReturn(s *process, why string) error {
	if h.phase == stopped && !s.roles.HoldsModel() {
		return nil // every put is applied: the process is not needed any more
	}
	s.deaths++
	if s.deaths > h.plan.DeathsMax {
		h.absent = append(h.absent, s.seat)
		return lost("%s; it has died %d times, and the limit is %d", why, s.deaths, h.plan.DeathsMax)
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
			back := s.incarnation != awaited || s.member != nil && s.member.ready
			if back || h.phase == stopped && !s.roles.HoldsModel() {
				return nil
			}
			h.absent = append(h.absent, s.seat)
			return lost("%s; it has not come back within %v", why, h.plan.ReturnLimit)
		})
	})
	if h.callbacks.Restart == nil {
		return nil
	}
	if err := h.callbacks.Restart(s.seat, s.incarnation); err != nil {
		return fmt.Errorf("%s; cannot restart it: %w", why, err)
	}
	return nil
}

// Ended reports that a process of the plan has ended, and why. It may be called from any goroutine. The Host
// notices by itself when the stream of a member ends; Ended is for processes that end before they join.
func (h *Host) Ended(p job.Process, incarnation uint32, why string) {
	h.post(func() error {
		s := h.bySeat[p[0]]
		switch {
		case len(s.roles) == 0:
			return nil // nothing waits for it
		case s.incarnation != incarnation:
			return nil // its end was handled before
		case s.member != nil:
			return h.died(s.member, "has died: "+why)
		case h.phase == gathering:
			if s.deaths++; h.plan.Later && h.callbacks.Restart != nil && s.deaths <= h.plan.DeathsMax {
				return h.callbacks.Restart(s.seat, s.incarnation)
			}
			h.absent = append(h.absent, s.seat)
			return &driver.LostError{Reason: fmt.Sprintf("%v: %s", p, why), Absent: h.plan.GatherLimit > 0}
		}
		return h.awaitReturn(s, fmt.Sprintf("%v has died: %s", p, why))
	})
}

// confirmTimeout is the time that the host waits, after a member reports that it lost another, for that other
// member's own stream to end.
const confirmTimeout = 300 * time.Millisecond

// lostPeer handles a member's report that it has lost or dropped another process. If that process is dead,
// its stream ends and the report needs no action. If both processes live, one of them that can restart is
// dropped, because messages were lost with the connection and nothing else would send them again.
func (h *Host) lostPeer(by *member, s *process, incarnation uint32, reason string) {
	other := s.member
	if other == nil || s.incarnation != incarnation {
		return // its end was handled before
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
			return &driver.LostError{Reason: reason}
		})
	})
}
