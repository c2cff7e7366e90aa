package member

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/runtime/driver"
	"tandem/runtime/grpcnet"
	"tandem/runtime/identity"
	"tandem/runtime/member/control"
)

// Plan describes a run to its Host.
type Plan struct {
	Job       []byte        // fingerprint of the resolved job, which every process must have
	Data      []byte        // fingerprint of the data files, which the data loader must have
	Processes []job.Process // processes that must join; together they have every role of the run once
	// Seats are the roles with which each of Processes was started, by which it joins, if it has other ones
	// in this run. Nil: each has those with which it was started.
	Seats []job.Process
	// Spare are the seats of processes without a role in this run. They may join, and wait for its end.
	Spare []job.Process
	// GatherLimit is how long processes may take to join; 0: any time. The error of a run that misses some
	// then is a *driver.LostError with Absent.
	GatherLimit time.Duration
	Ranks       int // number of NN workers
	// Restartable reports whether a role recovers from a crash in this run; nil stands for role.CanRestart.
	Restartable func(msg.Role) bool
	Schema      *batch.Schema
	Steps       int // of this run
	Origin      driver.Origin
	// Before is the id of the run whose end is the origin, if the processes of that run hold it.
	Before []byte
	// Export is what these processes may still be writing; nil: nothing.
	Export *driver.Export
	// Redo is the folder, on the machine of each process, in which the roles keep their inputs that cannot
	// restart otherwise (role.CanRedo). Empty: they do not, and do not come back.
	Redo string
	// Later says that the run has had a part before: its processes may still be on their way from it, and one
	// that ends before it joins is started again.
	Later bool
	// Drains says that the run drains when a process is asked to end; otherwise it fails.
	Drains bool
	// HangLimit is how long a member, or the host, may be silent; 0 stands for DefaultHangLimit. The run
	// survives a pause that is shorter.
	HangLimit time.Duration
	// ReturnLimit is how long a process that died may take until it is ready again; 0 stands for
	// DefaultReturnLimit.
	ReturnLimit time.Duration
	// DeathsMax is the number of deaths that each process whose roles can all restart may recover from. With
	// 0, every death ends the run.
	DeathsMax int
	// Identity, if not nil, makes every connection one of TLS. Each process must have a certificate of the
	// run, with the roles by which it joins.
	Identity *identity.Identity
	// Refused, if not nil, receives the kind of every refusal, one of a fixed set. It may be called by
	// several goroutines.
	Refused func(kind string)
	// Log, if not nil, receives lines about refusals, deaths and returns. It may be called by several
	// goroutines.
	Log func(line string)
}

func (p *Plan) canRestart(r msg.Role) bool { return p.restarts(r) || p.redoes(r) }

// restarts reports whether a role recovers with an empty state.
func (p *Plan) restarts(r msg.Role) bool {
	if p.Restartable == nil {
		return role.CanRestart(r)
	}
	return p.Restartable(r)
}

// redoes reports whether a role recovers by its redo log.
func (p *Plan) redoes(r msg.Role) bool { return p.Redo != "" && !p.restarts(r) && role.CanRedo(r) }

// Callbacks are the functions that the Host calls during a run, from one goroutine.
type Callbacks struct {
	driver.Callbacks
	// Gathering is called with the processes that have yet to join, each time that the list changes. It must
	// not be nil.
	Gathering func(missing []job.Process)
	// Died, if not nil, returns why a process has ended. It returns "" if the process has not ended or the
	// reason is unknown. It may wait for half a second.
	Died func(p job.Process, incarnation uint32) string
	// Restart, if not nil, starts a process again, as an incarnation. If it is nil, the user is expected to
	// start the process. An error ends the run.
	Restart func(p job.Process, incarnation uint32) error
}

// phase is the stage of a run.
type phase int

const (
	gathering  phase = iota // processes join and may leave
	connecting              // all processes have joined and connect to each other
	training
	stopped // every rank has finished
)

// Host is the centre of a run: all processes have a stream to it. Its methods are for one goroutine, except
// for Run, Drain and Ended.
type Host struct {
	plan      Plan
	run       [16]byte
	build     string // commit of this program, which processes must share if it is known
	schema    []byte
	callbacks Callbacks
	server    *grpc.Server
	listener  net.Listener
	events    chan func() error // events for the host's goroutine; an error ends the run
	over      chan struct{}     // closed when events are no longer handled
	refusals  grpcnet.Refusals

	processes []*process // in the order of the plan
	byRole    map[msg.Address]*process
	bySeat    map[msg.Address]*process // by each of the roles with which a process was started
	spares    []*process
	absent    []job.Process // seats that have not come back in time
	view      uint32
	merger    *merger // of the records of all roles
	phase     phase
	begun     time.Time   // start of training
	draining  bool        // the run is to end as soon as possible
	calling   bool        // Callbacks.BeforeStep
	progress  int         // steps that were last reported
	continues atomic.Bool // the run goes on with another Host
	failed    error       // why the run has failed; nil if it has not
	wall      time.Duration
	export    *driver.Export // the latest, maybe of an earlier part of the run; nil: none
}

