package transport

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"tandem/runtime/wire"
)

// The two ends of a stream introduce themselves before anything travels on it.
const (
	versionKey = "tandem-version" // of the frames
	jobKey     = "tandem-job"
	roleKey    = "tandem-role" // one value for each role of the process
)

// introduction says who this node is.
func (n *Node) introduction() metadata.MD {
	md := metadata.Pairs(versionKey, strconv.Itoa(wire.Version), jobKey, n.options.Job)
	for _, r := range n.options.Roles {
		md.Append(roleKey, r.String())
	}
	return md
}

// admit returns the name of the process that has opened a stream, or the reason
// for which it may not.
func (n *Node) admit(ctx context.Context) (name string, err error) {
	md, _ := metadata.FromIncomingContext(ctx)
	roles := md.Get(roleKey)
	if len(roles) == 0 {
		return "", status.Error(codes.InvalidArgument, "a process must say which roles it has")
	}
	own := n.introduction()
	if got, want := md.Get(versionKey), own.Get(versionKey); !slices.Equal(got, want) {
		return "", status.Errorf(codes.FailedPrecondition, "it speaks version %s of the frames, %s speaks %s; run the same build everywhere",
			want[0], roles[0], strings.Join(got, " "))
	}
	if got, want := md.Get(jobKey), own.Get(jobKey); !slices.Equal(got, want) {
		return "", status.Errorf(codes.FailedPrecondition, "it works on job %s, %s on job %s; run the same build with the same job file everywhere",
			want[0], roles[0], strings.Join(got, " "))
	}
	return roles[0], nil
}

// plain returns an error without gRPC's wrapping, in words for people.
func plain(err error) error {
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	switch s.Code() {
	case codes.Canceled, codes.Unavailable:
		return errors.New("its connection broke (" + s.Message() + ")")
	}
	return errors.New(s.Message())
}
