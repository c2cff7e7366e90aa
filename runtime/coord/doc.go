// Package coord keeps the processes of one run together. The Host gathers one
// member for every role, tells all of them when to begin, stop and leave, reads
// what they hold, and stops all when one is lost; every member leaves by itself
// when the Host is. The data of a run do not pass through here.
package coord

import (
	"runtime/debug"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"tandem/algo/msg"
	"tandem/runtime/coord/control"
)

// protocol is the version of all that processes say to each other. It changes
// with every change that an older process would not understand.
const protocol = 1

// Both sides notice a broken connection at once; a silent one, of a machine that
// is gone or a process that is stopped, after silence, which is below the 5 s
// that a cluster may take to notice.
const (
	beat    = time.Second
	silence = 3 * time.Second
)

// messageMax is the size of a message that is accepted: the dense network at the
// end of a run is one.
const messageMax = 1 << 30

// joinName is the one method: a stream from every role.
const joinName = "/tandem.control.Host/Join"

var joinStream = grpc.StreamDesc{StreamName: "Join", ServerStreams: true, ClientStreams: true, Handler: join}

var service = grpc.ServiceDesc{ServiceName: "tandem.control.Host", HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{joinStream}}

func dial(address string) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(messageMax), grpc.MaxCallSendMsgSize(messageMax)))
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

func fromRole(r *control.Role) msg.Address {
	return msg.Address{Role: msg.Role(r.GetKind()), Index: r.GetIndex()}
}
