package member

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"tandem/algo/exec"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/shard"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/runtime/driver"
	"tandem/runtime/member/control"
)

// wait receives a value, or returns why the run has failed.
func wait[T any](m *Member, from <-chan T) (value T, err error) {
	select {
	case value = <-from:
		return value, nil
	case <-m.ctx.Done():
		return value, context.Cause(m.ctx)
	}
}

// Welcome waits until every process has joined. Its error is ErrSpare if the process has no role in the run,
// when that has ended.
func (m *Member) Welcome() (*Welcome, error) {
	var message *control.Welcome
	select {
	case message = <-m.welcome:
	case <-m.exit:
		return nil, ErrSpare
	case <-m.ctx.Done():
		return nil, context.Cause(m.ctx)
	}
	w, err := toWelcome(message)
	if err == nil {
		m.process = w.Roles
	}
	return w, err
}

// toWelcome converts the host's welcome.
func toWelcome(message *control.Welcome) (*Welcome, error) {
	w := &Welcome{
		Incarnation: message.Incarnation, View: message.View,
		Schema: &batch.Schema{}, Steps: int(message.Steps), Draining: message.Draining,
		Origin: driver.Origin{Step: int(message.Begin), Model: message.Model, Held: message.Held},
		Kept:   message.Kept, Redo: message.Redo,
	}
	if copy(w.Run[:], message.Run) != len(w.Run) {
		return nil, fmt.Errorf("the host's run id has %d bytes, want %d: %s", len(message.Run), len(w.Run),
			oneBuild)
	}
	for _, p := range message.Peers {
		peer, err := toPeer(p)
		if err != nil {
			return nil, err
		}
		w.Peers = append(w.Peers, peer)
	}
	own, err := toPeer(&control.Peer{Roles: message.Roles})
	if err != nil {
		return nil, err
	}
	w.Roles = own.Process
	if hot := slices.Sorted(slices.Values(message.Hot)); len(hot) > 0 {
		if len(slices.Compact(hot)) < len(message.Hot) {
			return nil, fmt.Errorf("the host names a hot row twice: %s", oneBuild)
		}
		w.Origin.Hot = shard.NewHot(hot)
	}
	if err := json.Unmarshal(message.Schema, w.Schema); err != nil {
		return nil, fmt.Errorf("the host's schema: %w", err)
	}
	if err := w.Schema.Validate(); err != nil {
		return nil, fmt.Errorf("the host's schema: %w", err)
	}
	return w, nil
}

// toPeer converts the description of a process.
func toPeer(p *control.Peer) (Peer, error) {
	peer := Peer{Address: p.GetAddress(), Incarnation: p.GetIncarnation()}
	for _, r := range p.GetRoles() {
		at, known := fromRole(r)
		if !known {
			return peer, fmt.Errorf("the host names role %d, which is unknown: %s", r.GetKind(), oneBuild)
		}
		peer.Process = append(peer.Process, at)
	}
	if len(peer.Process) == 0 {
		return peer, fmt.Errorf("the host names a process without a role: %s", oneBuild)
	}
	return peer, nil
}

// Ready reports that the process is connected to its peers. From now on the host may read from the model.
// Ready returns when training begins, with the time of tick 0, and what the ranks of the process begin with
// if they are back: nil if they begin with the model of the welcome.
func (m *Member) Ready(n ModelReader) (start time.Time, ranks *exec.RankState, err error) {
	m.model <- n
	ready := &control.FromMember_Ready{Ready: &control.Ready{}}
	if err := m.send(&control.FromMember{What: ready}); err != nil {
		return start, nil, err
	}
	message, err := wait(m, m.started)
	if err != nil {
		return start, nil, err
	}
	if message.Rank != nil {
		ranks = fromRank(message.Rank)
	}
	return toMonotonic(message.GetStart()), ranks, nil
}

// Progress reports the number of trained steps, and the sum of the losses of samples since the report before.
func (m *Member) Progress(steps int, lossSum float64, samples int) error {
	progress := &control.Progress{Steps: int32(steps), LossSum: lossSum, Samples: int64(samples)}
	return m.send(&control.FromMember{What: &control.FromMember_Progress{Progress: progress}})
}

