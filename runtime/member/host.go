package member

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"net"
	"time"

	"google.golang.org/grpc"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/runtime/driver"
	"tandem/runtime/grpcnet"
	"tandem/runtime/member/control"
)

// Plan is what a run consists of.
type Plan struct {
	Job       []byte        // fingerprint of the resolved job, which every process must have
	Data      []byte        // fingerprint of the data files, which the data loader must have
	Processes []job.Process // that must join; together every role of the run, once
	Ranks     int           // NN workers among the roles
	// Restartable reports whether a role of the run recovers from a crash; nil: role.CanRestart.
	Restartable func(msg.Role) bool
	Schema      *batch.Schema
	Steps       int
	// HangLimit is how long a member, or the host, may be silent; 0 is
	// DefaultHangLimit. A pause below it is survived.
	HangLimit time.Duration
	// ReturnLimit is how long a process that died may take until it is ready again; 0 is
	// DefaultReturnLimit.
	ReturnLimit time.Duration
	// DeathsMax is how often a process whose roles can all restart may die and come back; 0:
	// every death ends the run.
	DeathsMax int
	// Log, if not nil, takes lines about refusals, deaths and returns. It may be called
	// by several goroutines.
	Log func(line string)
}

func (p *Plan) canRestart(r msg.Role) bool {
	if p.Restartable == nil {
		return role.CanRestart(r)
	}
	return p.Restartable(r)
}

// Callbacks has what the Host calls during a run, from one goroutine.
type Callbacks struct {
	driver.Callbacks
	Gathering func(missing []job.Process) // processes that have yet to join, whenever that changes; not nil
	// Died, if not nil, returns why a process has ended, or "" if it has not ended or that is
	// not known. It may wait for half a second.
	Died func(p job.Process, incarnation uint32) string
	// Restart, if not nil, starts a process again, as an incarnation. If it is nil, the
	// process is awaited. An error ends the run.
	Restart func(p job.Process, incarnation uint32) error
}

// phase is how far a run is.
type phase int

const (
	gathering  phase = iota // processes join, and may leave
	connecting              // all have joined and reach each other
	training
	stopped // every rank has finished
)

// Host is the centre of a run. Its methods are for one goroutine, except for Run and
// Ended.
type Host struct {
	plan      Plan
	run       [16]byte
	build     string // that processes must be of, where both are known
	schema    []byte
	callbacks Callbacks
	server    *grpc.Server
	events    chan func() error // for the host's goroutine; an error ends the run
	over      chan struct{}     // closed when no event is handled any more
	refusals  grpcnet.Refusals

	processes []*process // by process of the plan
	byRole    map[msg.Address]*process
	view      uint32
	phase     phase
	begun     time.Time // training
	wall      time.Duration
}

// NewHost serves a run at a listener, which it takes over, until Close.
func NewHost(l net.Listener, plan Plan) (*Host, error) {
	h, err := newHost(plan)
	if err != nil {
		return nil, err
	}
	h.server = grpcnet.NewServer(limits(h.plan.HangLimit))
	h.server.RegisterService(&service, h)
	go func() { _ = h.server.Serve(limitConnections(l, len(plan.Processes))) }() // it ends with Close
	return h, nil
}

// newHost makes a host that does not listen yet.
func newHost(plan Plan) (*Host, error) {
	plan.HangLimit = cmp.Or(plan.HangLimit, DefaultHangLimit)
	plan.ReturnLimit = cmp.Or(plan.ReturnLimit, DefaultReturnLimit)
	if plan.Log == nil {
		plan.Log = func(string) {}
	}
	schema, err := json.Marshal(plan.Schema)
	if err != nil {
		return nil, err
	}
	h := &Host{
		plan: plan, build: Build(), schema: schema, events: make(chan func() error), over: make(chan struct{}),
		refusals: grpcnet.Refusals{Log: plan.Log}, byRole: map[msg.Address]*process{},
	}
	if _, err := rand.Read(h.run[:]); err != nil {
		return nil, err
	}
	for _, p := range plan.Processes {
		s := &process{roles: p, due: -1, records: make([][]event.Record, len(p))}
		h.processes = append(h.processes, s)
		for _, at := range p {
			h.byRole[at] = s
		}
	}
	return h, nil
}

