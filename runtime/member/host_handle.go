package member

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"tandem/algo/numeric/model"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/runtime/driver"
	"tandem/runtime/member/control"
)

const (
	// recordsMax is the largest number of records in one message.
	recordsMax = 4096
	// repeatsMax is the largest number of records that one role may send for each rank and step. A batch
	// causes fewer than 25 events; faults repeat some of them.
	repeatsMax = 1000
	// reasonMax is the length of the longest reason, in bytes.
	reasonMax = 16 << 10
)

// rank0 is the NN worker that counts the steps of the run.
var rank0 = msg.Address{Role: msg.NNWorker}

// handle handles one message of a member. It drops the member if the message is invalid. An error ends the
// run.
func (h *Host) handle(m *member, message *control.FromMember) error {
	s := m.process
	if s.member != m || m.hung.Load() {
		return nil // the member was expelled before this message was handled, or is about to be
	}
	if len(s.roles) == 0 {
		return h.handleSpare(m, message)
	}
	var err error
	switch what := message.What.(type) {
	case *control.FromMember_Heartbeat:
	case *control.FromMember_Failure:
		return failureOf(what.Failure)
	case *control.FromMember_Ready:
		err = check(h.phase >= connecting &&
			!m.ready, "it is ready before its welcome, or for the second time")
		if err == nil {
			return h.ready(s)
		}
	case *control.FromMember_Progress:
		err = h.addProgress(m, what.Progress)
	case *control.FromMember_StepDue:
		if err = h.checkDue(m, int(what.StepDue.GetStep())); err == nil {
			return h.beforeStep(s, int(what.StepDue.GetStep()))
		}
	case *control.FromMember_Finished:
		if err = check(h.phase >= training && m.ready, "it finished before training"); err == nil {
			m.finished = true
		}
	case *control.FromMember_Records:
		err = h.addRecords(s, what.Records)
	case *control.FromMember_Report:
		err = h.addReport(m, what.Report)
	case *control.FromMember_Values:
		n := len(what.Values.GetValues())
		err = check(s.pendingValues > 0 &&
			n == s.pendingValues, "%d values for a request of %d", n, s.pendingValues)
		if err == nil {
			s.pendingValues, s.values = 0, what.Values.Values
		}
	case *control.FromMember_Dense:
		err = s.addDense(what.Dense)
	case *control.FromMember_Digests:
		err = s.addDigests(what.Digests)
	case *control.FromMember_Exported:
		err = check(s.exporting != nil, "an export that was not requested")
		s.exporting = nil
	case *control.FromMember_Saved:
		h.saved(s, what.Saved)
	case *control.FromMember_Redone:
		err = h.redone(what.Redone)
	case *control.FromMember_Rank:
		if err = h.checkRank(m, what.Rank); err == nil {
			return h.addRank(m, what.Rank)
		}
	case *control.FromMember_Leaving:
		return h.leaving(m)
	case *control.FromMember_Lost:
		err = h.handleLost(m, what.Lost)
	default:
		err = errors.New("a message of unknown kind: " + oneBuild)
	}
	if err == nil {
		return nil
	}
	why := fmt.Sprintf("it sent an invalid control message: %v", err)
	h.note(m.address, &refusal{"message", fmt.Sprintf("%v: %s", s, why)})
	return h.drop(m, why)
}

// redone handles the report of a process that it has come back by its redo logs.
func (h *Host) redone(r *control.Redone) error {
	took, of := time.Duration(r.GetTook()), time.Duration(r.GetOf())
	err := check(h.plan.Redo != "" && took >= 0 && of > 0,
		"it says that it has handled the inputs of %v again, in %v", of, took)
	if err == nil && h.callbacks.Redone != nil {
		h.callbacks.Redone(took, of)
	}
	return err
}

// handleSpare handles a message of a member without a role: it only waits, and is dropped if it does more.
func (h *Host) handleSpare(m *member, message *control.FromMember) error {
	switch message.What.(type) {
	case *control.FromMember_Heartbeat:
		return nil
	case *control.FromMember_Saved:
		return nil // of a model that is complete, before which no process changes its roles
	case *control.FromMember_Leaving:
		return h.drop(m, "it was asked to end")
	}
	return h.drop(m, "it has no role, and does more than wait")
}