// Redone reports that this process has handled again what it had received in a time, and how long that took.
func (m *Member) Redone(took, of time.Duration) error {
	redone := &control.Redone{Took: int64(took), Of: int64(of)}
	return m.send(&control.FromMember{What: &control.FromMember_Redone{Redone: redone}})
}

// Leaving asks the host to end the run, because this process was asked to end. The process stays until then.
func (m *Member) Leaving() error {
	leaving := &control.FromMember_Leaving{Leaving: &control.Leaving{}}
	return m.send(&control.FromMember{What: leaving})
}

// Saved reports that what the host has asked the process to export to a folder is on the disk, or why not. A
// report that the host has received already is ignored.
func (m *Member) Saved(folder string, failed error) error {
	saved := &control.Saved{Folder: folder}
	if failed != nil {
		saved.Reason = truncate(failed.Error())
	}
	return m.send(&control.FromMember{What: &control.FromMember_Saved{Saved: saved}})
}

// Lost reports that the process of another role cannot be reached any more, or was dropped because it
// violated the protocol. The host decides what happens to the two processes.
func (m *Member) Lost(peer msg.Address, incarnation uint32, reason error) error {
	return m.send(&control.FromMember{What: &control.FromMember_Lost{Lost: &control.Lost{
		Role: toRole(peer), Incarnation: incarnation, Reason: truncate(reason.Error()),
	}}})
}

// BeforeStep announces a step of rank 0 and waits until the host lets it begin. The host may read from the
// model first.
func (m *Member) BeforeStep(step int) error {
	due := &control.FromMember_StepDue{StepDue: &control.StepDue{Step: int32(step)}}
	if err := m.send(&control.FromMember{What: due}); err != nil {
		return err
	}
	_, err := wait(m, m.proceed)
	return err
}

// Finished reports that every rank of this process, if it has any, has trained every step. It waits until all
// ranks of the run have.
func (m *Member) Finished() error {
	finished := &control.FromMember_Finished{Finished: &control.Finished{}}
	if err := m.send(&control.FromMember{What: finished}); err != nil {
		return err
	}
	_, err := wait(m, m.stop)
	return err
}

// Records sends records of the process's roles. Each record is sent once, and the records of one role are
// sent in order. No later record is from before the time through, except in so far as a clock is read before
// its record is made.
func (m *Member) Records(records []event.Record, through unit.Tick) error {
	for sent := false; !sent; sent = len(records) == 0 {
		n := min(len(records), recordsMax)
		batch := &control.Records{}
		for _, r := range records[:n] {
			batch.Records = append(batch.Records, &control.Record{
				At: int64(r.At), Kind: uint32(r.Kind), Rank: r.Rank, Step: r.Step, Rows: r.Rows,
				Role: uint32(slices.Index(m.process, r.Role)),
			})
		}
		if records = records[n:]; len(records) == 0 {
			batch.Through = int64(through)
		}
		message := &control.FromMember_Records{Records: batch}
		if err := m.send(&control.FromMember{What: message}); err != nil {
			return err
		}
	}
	return nil
}

// Report sends the report of the process, after its last records, and waits until the run is over. From now
// on the host reads from the model n.
func (m *Member) Report(r driver.Report, n ModelReader) error {
	<-m.model
	m.model <- n
	missed, err := r.Missed.MarshalBinary()
	if err != nil {
		return err
	}
	if err := m.send(&control.FromMember{What: &control.FromMember_Report{Report: &control.Report{
		Rows: int64(r.Rows), Missed: missed, HotGradients: r.HotGradients,
		Faults: &control.Faults{
			Sent: r.Faults.Sent, Dropped: r.Faults.Dropped, Duplicated: r.Faults.Duplicated,
			Delayed: r.Faults.Delayed, Held: r.Faults.Held, Crashes: r.Faults.Crashes,
		},
	}}}); err != nil {
		return err
	}
	_, err = wait(m, m.exit)
	return err
}