// NewHost serves a run at a listener until Close. The Host owns the listener.
func NewHost(l net.Listener, plan Plan) (*Host, error) {
	h, err := newHost(plan)
	if err != nil {
		return nil, err
	}
	h.listener = l
	var options []grpc.ServerOption
	if own := h.plan.Identity; own != nil {
		options = append(options, grpc.Creds(own.Server(func(from net.Addr, why *identity.Refused) {
			h.note(machineOf(from), &refusal{string(why.Reason), why.Error()})
		})))
	}
	h.server = grpcnet.NewServer(limits(h.plan.HangLimit), options...)
	h.server.RegisterService(&service, h)
	limited := limitConnections(l, len(h.processes)+len(h.spares), func(from net.Addr) {
		h.note(machineOf(from), refuse("connections", "the run has %d processes, and %d connections are open",
			len(h.processes)+len(h.spares), len(h.processes)+len(h.spares)+extraConnections))
	})
	go func() { _ = h.server.Serve(limited) }() // Serve ends with Close
	return h, nil
}

// newHost makes a Host that does not serve yet.
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
		plan: plan, export: plan.Export, build: Build(), schema: schema, events: make(chan func() error),
		over:     make(chan struct{}),
		refusals: grpcnet.Refusals{Log: plan.Log, Counted: plan.Refused}, byRole: map[msg.Address]*process{},
		bySeat: map[msg.Address]*process{},
	}
	if _, err := rand.Read(h.run[:]); err != nil {
		return nil, err
	}
	for i, p := range plan.Processes {
		s := &process{seat: p, roles: p, due: -1, firstRole: len(h.byRole), recorded: make([]int64, len(p)),
			again: make([]int64, len(p))}
		if plan.Seats != nil {
			s.seat = plan.Seats[i]
		}
		h.processes = append(h.processes, s)
		for _, at := range p {
			h.byRole[at] = s
		}
	}
	for _, seat := range plan.Spare {
		h.spares = append(h.spares, &process{seat: seat})
	}
	for _, s := range slices.Concat(h.processes, h.spares) {
		for _, at := range s.seat {
			h.bySeat[at] = s
		}
	}
	h.merger = newMerger(len(h.byRole), plan.Ranks, h.servers(),
		func(r event.Record) { h.callbacks.Observe(r) })
	return h, nil
}

// Run returns the id of the run: 128 random bits.
func (h *Host) Run() [16]byte { return h.run }

// Train gathers the processes and makes them train. It returns when every step is trained and every process
// has sent its report. The error names the process at fault. It is driver.ErrNotBegun if Drain is called
// while processes are missing.
func (h *Host) Train(ctx context.Context, callbacks Callbacks) error {
	h.callbacks = callbacks
	if err := h.gather(ctx); err != nil {
		return err
	}
	h.phase = connecting
	for _, s := range h.processes {
		s.member.send(h.welcome(s))
	}
	if err := h.await(ctx, func(s *process) bool { return s.member.ready }); err != nil {
		return err
	}
	h.callbacks.Started(h.Drain)
	h.phase = training
	h.begun = time.Now()
	for _, s := range h.processes {
		h.begin(s, nil)
	}
	h.sendDrain()
	finished := func(s *process) bool { return !s.hasRank() || s.member != nil && s.member.finished }
	if err := h.await(ctx, finished); err != nil {
		return err
	}
	h.wall = time.Since(h.begun)
	h.phase = stopped
	h.broadcast(&control.ToMember{What: &control.ToMember_Stop{Stop: &control.Stop{}}})
	reported := func(s *process) bool { return s.report != nil || s.member == nil && !s.roles.HoldsModel() }
	if err := h.await(ctx, reported); err != nil {
		return err
	}
	h.merger.merge(true)
	return nil
}

// gather waits until every process has joined.
func (h *Host) gather(ctx context.Context) error {
	if limit := h.plan.GatherLimit; limit > 0 {
		defer time.AfterFunc(limit, func() { h.post(h.gatheredLate) }).Stop()
	}
	for len(h.missing()) > 0 {
		if h.draining {
			return fmt.Errorf("%w; %d are missing, next: %v", driver.ErrNotBegun, len(h.missing()),
				h.missing()[0])
		}
		h.callbacks.Gathering(h.missing())
		if err := h.handleNext(ctx); err != nil {
			return err
		}
	}
	return nil
}