// failureOf returns the error with which a process has failed.
func failureOf(f *control.Failure) error {
	reason := truncate(f.GetReason())
	switch {
	case f.GetModel():
		return &driver.ModelError{Reason: reason}
	case f.GetLost():
		return &driver.LostError{Reason: reason}
	}
	return errors.New(reason)
}

// check returns an error with the formatted text unless a condition holds.
func check(holds bool, format string, args ...any) error {
	if holds {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// truncate returns at most reasonMax bytes of a text, in UTF-8.
func truncate(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), reasonMax)], "\ufffd")
}

// addProgress passes on what rank 0 has trained. One that is back trains some steps again.
func (h *Host) addProgress(m *member, p *control.Progress) error {
	steps, samples := int(p.GetSteps()), p.GetSamples()
	ok := m.ready && m.process.roles.Has(rank0) && steps >= 0 && steps <= h.plan.Steps && samples >= 0
	if err := check(ok, "progress of %d of %d steps, %d samples", steps, h.plan.Steps,
		samples); err != nil {
		return err
	}
	h.callbacks.Loss(p.GetLossSum(), int(samples))
	if steps > h.progress {
		h.progress = steps
		h.callbacks.Progress(steps)
	}
	return nil
}

// leaving handles a member that was asked to end.
func (h *Host) leaving(m *member) error {
	name := fmt.Sprintf("%v at %s", m.process, m.address)
	switch {
	case h.phase == gathering:
		return h.drop(m, "it was asked to end")
	case !h.plan.Drains || h.phase == connecting:
		return errors.New(name + " was asked to end")
	}
	h.plan.Log(name + " was asked to end: the run drains")
	h.draining = true
	h.sendDrain()
	return nil
}

// checkDue returns an error for a step that cannot be due. To a rank that is back, a step may be due again.
func (h *Host) checkDue(m *member, step int) error {
	s := m.process
	again := m.incarnation > 0 && step >= 0
	return check(h.phase == training && s.roles.Has(rank0) && (step > s.due || again) && step < h.plan.Steps,
		"step %d of %d is due", step, h.plan.Steps)
}

// beforeStep calls back before a step of rank 0, and then lets rank 0 proceed. One that is back may come to a
// step for which that has happened. If it is happening, the model is read from this rank from now on.
func (h *Host) beforeStep(s *process, step int) error {
	switch {
	case h.calling && step >= s.due:
		s.due, s.waits = step, true
		return nil
	case step <= s.due:
		s.proceed()
		return nil
	}
	s.due, s.waits, h.calling = step, true, true
	err := h.callbacks.BeforeStep(step)
	h.calling = false
	if err == nil && s.waits {
		s.proceed()
	}
	return err
}

// proceed lets rank 0 begin a step.
func (s *process) proceed() {
	s.waits = false
	s.member.send(&control.ToMember{What: &control.ToMember_Proceed{Proceed: &control.Proceed{}}})
}

// addRecords merges records of the roles of a process with those of the others.
func (h *Host) addRecords(s *process, message *control.Records) error {
	records := message.GetRecords()
	all := s.records + int64(len(records))
	limit := int64(len(s.roles)) * repeatsMax * int64(h.plan.Ranks+1) * int64(h.plan.Steps+1)
	if err := cmp.Or(
		check(h.phase >= training, "records before training"),
		check(len(records) <= recordsMax && all <= limit,
			"%d records, %d in all: want at most %d, %d in all", len(records), all, recordsMax, limit),
	); err != nil {
		return err
	}
	servers := h.servers()
	for _, r := range records {
		if err := h.checkRecord(s, r, servers); err != nil {
			return err
		}
	}
	s.records = all
	for _, r := range records {
		if s.again[r.Role] > 0 {
			s.again[r.Role]--
			continue
		}
		s.recorded[r.Role]++
		h.merger.add(s.firstRole+int(r.Role), event.Record{
			At: unit.Tick(r.At), Role: s.roles[r.Role], Kind: event.Kind(r.Kind), Rank: r.Rank, Step: r.Step,
			Rows: r.Rows,
		})
	}
	for i := range s.roles {
		h.merger.sent(s.firstRole+i, unit.Tick(message.GetThrough()))
	}
	h.merger.merge(false)
	return nil
}

