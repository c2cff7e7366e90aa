package member

import (
	"slices"

	"tandem/runtime/driver"
	"tandem/runtime/member/control"
)

// A returning process begins with the parameters of the process that has made the fewest steps. Then no rank
// needs a sum that only one other rank has, which may die, too (see package allreduce). So the Host first
// asks all processes with ranks how many steps they have made. The parameters pass through the Host, which
// forgets them.

// rankAnswers is what a member was asked about its ranks, and has answered.
type rankAnswers struct {
	asked, askedAll bool
	known           bool // steps is
	steps           int32
}

// trainingRanks returns the processes whose ranks train.
func (h *Host) trainingRanks() (all []*process) {
	for _, s := range h.processes {
		if s.hasRank() && s.member != nil && s.member.begun {
			all = append(all, s)
		}
	}
	return all
}

// returning returns the processes whose ranks are back and have nothing to begin with yet.
func (h *Host) returning() (all []*process) {
	for _, s := range h.processes {
		if s.hasRank() && s.member != nil && s.member.ready && !s.member.begun {
			all = append(all, s)
		}
	}
	return all
}

// seekRank asks the next question for processes whose ranks are back, if there are any.
func (h *Host) seekRank() error {
	waiting := h.returning()
	if h.phase != training || len(waiting) == 0 {
		return nil
	}
	if h.calling && slices.ContainsFunc(waiting, (*process).hasPS) {
		// The evaluation waits for these rows, rank 0 for the evaluation, and its parameters for rank 0.
		return &driver.LostError{Reason: waiting[0].String() + " has died while it was read"}
	}
	var from *member
	known := true
	for _, s := range h.trainingRanks() {
		m := s.member
		if !m.ranks.asked {
			m.ranks.asked = true
			m.send(readRankMessage(false))
		}
		known = known && m.ranks.known
		if from == nil || m.ranks.steps < from.ranks.steps {
			from = m
		}
	}
	switch {
	case from == nil:
		return &driver.LostError{Reason: "no process has the parameters of " + waiting[0].String() +
			" any more"}
	case known && !from.ranks.askedAll:
		from.ranks.askedAll = true
		from.send(readRankMessage(true))
	}
	return nil
}

func readRankMessage(all bool) *control.ToMember {
	return &control.ToMember{What: &control.ToMember_ReadRank{ReadRank: &control.ReadRank{All: all}}}
}

// checkRank returns an error for an answer about ranks that was not requested.
func (h *Host) checkRank(m *member, r *control.Rank) error {
	asked := m.ranks.asked && !m.ranks.known && !r.GetAll() || m.ranks.askedAll && r.GetAll()
	return check(asked && r.GetSteps() >= 0 && int(r.GetSteps()) <= h.plan.Steps,
		"what its ranks have after %d steps, which was not requested", r.GetSteps())
}

// addRank handles an answer about the ranks of a process. With all that they have, those that are back begin.
func (h *Host) addRank(m *member, r *control.Rank) error {
	later := r.GetSteps() > m.ranks.steps
	m.ranks.known, m.ranks.steps = true, r.GetSteps()
	switch {
	case r.GetAll() && later: // it has made a step since it was asked for their number
		h.forgetAnswers()
		return h.seekRank()
	case !r.GetAll():
		return h.seekRank()
	}
	for _, s := range h.returning() {
		h.begin(s, r)
	}
	h.forgetAnswers()
	return nil
}

func (h *Host) forgetAnswers() {
	for _, s := range h.trainingRanks() {
		s.member.ranks = rankAnswers{}
	}
}

// mayRead reports whether the model can be read from the member of a process. The parameters of rank 0 can
// be read while it waits, or has finished.
func (h *Host) mayRead(s *process) bool {
	switch m := s.member; {
	case m == nil || !m.ready:
		return false
	case h.phase == stopped:
		return m.reported
	default:
		return s.waits || m.finished || !s.roles.Has(rank0)
	}
}