// gatheredLate ends the run if processes are still missing at the end of the limit.
func (h *Host) gatheredLate() error {
	if h.phase != gathering {
		return nil
	}
	h.absent = h.missing()
	return &driver.LostError{Absent: true,
		Reason: fmt.Sprintf("%v has not come back within %v", h.absent[0], h.plan.GatherLimit)}
}

// Absent returns the seats of processes that were awaited and have not come back in time, after Train has
// returned.
func (h *Host) Absent() []job.Process { return h.absent }

// Waiting returns the seats of the processes that have joined without a role in this run, after Train has
// returned.
func (h *Host) Waiting() (all []job.Process) {
	for _, s := range h.spares {
		if s.member != nil {
			all = append(all, s.seat)
		}
	}
	return all
}

// Drain requests that the run end as soon as possible, with all work on the steps that have begun done. It
// may be called from any goroutine, and does not wait.
func (h *Host) Drain() {
	go h.post(func() error {
		h.draining = true
		h.sendDrain()
		return nil
	})
}

// sendDrain passes the request to drain, if there is one, to the data loader. If its process is away, its
// welcome says so.
func (h *Host) sendDrain() {
	s := h.byRole[msg.Address{Role: msg.DataLoader}]
	if h.draining && h.phase == training && s.member != nil {
		s.member.send(&control.ToMember{What: &control.ToMember_Drain{Drain: &control.Drain{}}})
	}
}

// missing returns the processes that have not joined or are away.
func (h *Host) missing() (all []job.Process) {
	for _, s := range h.processes {
		if s.member == nil {
			all = append(all, s.seat)
		}
	}
	return all
}

// broadcast sends a message to every member.
func (h *Host) broadcast(message *control.ToMember) {
	for _, s := range h.processes {
		if s.member != nil {
			s.member.send(message)
		}
	}
}

// await handles events until a condition holds for every process.
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
		h.failed = handle()
		return h.failed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// post makes the host's goroutine handle an event. It returns true when that begins, or false if the run is
// over.
func (h *Host) post(handle func() error) bool {
	select {
	case h.events <- handle:
		return true
	case <-h.over:
		return false
	}
}

// Wall returns the time from the first step to the end of the last step.
func (h *Host) Wall() time.Duration { return h.wall }

// Reports returns the report of each process. A process that died after the last step has an empty report.
func (h *Host) Reports() []driver.Report {
	all := make([]driver.Report, len(h.processes))
	for i, s := range h.processes {
		if s.report != nil {
			all[i] = *s.report
		}
	}
	return all
}

const (
	// closeTimeout is how long members may take to leave.
	closeTimeout = 3 * time.Second
	// abandonTimeout is how long they may take to abandon a part of the run.
	abandonTimeout = 3 * time.Second / 2
)

// Close ends the run for every member: with success, or with the reason failed if it is not nil. It waits a
// few seconds for the members to leave.
func (h *Host) Close(failed error) {
	last := &control.ToMember{What: &control.ToMember_Exit{Exit: &control.Exit{}}}
	if failed != nil {
		last = abort(failed.Error())
	}
	h.close(last, closeTimeout)
}

// CloseContinued ends a part of the run, which may have failed, and asks every member to join the Host that
// serves the next part at the same address. It returns the seats of the processes that cannot do so: those
// that are no members, and those that do not leave in time.
//
// This Host stops listening first: it would refuse a member that is quick to come back, as too late.
func (h *Host) CloseContinued() (away []job.Process) {
	h.continues.Store(true)
	_ = h.listener.Close() // members whose streams are open do not need it
	if h.failed == nil {
		return h.close(&control.ToMember{What: &control.ToMember_Exit{Exit: &control.Exit{Continues: true}}},
			closeTimeout)
	}
	last := abort(h.failed.Error())
	last.GetAbort().Continues = true
	return h.close(last, abandonTimeout)
}

// close sends the last message to every member and waits for them to leave. It returns the seats of those
// that are no members or do not leave in time.
func (h *Host) close(last *control.ToMember, timeout time.Duration) (away []job.Process) {
	h.broadcast(last)
	for _, s := range h.spares {
		if s.member != nil {
			s.member.send(last)
		}
	}
	close(h.over)
	left := make(chan struct{})
	go func() { h.server.GracefulStop(); close(left) }()
	select {
	case <-left:
	case <-time.After(timeout):
	}
	for _, s := range slices.Concat(h.processes, h.spares) {
		switch {
		case s.member == nil && len(s.roles) == 0: // it may be on its way
		case s.member == nil || s.member.hung.Load() || !s.member.hasLeft():
			away = append(away, s.seat)
		}
	}
	h.server.Stop()
	h.refusals.LogCounts()
	return away
}
