package member

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/runtime/driver"
	"tandem/runtime/member/control"
)

// wait returns what comes, or why the run has failed.
func wait[T any](m *Member, from <-chan T) (value T, err error) {
	select {
	case value = <-from:
		return value, nil
	case <-m.ctx.Done():
		return value, context.Cause(m.ctx)
	}
}

// Welcome waits until every process has joined.
func (m *Member) Welcome() (*Welcome, error) {
	message, err := wait(m, m.welcome)
	if err != nil {
		return nil, err
	}
	w := &Welcome{
		Incarnation: message.Incarnation, View: message.View,
		Schema: &batch.Schema{}, Steps: int(message.Steps),
	}
	if copy(w.Run[:], message.Run) != len(w.Run) {
		return nil, fmt.Errorf("the host's run id has %d bytes, want %d: %s", len(message.Run), len(w.Run), oneBuild)
	}
	for _, p := range message.Peers {
		peer, err := toPeer(p)
		if err != nil {
			return nil, err
		}
		w.Peers = append(w.Peers, peer)
	}
	if err := json.Unmarshal(message.Schema, w.Schema); err != nil {
		return nil, fmt.Errorf("the host's schema: %w", err)
	}
	return w, nil
}

// toPeer reads where a process is reached.
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

// Ready says that the process can begin and gives its numbers, for the host to look
// at. It returns when training begins, with the time of tick 0.
func (m *Member) Ready(n ModelReader) (time.Time, error) {
	m.model <- n
	if err := m.send(&control.FromRole{What: &control.FromRole_Ready{Ready: &control.Ready{}}}); err != nil {
		return time.Time{}, err
	}
	return wait(m, m.started)
}

// Progress tells how many steps are trained.
func (m *Member) Progress(steps int) error {
	progress := &control.Progress{Steps: int32(steps)}
	return m.send(&control.FromRole{What: &control.FromRole_Progress{Progress: progress}})
}

// Lost says that the process of another role cannot be reached any more, or was dropped
// because it misbehaves. The host decides what becomes of the two.
func (m *Member) Lost(peer msg.Address, incarnation uint32, reason error) error {
	return m.send(&control.FromRole{What: &control.FromRole_Lost{Lost: &control.Lost{
		Role: toRole(peer), Incarnation: incarnation, Reason: truncate(reason.Error()),
	}}})
}

// BeforeStep asks whether a step may begin: the host may want to look first.
func (m *Member) BeforeStep(step int) error {
	if err := m.send(&control.FromRole{What: &control.FromRole_Due{Due: &control.Due{Step: int32(step)}}}); err != nil {
		return err
	}
	_, err := wait(m, m.proceed)
	return err
}

// Finished says that every rank here, if there is one, has trained every step,
// and waits until all ranks have.
func (m *Member) Finished() error {
	if err := m.send(&control.FromRole{What: &control.FromRole_Finished{Finished: &control.Finished{}}}); err != nil {
		return err
	}
	_, err := wait(m, m.stop)
	return err
}

// Records sends events of the process's roles, those of each in their order, each once.
func (m *Member) Records(records []event.Record) error {
	for len(records) > 0 {
		n := min(len(records), recordsMax)
		message := &control.Records{}
		for _, r := range records[:n] {
			message.Records = append(message.Records, &control.Record{
				At: int64(r.At), Kind: uint32(r.Kind), Rank: r.Rank, Step: r.Step, Rows: r.Rows,
				Role: uint32(slices.Index(m.process, r.Role)),
			})
		}
		if err := m.send(&control.FromRole{What: &control.FromRole_Records{Records: message}}); err != nil {
			return err
		}
		records = records[n:]
	}
	return nil
}

// Report sends what the process has done and holds, after its last records, and waits until
// the run is over. From now on the host looks at n.
func (m *Member) Report(r driver.Report, n ModelReader) error {
	<-m.model
	m.model <- n
	missed, err := r.Missed.MarshalBinary()
	if err != nil {
		return err
	}
	var digests []uint64
	for _, at := range m.process {
		digests = append(digests, r.Digests[at])
	}
	if err := m.send(&control.FromRole{What: &control.FromRole_Report{Report: &control.Report{
		Digests: digests, Rows: int64(r.Rows), Missed: missed, Faults: &control.Faults{
			Sent: r.Faults.Sent, Dropped: r.Faults.Dropped, Duplicated: r.Faults.Duplicated,
			Delayed: r.Faults.Delayed, Held: r.Faults.Held, Crashes: r.Faults.Crashes,
		},
	}}}); err != nil {
		return err
	}
	_, err = wait(m, m.exit)
	return err
}
