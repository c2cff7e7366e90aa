// Package member keeps the processes of one run together.
//
// It answers one question: who is in the run, when does the run begin and end, and who has died? A run has
// one Host and, for each process, one Member, which is connected to the Host by a stream of control messages
// (package member/control). Messages and gradients of roles do not pass through the Host: see package
// transport.
//
// The life of a run, as a process sees it:
//
//	m, err := member.Join(ctx, host, member.Hello{Process: roles, Address: mine}, timeout)
//	welcome, err := m.Welcome()          // every process has joined: addresses, schema, steps
//	start, err := m.Ready(trainingModel) // every process is connected: training begins
//	err = m.Records(records, through)    // during training: records, progress, peers that were lost
//	err = m.Finished()                   // every rank of the run has trained every step
//	err = m.Report(report, finalModel)   // until the run is over
//	err = m.Leave(err)
//
// and as the command sees it that hosts the run:
//
//	host, err := member.NewHost(listener, member.Plan{Processes: processes, ...})
//	err = host.Train(ctx, member.Callbacks{...})
//	reports := host.Reports()
//	host.Close(err)
//
// The Host admits each process of its plan once, if job, data, build and run are those of the plan. When a
// process dies whose roles can all restart, the Host announces the next incarnation, up to Plan.DeathsMax
// times. The death of any other process ends the run. Every Member notices within the hang limit that the
// Host is gone, and leaves.
//
// Errors of Train and of a Member's methods are complete sentences for the user, which name the process at
// fault; they have no package prefix.
package member

import (
	"runtime/debug"
	"time"

	"google.golang.org/grpc"

	"tandem/algo/protocol/msg"
	"tandem/runtime/grpcnet"
	"tandem/runtime/member/control"
)

// protocol is the version of the control messages and their meaning. It rises with every change that an older
// process would not understand.
const protocol = 6

// Defaults of the limits of a Plan.
const (
	DefaultHangLimit   = 5 * time.Second
	DefaultReturnLimit = 30 * time.Second
	DefaultDeathsMax   = 10
)

const (
	// messageMax is the size in bytes of the largest control message. The dense network at the end of a run
	// is one message.
	messageMax = 1 << 30
	// helloMax is the number of bytes that are read from a stream before its process is admitted: headers
	// with its Hello, and the beginning of what follows.
	helloMax = 64 << 10
)

// The headers of a stream. A process opens the stream with its Hello. The host answers, before it admits the
// process, with the version of its protocol and the hang limit.
const (
	helloKey    = "tandem-hello-bin"
	protocolKey = "tandem-protocol"
	hangKey     = "tandem-hang-limit"
)

// joinName is the service's only method: a stream from every process.
const joinName = "/tandem.control.Host/Join"

var joinStream = grpc.StreamDesc{StreamName: "Join", ServerStreams: true, ClientStreams: true, Handler: join}

var service = grpc.ServiceDesc{
	ServiceName: "tandem.control.Host", HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{joinStream},
}

// limits bound a connection between a member and the host.
func limits(hangLimit time.Duration) grpcnet.Limits {
	return grpcnet.Limits{
		Message: messageMax, Headers: helloMax, Window: helloMax, Handshake: hangLimit,
		Idle: hangLimit, // a connection without a stream is closed
	}
}

// Build returns the commit from which this program was built, or "" if it is unknown, as under go run.
func Build() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	commit := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			commit += ", changed"
		}
	}
	return commit
}

func toRole(a msg.Address) *control.Role {
	return &control.Role{Kind: uint32(a.Role), Index: a.Index}
}

func toRoles(p []msg.Address) (all []*control.Role) {
	for _, at := range p {
		all = append(all, toRole(at))
	}
	return all
}

// fromRole returns the address in a control message. It returns false if this build does not know the role.
func fromRole(r *control.Role) (a msg.Address, ok bool) {
	kind := r.GetKind()
	a = msg.Address{Role: msg.Role(kind), Index: r.GetIndex()}
	return a, uint32(a.Role) == kind && a.Role.Known() && a.Index >= 0
}
