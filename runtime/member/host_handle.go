package member

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"tandem/algo/exec"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/runtime/driver"
	"tandem/runtime/member/control"
)

const (
	// recordsMax is the number of records of one message.
	recordsMax = 4096
	// repeatsMax is the largest number of records that one role may send for each rank and step. A batch causes
	// fewer than 25 events; faults repeat some.
	repeatsMax = 1000
	// reasonMax is the longest reason in bytes.
	reasonMax = 16 << 10
)

// rank0 is the NN worker that counts the steps of the run.
var rank0 = msg.Address{Role: msg.NNWorker}

// handle takes one message of a member. A member whose message cannot be is dropped.
// An error ends the run.
func (h *Host) handle(m *member, message *control.FromRole) error {
	s := m.seat
	if s.member != m {
		return nil // it was expelled before this was handled
	}
	if m.hung.Load() {
		return nil
	}
	var err error
	switch what := message.What.(type) {
	case *control.FromRole_Heartbeat:
	case *control.FromRole_Failure:
		return errors.New(clip(what.Failure.GetReason()))
	case *control.FromRole_Ready:
		err = expect(h.phase >= connecting && !m.ready, "it is ready before it is welcome, or twice")
		if err == nil {
			h.ready(s)
		}
	case *control.FromRole_Progress:
		steps := int(what.Progress.GetSteps())
		err = expect(m.ready && s.process.Has(rank0) && steps >= 0 && steps <= h.plan.Steps,
			"progress of %d of %d steps", steps, h.plan.Steps)
		if err == nil {
			h.watch.Progress(steps)
		}
	case *control.FromRole_Due:
		step := int(what.Due.GetStep())
		err = expect(h.phase == training && s.process.Has(rank0) && step > s.due && step < h.plan.Steps,
			"step %d of %d is due", step, h.plan.Steps)
		if err == nil {
			return h.beforeStep(s, step)
		}
	case *control.FromRole_Finished:
		if err = expect(h.phase >= training && m.ready, "it has finished before training"); err == nil {
			m.finished = true
		}
	case *control.FromRole_Records:
		err = h.add(s, what.Records.GetRecords())
	case *control.FromRole_Report:
		err = h.take(s, what.Report)
	case *control.FromRole_Values:
		n := len(what.Values.GetValues())
		err = expect(s.asked > 0 && n == s.asked, "%d values for %d that were asked for", n, s.asked)
		if err == nil {
			s.asked, s.values = 0, what.Values.Values
		}
	case *control.FromRole_Network:
		if err = expect(s.looking, "a network that was not asked for"); err == nil {
			s.looking = false
			s.network = &exec.DenseValues{Params: what.Network.GetParams(), Running: what.Network.GetRunning()}
		}
	case *control.FromRole_Lost:
		err = h.handleLost(m, what.Lost)
	default:
		err = errors.New("a message of a kind that is unknown: " + oneBuild)
	}
	if err == nil {
		return nil
	}
	why := fmt.Sprintf("it sent an invalid control message: %v", err)
	h.note(m.address, &refusal{"message", fmt.Sprintf("%v: %s", s.process, why)})
	return h.drop(m, why)
}

// expect returns an error, in words of what came, unless a condition holds.
func expect(holds bool, format string, args ...any) error {
	if holds {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// clip returns a text of at most reasonMax bytes that a control message can carry.
func clip(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), reasonMax)], "\ufffd")
}

// beforeStep lets the watch look at the state before a step.
func (h *Host) beforeStep(s *seat, step int) error {
	s.due = step
	m := s.member
	if err := h.watch.BeforeStep(step); err != nil {
		return err
	}
	m.send(&control.ToRole{What: &control.ToRole_Proceed{Proceed: &control.Proceed{}}})
	return nil
}

// add keeps records of the roles of a process.
func (h *Host) add(s *seat, records []*control.Record) error {
	all := int64(len(records))
	for _, own := range s.records {
		all += int64(len(own))
	}
	limit := int64(len(s.process)) * repeatsMax * int64(h.plan.Ranks+1) * int64(h.plan.Steps+1)
	if err := cmp.Or(
		expect(h.phase >= training, "records before training"),
		expect(len(records) <= recordsMax && all <= limit,
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
	for _, r := range records {
		s.records[r.Role] = append(s.records[r.Role], event.Record{
			At: unit.Tick(r.At), Role: s.process[r.Role], Kind: event.Kind(r.Kind), Rank: r.Rank, Step: r.Step, Rows: r.Rows,
		})
	}
	return nil
}

// checkRecord returns an error for a record that no role of a process can make.
func (h *Host) checkRecord(s *seat, r *control.Record, servers int) error {
	if err := expect(int64(r.GetRole()) < int64(len(s.process)), "a record of role %d of %d", r.GetRole(), len(s.process)); err != nil {
		return err
	}
	kind, rank, step, rows := event.Kind(r.GetKind()), int(r.GetRank()), int(r.GetStep()), len(r.GetRows())
	ok := uint32(kind) == r.GetKind() && kind.Known() &&
		rank >= int(event.NoRank) && rank < h.plan.Ranks && step >= 0 && step <= h.plan.Steps
	if kind == event.BatchRouted {
		ok = ok && rank >= 0 && rows == servers
	} else {
		ok = ok && rows == 0
	}
	return expect(ok, "a record of kind %d, rank %d, step %d, %d rows", r.GetKind(), rank, step, rows)
}

// servers returns the number of embedding PSs.
func (h *Host) servers() int {
	n := 0
	for at := range h.of {
		if at.Role == msg.EmbeddingPS {
			n++
		}
	}
	return n
}

// take keeps the report of a process.
func (h *Host) take(s *seat, r *control.Report) error {
	if err := cmp.Or(
		expect(h.phase == stopped && s.report == nil && r.GetRows() >= 0,
			"a report of %d rows before the last step, or a second one", r.GetRows()),
		expect(len(r.GetDigests()) == len(s.process), "a report of %d roles, want %d", len(r.GetDigests()), len(s.process)),
	); err != nil {
		return err
	}
	f := r.GetFaults()
	report := driver.Report{Digests: map[msg.Address]uint64{}, Rows: int(r.Rows), Faults: fault.Counts{
		Sent: f.GetSent(), Dropped: f.GetDropped(), Duplicated: f.GetDuplicated(),
		Delayed: f.GetDelayed(), Held: f.GetHeld(), Crashes: f.GetCrashes(),
	}}
	if len(r.Missed) > 0 {
		if err := report.Missed.UnmarshalBinary(r.Missed); err != nil {
			return fmt.Errorf("its report: %w", err)
		}
	}
	for i, at := range s.process {
		report.Digests[at] = r.Digests[i]
	}
	s.report = &report
	return nil
}

func (h *Host) handleLost(m *member, l *control.Lost) error {
	at, known := fromRole(l.GetRole())
	if err := expect(known && h.of[at] != nil && h.of[at] != m.seat && h.phase >= connecting,
		"it has lost role %d, index %d", l.GetRole().GetKind(), l.GetRole().GetIndex()); err != nil {
		return err
	}
	h.lost(m, h.of[at], l.GetIncarnation(), clip(l.GetReason()))
	return nil
}
