package transport

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"tandem/algo/protocol/msg"
	"tandem/runtime/wire"
)

// The keys of an introduction, which the two ends of a stream exchange before anything else.
const (
	versionKey     = "tandem-version" // version of the frames
	jobKey         = "tandem-job"
	runKey         = "tandem-run"         // hexadecimal
	incarnationKey = "tandem-incarnation" // decimal, as all numbers here
	viewKey        = "tandem-view"
	roleKey        = "tandem-role" // one value for each role of the process: its number, a slash, its index
)

// rolesMax is the largest number of roles of one process.
const rolesMax = 1024

// introduction is what a process says of itself at the beginning of a stream.
type introduction struct {
	wire.Identity
	job   string
	roles []msg.Address
}

// name returns the name of the process.
func (h *introduction) name() string { return h.roles[0].String() }

// introduce returns the introduction of this process.
func (n *Endpoint) introduce() metadata.MD {
	n.mu.Lock()
	id := n.identity
	n.mu.Unlock()
	md := metadata.Pairs(
		versionKey, strconv.Itoa(wire.Version), jobKey, n.options.Job, runKey, id.Run.String(),
		incarnationKey, strconv.FormatUint(uint64(id.Incarnation), 10), viewKey,
		strconv.FormatUint(uint64(id.View), 10),
	)
	for _, r := range n.options.Roles {
		md.Append(roleKey, fmt.Sprintf("%d/%d", r.Role, r.Index))
	}
	return md
}

// parseIntroduction parses an introduction. The error names the field.
func parseIntroduction(md metadata.MD) (*introduction, error) {
	h := &introduction{}
	var err error
	if h.roles, err = parseRoles(md.Get(roleKey)); err != nil {
		return nil, err
	}
	if version := onlyValue(md, versionKey); version != strconv.Itoa(wire.Version) {
		return nil, fmt.Errorf("version: %s speaks version %.20q of the frames, this process %d; run the "+
			"same build everywhere",
			h.name(), version, wire.Version)
	}
	h.job = onlyValue(md, jobKey)
	run, err := hex.DecodeString(onlyValue(md, runKey))
	if err != nil || len(run) != len(h.Run) {
		return nil, fmt.Errorf("run: want %d bytes in hexadecimal", len(h.Run))
	}
	copy(h.Run[:], run)
	for key, number := range map[string]*uint32{incarnationKey: &h.Incarnation, viewKey: &h.View} {
		v, err := strconv.ParseUint(onlyValue(md, key), 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", strings.TrimPrefix(key, "tandem-"), err)
		}
		*number = uint32(v)
	}
	return h, nil
}

// onlyValue returns the value of a key, or "" unless it has exactly one.
func onlyValue(md metadata.MD, key string) string {
	if values := md.Get(key); len(values) == 1 {
		return values[0]
	}
	return ""
}

// parseRoles parses the roles of a process.
func parseRoles(texts []string) ([]msg.Address, error) {
	if len(texts) == 0 || len(texts) > rolesMax {
		return nil, fmt.Errorf("role: %d roles, want 1 to %d", len(texts), rolesMax)
	}
	var roles []msg.Address
	for _, text := range texts {
		kind, index, _ := strings.Cut(text, "/")
		k, err1 := strconv.ParseUint(kind, 10, 8)
		i, err2 := strconv.ParseInt(index, 10, 32)
		r := msg.Address{Role: msg.Role(k), Index: int32(i)}
		if err := errors.Join(err1, err2); err != nil || !r.Role.Known() || i < 0 ||
			slices.Contains(roles, r) {
			return nil, fmt.Errorf("role: %.20q is not a role, or comes twice", text)
		}
		roles = append(roles, r)
	}
	return roles, nil
}

// admit admits the process that has opened a stream, or returns why it is refused. It waits for Begin and for
// the Fence that announces a later incarnation.
func (n *Endpoint) admit(ctx context.Context) (*inStream, error) {
	g := connOf(ctx)
	md, _ := metadata.FromIncomingContext(ctx)
	h, err := parseIntroduction(md)
	if err != nil {
		n.refuse(g.host(), wire.Refusef(wire.Introduced, "%w", err))
		return nil, status.Error(codes.FailedPrecondition, "introduction, "+err.Error())
	}
	if n.options.Identity != nil {
		err = g.name.CheckRoles(h.roles)
	}
	if err != nil {
		n.refuse(h.name()+" at "+g.host(), err)
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	if err := n.checkIntroduction(h); err != nil {
		n.refuse(h.name()+" at "+g.host(), wire.Refusef(wire.Introduced, "%w", err))
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	g.introduce()
	for {
		c, changed, err := n.claimRoles(h, g)
		if err != nil {
			n.refuse(h.name()+" at "+g.host(), err)
			return nil, status.Error(codes.FailedPrecondition, err.Error())
		}
		if c != nil {
			return c, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-n.running.Done():
			return nil, status.Error(codes.Unavailable, n.name()+" is leaving")
		}
	}
}

// checkIntroduction checks the job of an introduction.
func (n *Endpoint) checkIntroduction(h *introduction) error {
	if h.job != n.options.Job {
		return fmt.Errorf("it works on job %s, %s on job %.80s; run the same build with the same job file "+
			"everywhere",
			n.options.Job, h.name(), h.job)
	}
	return nil
}

// plainError returns an error without gRPC's wrapping, in words for the user.
func plainError(err error) error {
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	switch s.Code() {
	case codes.Canceled, codes.Unavailable:
		return errors.New("its connection broke (" + s.Message() + ")")
	case codes.PermissionDenied:
		return errors.New("it has dropped this process (" + s.Message() + ")")
	}
	return errors.New(s.Message())
}