// Run returns the id of the run: 128 random bits.
func (h *Host) Run() [16]byte { return h.run }

// Train gathers the processes, has them train, and returns when every step is
// trained and every process has reported what it holds. The error says which
// process is at fault.
func (h *Host) Train(ctx context.Context, watch Callbacks) error {
	h.callbacks = watch
	for len(h.missing()) > 0 {
		h.callbacks.Gathering(h.missing())
		if err := h.handleNext(ctx); err != nil {
			return err
		}
	}
	h.phase = connecting
	for _, s := range h.processes {
		s.member.send(h.welcome(s))
	}
	if err := h.await(ctx, func(s *process) bool { return s.member.ready }); err != nil {
		return err
	}
	h.callbacks.Started()
	h.phase = training
	h.begun = time.Now()
	h.broadcast(h.goMessage())
	finished := func(s *process) bool { return !s.hasRank() || s.member.finished }
	if err := h.await(ctx, finished); err != nil {
		return err
	}
	h.wall = time.Since(h.begun)
	h.phase = stopped
	h.broadcast(&control.ToRole{What: &control.ToRole_Stop{Stop: &control.Stop{}}})
	return h.await(ctx, func(s *process) bool { return s.member == nil || s.report != nil })
}

// missing returns the processes that have not joined, or are away.
func (h *Host) missing() (all []job.Process) {
	for _, s := range h.processes {
		if s.member == nil {
			all = append(all, s.roles)
		}
	}
	return all
}

// broadcast sends a message to every member.
func (h *Host) broadcast(message *control.ToRole) {
	for _, s := range h.processes {
		if s.member != nil {
			s.member.send(message)
		}
	}
}

// await handles events until a condition holds for every seat.
func (h *Host) await(ctx context.Context, holds func(*process) bool) error {
	for {
		all := true
		for _, s := range h.processes {
			all = all && holds(s)
		}
		if all {
			return nil
		}
		if err := h.handleNext(ctx); err != nil {
			return err
		}
	}
}

// handleNext waits for an event and handles it. An error ends the run.
func (h *Host) handleNext(ctx context.Context) error {
	select {
	case handle := <-h.events:
		return handle()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// post has the host's goroutine handle an event, and returns once it begins to. It
// returns false if the run is over.
func (h *Host) post(handle func() error) bool {
	select {
	case h.events <- handle:
		return true
	case <-h.over:
		return false
	}
}

// Wall returns the time from the first step to the end of the last.
func (h *Host) Wall() time.Duration { return h.wall }

// Reports returns what the processes have reported: nothing those that died after the last step.
func (h *Host) Reports() []driver.Report {
	all := make([]driver.Report, len(h.processes))
	for i, s := range h.processes {
		if s.report != nil {
			all[i] = *s.report
		}
	}
	return all
}

// Records returns the events of all roles in an order that respects causality: see
// mergeRecords. Memory: all of them, some 64 bytes each.
func (h *Host) Records() []event.Record {
	var all [][]event.Record
	for _, s := range h.processes {
		all = append(all, s.records...)
	}
	return mergeRecords(all, h.servers())
}

// closeMax is how long members have to leave.
const closeMax = 3 * time.Second

// Close lets every member go, or stops them if the run has failed, and waits
// until they have left, for a few seconds.
func (h *Host) Close(failed error) {
	last := &control.ToRole{What: &control.ToRole_Exit{Exit: &control.Exit{}}}
	if failed != nil {
		last = abort(failed.Error())
	}
	h.broadcast(last)
	close(h.over)
	left := make(chan struct{})
	go func() { h.server.GracefulStop(); close(left) }()
	select {
	case <-left:
	case <-time.After(closeMax):
	}
	h.server.Stop()
	h.refusals.LogCounts()
}