// endRecords makes the merger expect no more records of a process, until it sends some.
func (h *Host) endRecords(s *process) {
	for i := range s.roles {
		h.merger.end(s.firstRole + i)
	}
	h.merger.merge(false)
}

// checkRecord returns an error for a record that no role of the process can make.
func (h *Host) checkRecord(s *process, r *control.Record, servers int) error {
	if err := check(int64(r.GetRole()) < int64(len(s.roles)), "a record of role %d of %d", r.GetRole(),
		len(s.roles)); err != nil {
		return err
	}
	kind, rank, step, rows := event.Kind(r.GetKind()), int(r.GetRank()), int(r.GetStep()), len(r.GetRows())
	ok := uint32(kind) == r.GetKind() && kind.Known() &&
		rank < h.plan.Ranks && step >= 0 && step <= h.plan.Steps
	switch kind {
	case event.BatchRouted:
		ok = ok && rank >= 0 && rows == servers
	case event.BatchRead, event.ClockAdvanced, event.EndDecided:
		ok = ok && rank >= int(event.NoRank) && rows == 0
	case event.StepClosed:
		ok = ok && rank == int(event.NoRank) && rows == 0 && s.roles[r.Role].Role == msg.EmbeddingPS
	case event.PutDropped:
		ok = ok && rank >= 0 && rows == 0 && s.roles[r.Role].Role == msg.EmbeddingPS
	default:
		ok = ok && rank >= 0 && rows == 0
	}
	return check(ok, "a record of kind %d, rank %d, step %d, %d rows", r.GetKind(), rank, step, rows)
}

// servers returns the number of embedding PSs.
func (h *Host) servers() int {
	n := 0
	for at := range h.byRole {
		if at.Role == msg.EmbeddingPS {
			n++
		}
	}
	return n
}

// addReport stores the report of a process.
func (h *Host) addReport(m *member, r *control.Report) error {
	s := m.process
	if err := check(h.phase == stopped && !m.reported && r.GetRows() >= 0,
		"a report of %d rows before the last step, or a second one", r.GetRows()); err != nil {
		return err
	}
	f := r.GetFaults()
	report := driver.Report{Rows: int(r.Rows), HotGradients: r.HotGradients, Faults: fault.Counts{
		Sent: f.GetSent(), Dropped: f.GetDropped(), Duplicated: f.GetDuplicated(),
		Delayed: f.GetDelayed(), Held: f.GetHeld(), Crashes: f.GetCrashes(),
	}}
	if len(r.Missed) > 0 {
		if err := report.Missed.UnmarshalBinary(r.Missed); err != nil {
			return fmt.Errorf("its report: %w", err)
		}
	}
	s.report, m.reported = &report, true
	if s.exporting != nil { // the process has come back meanwhile
		s.export()
	}
	h.endRecords(s)
	return nil
}

// addDense stores the part of the dense network that a process holds.
func (s *process) addDense(d *control.Dense) error {
	if err := check(s.pendingDense, "a dense network that was not requested"); err != nil {
		return err
	}
	s.pendingDense, s.dense = false, &model.Values{Params: d.GetParams(), Running: d.GetRunning()}
	return nil
}

// addDigests stores the digests of a process.
func (s *process) addDigests(d *control.Digests) error {
	if err := check(s.pendingDigests && len(d.GetRoles()) == len(s.roles),
		"digests of %d roles that were not requested, or not of %d roles", len(d.GetRoles()),
		len(s.roles)); err != nil {
		return err
	}
	s.pendingDigests, s.digests = false, &driver.Digests{Roles: map[msg.Address]uint64{}, Hot: d.GetHot()}
	for i, at := range s.roles {
		s.digests.Roles[at] = d.Roles[i]
	}
	return nil
}

// handleLost handles a member's report that it has lost the process of a role.
func (h *Host) handleLost(m *member, l *control.Lost) error {
	at, known := fromRole(l.GetRole())
	if err := check(known && h.byRole[at] != nil && h.byRole[at] != m.process && h.phase >= connecting,
		"it has lost role %d, index %d", l.GetRole().GetKind(), l.GetRole().GetIndex()); err != nil {
		return err
	}
	h.lostPeer(m, h.byRole[at], l.GetIncarnation(), truncate(l.GetReason()))
	return nil
}
