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

// member is the host's end of one stream from a process.
type member struct {
	process     *process
	address     string // where other processes reach its data listener
	incarnation uint32 // set when the member is admitted
	holds       bool   // the process holds the origin of the run

	// The host's goroutine owns these.
	ready, finished, reported bool
	begun                     bool // it trains
	ranks                     rankAnswers

	silenceDetector
	sending sync.Mutex
	stream  interface{ Send(*control.ToMember) error }
	expel   func()        // closes gone, which ends the stream
	gone    chan struct{} // closed when the stream ends
	hung    atomic.Bool   // the member was expelled because it hangs
}

func newMember(s *process, address string) *member {
	gone := make(chan struct{})
	return &member{process: s, address: address, gone: gone, expel: sync.OnceFunc(func() { close(gone) })}
}

// send sends a message. It ignores errors: the end of the stream reports that the member is gone.
func (m *member) send(message *control.ToMember) {
	m.sending.Lock()
	defer m.sending.Unlock()
	_ = m.stream.Send(message)
}

// hasLeft reports whether the stream has ended.
func (m *member) hasLeft() bool {
	select {
	case <-m.gone:
		return true
	default:
		return false
	}
}

func abort(reason string) *control.ToMember {
	return &control.ToMember{What: &control.ToMember_Abort{Abort: &control.Abort{Reason: truncate(reason)}}}
}

// join is the handler of one stream, in a goroutine of its own. The stream ends when join returns.
func join(server any, stream grpc.ServerStream) error {
	h := server.(*Host)
	typed := &grpc.GenericServerStream[control.FromMember, control.ToMember]{ServerStream: stream}
	limit := h.plan.HangLimit
	if err := stream.SendHeader(metadata.Pairs(protocolKey, strconv.Itoa(protocol), hangKey,
		limit.String())); err != nil {
		return nil // the process is gone
	}
	m, why := h.parseHello(stream.Context())
	if why == nil {
		m.stream = typed
		why = h.admit(m)
	}
	if why != nil {
		h.note(remoteHost(stream.Context()), why)
		last := abort(why.line)
		last.GetAbort().Continues = h.continues.Load() // it has come too early to the next part
		_ = typed.Send(last)                           // an error means that the process is gone
		return nil
	}
	go heartbeat(limit, m.gone, func() {
		m.send(&control.ToMember{What: &control.ToMember_Heartbeat{Heartbeat: &control.Heartbeat{}}})
	})
	go m.watch(limit, m.gone, func() {
		m.hung.Store(true)
		m.expel() // also ends a send that is blocked
	})
	go h.read(m, typed)
	<-m.gone
	if m.hung.Load() {
		return status.Errorf(codes.Aborted, "%v has not answered for %v and was dropped", m.process,
			limit)
	}
	return nil
}

// admit makes the host's goroutine decide on a member.
func (h *Host) admit(m *member) *refusal {
	decided := make(chan *refusal, 1)
	if !h.post(func() error { decided <- h.assign(m); return nil }) {
		return refuse("late", "%v joins too late: the run is over", m.process)
	}
	return <-decided
}

// read passes the messages of a member to the host's goroutine until the stream ends.
func (h *Host) read(m *member, stream *grpc.GenericServerStream[control.FromMember, control.ToMember]) {
	defer m.expel()
	for {
		message, err := stream.Recv()
		if err != nil {
			h.post(func() error { return h.ended(m) })
			return
		}
		m.received.Store(true)
		m.busy.Store(true)
		// false means that the run is over; the message is not needed then
		h.post(func() error { return h.handle(m, message) })
		m.busy.Store(false)
	}
}
