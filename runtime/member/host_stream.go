package member

import (
	"strconv"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"tandem/runtime/member/control"
)

// member is one stream of a process as the host has it.
type member struct {
	process     *process
	address     string // where its data listener is reached
	incarnation uint32 // from its admission on

	// The host's goroutine owns these.
	ready, finished bool

	silenceDetector
	sending sync.Mutex
	stream  interface{ Send(*control.ToRole) error }
	expel   func()        // ends the stream
	gone    chan struct{} // closed by expel, and when the stream has ended
	hung    atomic.Bool   // why it was expelled
}

func newMember(s *process, address string) *member {
	gone := make(chan struct{})
	return &member{process: s, address: address, gone: gone, expel: sync.OnceFunc(func() { close(gone) })}
}

// send sends a message. If the member is gone, the end of its stream says so.
func (m *member) send(message *control.ToRole) {
	m.sending.Lock()
	defer m.sending.Unlock()
	_ = m.stream.Send(message)
}

func abort(reason string) *control.ToRole {
	return &control.ToRole{What: &control.ToRole_Abort{Abort: &control.Abort{Reason: truncate(reason)}}}
}

// join is the goroutine of one stream. The stream ends when it returns.
func join(server any, stream grpc.ServerStream) error {
	h := server.(*Host)
	typed := &grpc.GenericServerStream[control.FromRole, control.ToRole]{ServerStream: stream}
	limit := h.plan.HangLimit
	if err := stream.SendHeader(metadata.Pairs(protocolKey, strconv.Itoa(protocol), hangKey, limit.String())); err != nil {
		return nil // it is gone
	}
	m, why := h.parseHello(stream.Context())
	if why == nil {
		m.stream = typed
		why = h.admit(m)
	}
	if why != nil {
		h.note(remoteHost(stream.Context()), why)
		_ = typed.Send(abort(why.line)) // if it is gone, that is all right
		return nil
	}
	go heartbeat(limit, m.gone, func() {
		m.send(&control.ToRole{What: &control.ToRole_Heartbeat{Heartbeat: &control.Heartbeat{}}})
	})
	go m.watch(limit, m.gone, func() {
		m.hung.Store(true)
		m.expel() // which also ends a send that waits for it
	})
	go h.read(m, typed)
	<-m.gone
	if m.hung.Load() {
		return status.Errorf(codes.Aborted, "%v has not answered for %v and was dropped", m.process.roles, limit)
	}
	return nil
}

// admit has the host's goroutine decide on a member.
func (h *Host) admit(m *member) *refusal {
	decided := make(chan *refusal, 1)
	if !h.post(func() error { decided <- h.assign(m); return nil }) {
		return refuse("late", "%v comes too late: the run is over", m.process.roles)
	}
	return <-decided
}

// read hands the messages of a member to the host's goroutine until its stream ends.
func (h *Host) read(m *member, stream *grpc.GenericServerStream[control.FromRole, control.ToRole]) {
	defer m.expel()
	for {
		message, err := stream.Recv()
		if err != nil {
			h.post(func() error { return h.ended(m) })
			return
		}
		m.received.Store(true)
		m.busy.Store(true)
		h.post(func() error { return h.handle(m, message) }) // if the run is over, only the end matters
		m.busy.Store(false)
	}
}
