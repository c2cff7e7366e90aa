package coord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"tandem/algo/batch"
	"tandem/algo/event"
	"tandem/algo/msg"
	"tandem/algo/work"
	"tandem/runtime/coord/control"
	"tandem/runtime/train"
)

// Plan is what a run consists of.
type Plan struct {
	Job    []byte        // fingerprint of the resolved job, which every role must have
	Data   []byte        // fingerprint of the data files, which the data loader must have
	Roles  []msg.Address // that must join
	Schema *batch.Schema
	Steps  int
}

// Watch is what looks on at a run.
type Watch struct {
	train.ClusterWatch
	Gathering func(missing []msg.Address) // roles that have yet to join, whenever that changes; not nil
}

// Host is the centre of a run. Its methods are for one goroutine.
type Host struct {
	plan   Plan
	build  string // that roles must be of, where both are known
	watch  Watch
	server *grpc.Server
	events chan happening
	over   chan struct{} // closed when nobody takes events any more

	members map[msg.Address]*member
	began   bool // every role has joined, and none may leave
	wall    time.Duration
}

// happening is one message of a member, or its end.
type happening struct {
	member  *member
	message *control.FromRole // nil: the stream has ended
}

// NewHost serves a run at a listener, which it takes over, until Close.
func NewHost(listener net.Listener, plan Plan) *Host {
	h := &Host{
		plan: plan, build: Build(), events: make(chan happening), over: make(chan struct{}), members: map[msg.Address]*member{},
		server: grpc.NewServer(
			grpc.MaxRecvMsgSize(messageMax), grpc.MaxSendMsgSize(messageMax),
			grpc.KeepaliveParams(keepalive.ServerParameters{Time: silence / 2, Timeout: silence / 2}),
		),
	}
	h.server.RegisterService(&service, h)
	go func() { _ = h.server.Serve(listener) }() // it ends with Close
	return h
}

// Train gathers the roles, has them train, and returns when every step is
// trained and every role has reported what it holds. The error says which role
// is at fault.
func (h *Host) Train(ctx context.Context, watch Watch) error {
	h.watch = watch
	if err := h.gather(ctx); err != nil {
		return err
	}
	welcome, err := h.welcome()
	if err != nil {
		return err
	}
	h.tell(&control.ToRole{What: &control.ToRole_Welcome{Welcome: welcome}})
	if err := h.await(ctx, func(m *member) bool { return m.ready }); err != nil {
		return err
	}
	h.watch.Started()
	start := time.Now()
	h.tell(&control.ToRole{What: &control.ToRole_Go{Go: &control.Go{Start: start.UnixNano()}}})
	if err := h.await(ctx, func(m *member) bool { return m.finished || m.at.Role != msg.NNWorker }); err != nil {
		return err
	}
	h.wall = time.Since(start)
	h.tell(&control.ToRole{What: &control.ToRole_Stop{Stop: &control.Stop{}}})
	return h.await(ctx, func(m *member) bool { return m.report != nil })
}

// gather waits until every role has joined.
func (h *Host) gather(ctx context.Context) error {
	for len(h.members) < len(h.plan.Roles) {
		h.watch.Gathering(h.missing())
		if err := h.take(ctx); err != nil {
			return err
		}
	}
	h.began = true
	return nil
}

func (h *Host) missing() []msg.Address {
	return slices.DeleteFunc(slices.Clone(h.plan.Roles), func(a msg.Address) bool { return h.members[a] != nil })
}

func (h *Host) welcome() (*control.Welcome, error) {
	schema, err := json.Marshal(h.plan.Schema)
	if err != nil {
		return nil, err
	}
	w := &control.Welcome{Schema: schema, Steps: int32(h.plan.Steps)}
	for _, a := range h.plan.Roles {
		w.Peers = append(w.Peers, &control.Peer{Role: toRole(a), Address: h.members[a].address})
	}
	return w, nil
}

// tell says something to every member.
func (h *Host) tell(message *control.ToRole) {
	for _, m := range h.members {
		m.tell(message)
	}
}

