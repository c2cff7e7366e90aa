package coord

import (
	"bytes"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"

	"tandem/algo/event"
	"tandem/algo/msg"
	"tandem/algo/unit"
	"tandem/algo/work"
	"tandem/runtime/coord/control"
	"tandem/runtime/train"
)

// member is one role as the host knows it. The host's goroutine owns all but
// the stream.
type member struct {
	sending sync.Mutex
	stream  *grpc.GenericServerStream[control.FromRole, control.ToRole]

	at       msg.Address
	address  string // where its data listener is reached
	ready    bool
	finished bool
	records  []event.Record
	report   *train.Report
	values   []float32         // answer to PeekRows; nil before
	network  *work.DenseValues // likewise
}

// tell sends a message. If the member is gone, the end of its stream says so.
func (m *member) tell(message *control.ToRole) {
	m.sending.Lock()
	defer m.sending.Unlock()
	_ = m.stream.Send(message)
}

// join is the goroutine of one stream.
func join(server any, stream grpc.ServerStream) error {
	h := server.(*Host)
	m := &member{stream: &grpc.GenericServerStream[control.FromRole, control.ToRole]{ServerStream: stream}}
	gone := make(chan struct{})
	defer close(gone)
	go m.beat(gone)
	for {
		message, err := m.stream.Recv()
		if err != nil {
			message = nil
		}
		select {
		case h.events <- happening{m, message}:
		case <-h.over: // what comes now is of no interest, but the end
		}
		if err != nil {
			return nil
		}
	}
}

// beat shows the member that the host lives.
func (m *member) beat(gone <-chan struct{}) {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			m.tell(&control.ToRole{What: &control.ToRole_Beat{Beat: &control.Beat{}}})
		case <-gone:
			return
		}
	}
}

// meet lets a role in, or tells it why not.
func (h *Host) meet(m *member, hello *control.Hello) {
	if !msg.Role(hello.Role.GetKind()).Known() {
		m.refuse(fmt.Sprintf("role %d is unknown: start all roles from one build", hello.Role.GetKind()))
		return
	}
	m.at, m.address = fromRole(hello.Role), hello.Address
	if host, port, err := net.SplitHostPort(hello.Address); err == nil {
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			m.address = net.JoinHostPort(hostOf(m.stream), port)
		}
	}
	if reason := h.refusal(m.at, hello); reason != "" {
		m.refuse(reason)
		return
	}
	h.members[m.at] = m
}

func (m *member) refuse(reason string) {
	m.tell(&control.ToRole{What: &control.ToRole_Abort{Abort: &control.Abort{Reason: reason}}})
}

// refusal says why a role may not join; "" if it may.
func (h *Host) refusal(at msg.Address, hello *control.Hello) string {
	switch {
	case hello.Protocol != protocol:
		return fmt.Sprintf("%v speaks version %d of the protocol, the coordinator version %d: start all roles from one build", at, hello.Protocol, protocol)
	case hello.Build != h.build && hello.Build != "" && h.build != "":
		return fmt.Sprintf("%v was built from commit %s, the coordinator from %s: start all roles from one build", at, hello.Build, h.build)
	case !bytes.Equal(hello.Job, h.plan.Job):
		return fmt.Sprintf("%v was started with another job than the coordinator: give every role the same job file", at)
	case at.Role == msg.DataLoader && !bytes.Equal(hello.Data, h.plan.Data):
		return fmt.Sprintf("%v reads other data than the coordinator: give both the same files, under the paths of the job file", at)
	case !slices.Contains(h.plan.Roles, at):
		return fmt.Sprintf("%v has no part in this job: see its ranks, embedding-workers and parameter-servers", at)
	case h.members[at] != nil:
		return fmt.Sprintf("%v is here already, at %s: give every process of a role its own --index", at, h.members[at].address)
	}
	return ""
}

// hostOf returns the host that a stream comes from.
func hostOf(stream grpc.ServerStream) string {
	p, _ := peer.FromContext(stream.Context()) // there is one behind every stream
	host, _, err := net.SplitHostPort(p.Addr.String())
	if err != nil {
		return p.Addr.String()
	}
	return host
}

func (m *member) add(rs *control.Records) {
	for _, r := range rs.Records {
		m.records = append(m.records, event.Record{
			At: unit.Tick(r.At), Role: m.at, Kind: event.Kind(r.Kind), Rank: r.Rank, Step: r.Step, Rows: r.Rows,
		})
	}
}

func (m *member) take(r *control.Report) error {
	report := train.Report{Digest: r.Digest, Rows: int(r.Rows)}
	if len(r.Missed) > 0 {
		if err := report.Missed.UnmarshalBinary(r.Missed); err != nil {
			return fmt.Errorf("report of %v: %w", m.at, err)
		}
	}
	m.report = &report
	return nil
}
