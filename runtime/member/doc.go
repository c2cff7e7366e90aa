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
// The Host admits each process of its plan once, if job, data, build and run are those of the plan. With
// Plan.Identity (package identity) a connection without a certificate of the run is refused before it is
// read, and a process unless its certificate has the roles by which it joins.
//
// Errors of Train and of a Member's methods are complete sentences for the user, which name the process at
// fault; they have no package prefix.
//
// # A run
//
// The Host draws the run id, 128 random bits. It gives each process the id, its incarnation, the view and the
// list of addresses; all frames between roles carry the first three. A process introduces itself in the
// headers of its stream, of which at most 64 KiB are read. The process of the data loader must also read the
// same data (datasets.Fingerprint: sizes and samples of the files). Training begins when all processes have
// reached those they talk to, and at the end the roles stay alive for evaluation.
//
// Control messages are checked before use: kind, sender, ranks, steps, lengths, and whether they were asked
// for. A message that fails is counted, logged once for each machine and kind of refusal, and ends the
// membership of its sender. So does a frame that a peer refuses.
//
// # Deaths
//
// A stream that breaks counts as a death at once. Silence is a hang after the hang limit (--hang-limit, 5 s).
// Each side counts it in ticks of its own, not in time: a paused process does not count its own pause as
// silence of the others, and a pause shorter than the limit is survived. The keepalive of gRPC counts time.
//
// When two processes lose their connection, the Host ends the membership of the one that died. If both live,
// it ends that of one that can restart.
//
// A process whose roles can all restart joins again as its next incarnation, at a new address, started by
// package process or by hand. The Host raises the view and sends every member the new peer. Package transport
// fences the old incarnation and opens streams to the new one. The timers of data loader and NN workers ask
// again for what was lost; in processes these timers are always set (wire.retry, 1s unless the job says
// otherwise).
//
// A process with ranks comes back if Plan.Restartable says so. It then begins with what the ranks of another
// process have, which passes through the Host (host_ranks.go), and sends and receives sums again
// (package allreduce).
//
// The run fails if a process is not ready again within the return limit, 30 s, or dies more often than
// Plan.DeathsMax, 10 times. It also fails with the death of a process that cannot restart, with the death of
// the Host, and with any death while processes connect to each other. Every process then leaves by itself
// within 5 s, with the name of the dead. If the Host lives (driver.LostError), CloseContinued asks them to
// join the next part of the run instead, which begins from a saved model. If it does not (HostError), they
// may join again when it, or another host, is started.
//
// # Seats
//
// The seat of a process is the roles with which it was started. It joins by its seat, and its welcome says
// which roles it has in this run: others where a run goes on without some processes (Plan.Seats), because
// roles are numbered from 0 on. A process without a role joins, too, and waits for the next part
// (Plan.Spare). A part whose processes do not come within Plan.GatherLimit ends, and the Host says who is
// missing (Absent).
//
// The run also fails, with a LostError, if a process dies before it has written its part of a model, which
// the host of this part or of the one before has asked for (Plan.Export).
//
// # Records
//
// Processes send their records to the Host every 100 ms, and say up to which time they have sent all. Clocks
// of machines differ, so the Host merges the records by time and by cause: no PS reads rows of a batch that
// is not routed and asked for. Records that an embedding worker had no time to send follow from those of the
// PSs, so staleness is measured across restarts. No decision of a run depends on these times.
//
// Records are counted into histograms as they arrive, so what the Host keeps does not grow with the number of
// steps. In a run of 200,000 steps of 32 samples in seven processes, the resident memory of the last half was
// 44 to 47 MB at the Host. In each of the others it changed by at most 1 MB.
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
const protocol = 12

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