// await waits until something holds for every member.
func (h *Host) await(ctx context.Context, holds func(*member) bool) error {
	for {
		all := true
		for _, m := range h.members {
			all = all && holds(m)
		}
		if all {
			return nil
		}
		if err := h.take(ctx); err != nil {
			return err
		}
	}
}

// take waits for something to happen and sees to it. An error ends the run.
func (h *Host) take(ctx context.Context) error {
	select {
	case e := <-h.events:
		return h.handle(ctx, e)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (h *Host) handle(ctx context.Context, e happening) error {
	m := e.member
	if e.message == nil {
		return h.left(m)
	}
	if hello := e.message.GetHello(); hello != nil {
		h.meet(m, hello)
		return nil
	}
	if h.members[m.at] != m {
		return nil // it was refused
	}
	switch what := e.message.What.(type) {
	case *control.FromRole_Ready:
		m.ready = true
	case *control.FromRole_Progress:
		h.watch.Progress(int(what.Progress.Steps))
	case *control.FromRole_Due:
		if err := h.watch.BeforeStep(int(what.Due.Step)); err != nil {
			return err
		}
		m.tell(&control.ToRole{What: &control.ToRole_Proceed{Proceed: &control.Proceed{}}})
	case *control.FromRole_Finished:
		m.finished = true
	case *control.FromRole_Records:
		m.add(what.Records)
	case *control.FromRole_Report:
		return m.take(what.Report)
	case *control.FromRole_Values:
		m.values = what.Values.Values
	case *control.FromRole_Network:
		m.network = &work.DenseValues{Params: what.Network.Params, Running: what.Network.Running}
	case *control.FromRole_Failure:
		return h.blame(ctx, what.Failure)
	}
	return nil
}

// left sees to the end of a member.
func (h *Host) left(m *member) error {
	if h.members[m.at] != m {
		return nil // it was refused
	}
	delete(h.members, m.at)
	if !h.began {
		return nil // it may join again
	}
	return fmt.Errorf("%v at %s has died: its connection broke", m.at, m.address)
}

// grace is how long the death of a role may take to be noticed here after
// another role has noticed.
const grace = 300 * time.Millisecond

// blame returns why the run has failed. A role that says it has lost another may
// be faster than the broken connection or the last words of that other, which are
// the reason then.
func (h *Host) blame(ctx context.Context, f *control.Failure) error {
	reason := errors.New(f.Reason)
	if f.Lost == "" {
		return reason
	}
	limit := time.After(grace)
	for {
		select {
		case e := <-h.events:
			if e.member.at.String() != f.Lost {
				continue
			}
			if e.message == nil {
				return cmp.Or(h.left(e.member), reason)
			}
			if own := e.message.GetFailure(); own != nil {
				return errors.New(own.Reason)
			}
		case <-limit:
			return reason
		case <-ctx.Done():
			return reason
		}
	}
}

// Wall returns the time from the first step to the end of the last.
func (h *Host) Wall() time.Duration { return h.wall }

// Report returns what a role has reported.
func (h *Host) Report(at msg.Address) train.Report { return *h.members[at].report }

// Records returns the events of all roles, in the order of their times, which is
// that of causality as far as the machines' clocks agree: on one machine, always.
// Memory: all of them, some 64 bytes each.
func (h *Host) Records() []event.Record {
	var all []event.Record
	for _, a := range h.plan.Roles {
		all = append(all, h.members[a].records...)
	}
	slices.SortStableFunc(all, func(a, b event.Record) int { return cmp.Compare(a.At, b.At) })
	return all
}

// partingMax is how long members are given to leave.
const partingMax = 3 * time.Second

// Close lets every member go, or stops them if the run has failed, and waits
// until they have left, for a few seconds.
func (h *Host) Close(failed error) {
	last := &control.ToRole{What: &control.ToRole_Exit{Exit: &control.Exit{}}}
	if failed != nil {
		last = &control.ToRole{What: &control.ToRole_Abort{Abort: &control.Abort{Reason: failed.Error()}}}
	}
	h.tell(last)
	close(h.over)
	left := make(chan struct{})
	go func() { h.server.GracefulStop(); close(left) }()
	select {
	case <-left:
	case <-time.After(partingMax):
	}
	h.server.Stop()
}
