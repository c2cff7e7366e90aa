package member

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"

	"tandem/algo/job"
	"tandem/algo/protocol/msg"
	"tandem/runtime/identity"
	"tandem/runtime/member/control"
)

// refusal is why a stream is refused or a member is dropped.
type refusal struct {
	kind string // one word, by which refusals are counted
	line string
}

func refuse(kind, format string, args ...any) *refusal {
	return &refusal{kind, fmt.Sprintf(format, args...)}
}

// note counts and logs a refusal of a process on a machine.
func (h *Host) note(machine string, why *refusal) {
	h.refusals.Add("a process on "+machine, why.kind, why.line)
}

// oneBuild says what to do about processes that do not understand each other.
const oneBuild = "start all roles from one build"

// addressMax is the length of the longest address in a Hello, in bytes.
const addressMax = 1 << 10

// parseHello returns the member that a stream introduces, or why it is refused.
func (h *Host) parseHello(ctx context.Context) (*member, *refusal) {
	md, _ := metadata.FromIncomingContext(ctx)
	values := md.Get(helloKey)
	if len(values) != 1 {
		return nil, refuse("introduction", "a process does not say which role it is: %s", oneBuild)
	}
	var hello control.Hello
	if err := proto.Unmarshal([]byte(values[0]), &hello); err != nil {
		return nil, refuse("introduction", "a process introduces itself with invalid bytes: %s", oneBuild)
	}
	var roles job.Process
	for _, r := range hello.Roles {
		at, known := fromRole(r)
		if !known {
			return nil, refuse("role", "role %d, index %d is unknown: %s", r.GetKind(), r.GetIndex(),
				oneBuild)
		}
		roles = append(roles, at)
	}
	if len(roles) == 0 {
		return nil, refuse("introduction", "a process has no role: %s", oneBuild)
	}
	if why := h.checkCertificate(ctx, roles); why != nil {
		return nil, why
	}
	if why := h.checkHello(roles, &hello); why != nil {
		return nil, why
	}
	host, port, err := net.SplitHostPort(hello.Address)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil ||
		len(hello.Address) > addressMax {
		return nil, refuse("address", "%v gives %.60q as its address: want HOST:PORT", roles, hello.Address)
	}
	m := newMember(h.bySeat[roles[0]], hello.Address)
	m.holds = h.plan.Origin.Held && len(hello.Held) > 0 && bytes.Equal(hello.Held, h.plan.Before)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		m.address = net.JoinHostPort(remoteHost(ctx), port)
	}
	return m, nil
}

// checkCertificate returns why a process must not join with its certificate, or nil.
func (h *Host) checkCertificate(ctx context.Context, roles job.Process) *refusal {
	refused := (*identity.Refused)(nil)
	if h.plan.Identity != nil && errors.As(identity.Of(ctx).CheckSeat(roles), &refused) {
		return &refusal{string(refused.Reason), refused.Error()}
	}
	return nil
}

// checkHello returns why a process must not join this run, or nil.
func (h *Host) checkHello(at job.Process, hello *control.Hello) *refusal {
	switch {
	case hello.Protocol != protocol:
		return refuse("protocol", "%v speaks version %d of the protocol, the host version %d: %s",
			at, hello.Protocol, protocol, oneBuild)
	case hello.Build != h.build && hello.Build != "" && h.build != "":
		return refuse("build", "%v was built from commit %.60s, the host from %s: %s", at, hello.Build,
			h.build, oneBuild)
	case !bytes.Equal(hello.Job, h.plan.Job):
		return refuse("job",
			"%v was started with another job than the host: give every role the same job file", at)
	case len(hello.Run) > 0 && !bytes.Equal(hello.Run, h.run[:]):
		return refuse("run", "%v belongs to run %.16x, the host serves run %x: "+
			"two runs share an address, give each its own", at, hello.Run, h.run)
	}
	for _, r := range at {
		if h.bySeat[r] == nil {
			return refuse("role", "%v has no part in this job: "+
				"see its section roles", r)
		}
	}
	own := h.bySeat[at[0]].seat
	switch {
	case !slices.Equal(at, own):
		return refuse("placement",
			"%v is none of this job: its placement has %v; start that, with node process",
			at, own)
	case at.Has(msg.Address{Role: msg.DataLoader}) && !bytes.Equal(hello.Data, h.plan.Data):
		return refuse("data", "%v reads other data than the host: "+
			"give both the same files, under the paths of the job file", at)
	}
	return nil
}

// remoteHost returns the machine from which a stream comes.
func remoteHost(ctx context.Context) string {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return "an unknown machine"
	}
	return machineOf(p.Addr)
}

// machineOf returns the machine of an address.
func machineOf(address net.Addr) string {
	host, _, err := net.SplitHostPort(address.String())
	if err != nil {
		return address.String()
	}
	return host
}
