// Package member keeps the processes of one run together. The Host gathers one
// member for every process, says when to begin, stop and leave, reads what the roles
// hold, and lets processes whose roles can all restart come back after their death. It
// ends the run when another process dies; every member leaves by itself when the Host is gone.
// The data of a run do not pass through here.
package member

import (
	"runtime/debug"
	"time"

	"google.golang.org/grpc"

	"tandem/algo/protocol/msg"
	"tandem/runtime/grpcnet"
	"tandem/runtime/member/control"
)

// protocol is the version of the control messages and their meaning. It rises with
// every change that an older process would not understand.
const protocol = 3

// Defaults of the limits of a Plan.
const (
	DefaultHangLimit   = 5 * time.Second
	DefaultReturnLimit = 30 * time.Second
	DefaultDeathsMax   = 10
)

const (
	// messageMax is the size in bytes of a message that is accepted from a member:
	// the dense network at the end of a run is one message.
	messageMax = 1 << 30
	// helloMax is the number of bytes that are read from a stream before its
	// process is admitted: headers with its Hello, and as much of what follows.
	helloMax = 64 << 10
)

// The headers of a stream. A process opens it with its Hello; the host answers with the
// version of its protocol and its limit for silence, before it admits the process.
const (
	helloKey    = "tandem-hello-bin"
	protocolKey = "tandem-protocol"
	hangKey     = "tandem-hang-limit"
)

// joinName is the one method: a stream from every process.
const joinName = "/tandem.control.Host/Join"

var joinStream = grpc.StreamDesc{StreamName: "Join", ServerStreams: true, ClientStreams: true, Handler: join}

var service = grpc.ServiceDesc{
	ServiceName: "tandem.control.Host", HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{joinStream},
}

// limits bound a connection between a member and the host, which has this limit for silence.
func limits(hangLimit time.Duration) grpcnet.Limits {
	return grpcnet.Limits{
		Message: messageMax, Headers: helloMax, Window: helloMax, Handshake: hangLimit,
		Idle: hangLimit, // connections of strangers end
	}
}

// Build returns the commit that this program was built from, or "" if that is
// not known, as under go run.
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

// fromRole returns the address that a message names; ok is false if it is of no
// role that this build knows.
func fromRole(r *control.Role) (a msg.Address, ok bool) {
	kind := r.GetKind()
	a = msg.Address{Role: msg.Role(kind), Index: r.GetIndex()}
	return a, uint32(a.Role) == kind && a.Role.Known() && a.Index >= 0
}
