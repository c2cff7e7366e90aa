package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"tandem/algo/exec"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/sim/cost"
	"tandem/sim/des"
	"tandem/sim/fabric"
	"tandem/sim/station"
)

// simulation is a running cluster: the roles, the resources that they use, and the tasks in between. It
// handles the events of the queue.
type simulation struct {
	*topology
	fold    *folding // nil: every rank is simulated
	prices  *cost.Prices
	options *Options
	config  *role.Config
	roster  role.Roster
	clock   des.Queue
	net     *fabric.Fabric
	netNext timer

	instances    []instance // in the order of the roster
	tasks        []task
	traces       []trace // by task
	cause        path    // of what happens now
	tracedSince  unit.Tick
	freeTasks    []int32 // free places of tasks
	accelerators []accelerator
	barrier      *role.Reduction
	reductions   *station.Lane // tasks of buckets under reduction or waiting for it
	reducing     int           // number of these tasks
	rowExchanges rowExchanges
	connections  map[[2]int32]*connection // in use, by sender and receiver
	unused       []*connection            // for the next pairs
	stations     station.Registry

	ends   []float64 // by bucket: its part of backward
	jitter generator

	numerics Numerics     // nil: only time passes
	rows     [][]int32    // with numbers, by batchIndex: distinct rows by PS, from split to done
	incoming exec.Payload // the payload of the message in hand

	out               role.Outputs
	dirty             []int32 // hosts
	ended             []station.Done
	arrived           []fabric.Completion
	finished          int32     // ranks that have trained every step
	progressed        unit.Tick // when a rank last had something to record
	checkedDeliveries unit.Tick // when messages under way were last looked at
	openTasks         int       // tasks under way
	err               error
	events, messages  int64
	sent              unit.Bytes // headers included
	received          unit.Bytes
	dropped           unit.Bytes                   // lost, or for a role that was away
	parcels           []fault.Parcel[exec.Payload] // a buffer
	injected          fault.Counts                 // of incarnations that have crashed
	observers         []event.Observer
	measurement       *measurement
	contract          *contractCheck // nil unless the run is checked
	recorder          *recorder      // nil unless a timeline is asked for
}

// accelerator is the accelerator of one rank with its two copy engines, and the thread on the host that
// launches its kernels.
type accelerator struct {
	launcher, kernels, copyIn, copyOut station.Serial
}

// The kinds of events. They are their own classes: at one instant transfers end first, then jobs, then
// everything timed.
const (
	transferEnds   int32 = iota
	jobEnds              // Target is the host, A 0 for its cores and 1 for its memory
	taskDue              // Target is the task
	timerFires           // Target is the role
	heldDue              // Target is the role
	roleReturns          // Target is the role
	bucketRepeated       // Target is a rank that is back, A the step and B the bucket
)

func newSimulation(p *cost.Prices, cfg *role.Config, o *Options) (*simulation, error) {
	r, err := newRates(o.Improve)
	if err != nil {
		return nil, err
	}
	f := newFolding(p, cfg, o)
	cfg = f.configOf(cfg)
	topology, err := newTopology(p, r, cfg, f)
	if err != nil {
		return nil, err
	}
	w := &simulation{
		topology: topology, fold: f,
		prices: p, options: o, config: cfg, roster: cfg.Roster(),
		accelerators: make([]accelerator, cfg.Ranks), reductions: station.NewLane(1),
		barrier: role.NewReduction(int(cfg.Ranks), len(cfg.Buckets)), ends: cost.BucketEnds(p.Layout),
		connections: map[[2]int32]*connection{},
	}
	w.jitter.draws = rand.New(&w.jitter.source)
	w.clock.Shuffle(o.ties)
	w.instances = newInstances(w)
	links := slices.Clone(w.graph.Links())
	for i := range links {
		links[i].Capacity *= unit.BytesPerSec(w.rates[bandwidth])
	}
	w.net = fabric.New(links)
	w.registerStations()
	if o.Observer != nil {
		w.observers = append(w.observers, o.Observer)
	}
	return w, nil
}

// run takes the cluster from the start of every role to the end of all work, or to the last measured step
// unless the whole run is needed.
func (w *simulation) run() error {
	if w.measurement.warmUp == 0 {
		w.measurement.mark(w, 0)
	}
	for i := range w.instances {
		w.handleInput(int32(i), role.Input{Kind: role.Start})
	}
	if w.err == nil {
		w.Settle(0)
		w.clock.Run(unit.Forever-1, w)
	}
	switch {
	case w.err != nil:
		return w.err
	case w.measurement.complete && !w.needsWholeRun():
		return nil
	case !w.trained() || w.openTasks > 0:
		return fmt.Errorf(
			"cluster: after %v nothing can happen any more, but only %d of %d ranks have "+
				"finished and %d tasks are open",
			w.clock.Now(),
			w.finished,
			w.config.Ranks,
			w.openTasks,
		)
	}
	for i := range w.instances {
		if n := &w.instances[i]; n.away {
			if w.config.CanRestart(n.at.Role) {
				continue // it holds nothing
			}
			w.restart(int32(i))
		}
		w.handleInput(int32(i), role.Input{Kind: role.Stop})
	}
	if w.err == nil && w.contract != nil {
		w.err = w.contract.checkEnd()
	}
	return w.err
}

// fail stops the run with the first error.
func (w *simulation) fail(err error) {
	if err != nil && w.err == nil {
		w.err = err
		w.clock.Stop()
	}
}

// needsWholeRun reports whether the run must go on to its end.
func (w *simulation) needsWholeRun() bool {
	return w.contract != nil || w.numerics != nil || w.options.Observer != nil || w.faultPlan().Any()
}

func (w *simulation) observe(r event.Record) {
	if r.Role.Role == msg.NNWorker {
		w.progressed = r.At
	}
	w.measurement.observe(w, r)
	if w.measurement.complete && !w.needsWholeRun() {
		w.clock.Stop()
	}
	for _, o := range w.observers {
		o.Observe(r)
	}
	w.forgetBatch(r)
}

// Handle implements des.Handler.
func (w *simulation) Handle(e des.Event) {
	w.events++
	now := e.At
	switch e.Kind {
	case transferEnds:
		w.netNext = timer{}
		w.arrived = w.net.Finished(now, w.arrived[:0])
		for _, c := range w.arrived {
			i := int32(c.Tag)
			message := w.tasks[i].kind == delivering
			w.endActivity(i, bandwidth)
			if message {
				w.leaveConnection(i)
			}
		}
	case jobEnds:
		h := &w.hosts[e.Target]
		on := h.coreRate()
		if e.A == 1 {
			on = h.memoryRate()
		}
		h.next[e.A] = timer{}
		w.ended = h.resource(e.A).Finished(now, w.ended[:0])
		w.markDirty(e.Target)
		for _, d := range w.ended {
			if e.A == 0 && !w.endTimeSlice(h, int32(d.Tag)) {
				continue
			}
			w.endActivity(int32(d.Tag), on)
		}
	case taskDue:
		w.endActivity(e.Target, w.traces[e.Target].on)
	case timerFires:
		w.fireTimer(e.Target)
	case heldDue:
		w.sendHeld(e.Target)
	case roleReturns:
		w.restart(e.Target)
	case bucketRepeated:
		n := &w.instances[e.Target]
		if !n.away {
			w.handleInput(e.Target, bucketReduced(n.at.Index, int32(e.A), int32(e.B)))
		}
	}
}

// resource returns the host's cores (0) or memory (1).
func (h *host) resource(which int64) *station.Shared {
	if which == 0 {
		return h.cores
	}
	return h.bus
}

// Settle implements des.Handler: it computes the next ends on the resources that changed at this instant.
func (w *simulation) Settle(now unit.Tick) {
	for _, i := range w.dirty {
		h := &w.hosts[i]
		h.dirty = false
		for which := range int64(2) {
			at, ok := h.resource(which).NextFinish()
			w.reschedule(&h.next[which], at, ok,
				des.Event{Class: jobEnds, Source: i, Kind: jobEnds, Target: i, A: which})
		}
	}
	w.dirty = w.dirty[:0]
	w.recorder.read(now)
	w.net.Settle(now)
	at, ok := w.net.NextFinish()
	w.reschedule(&w.netNext, at, ok, des.Event{Class: transferEnds, Kind: transferEnds})
}

// markDirty marks a host whose jobs changed.
func (w *simulation) markDirty(i int32) {
	if h := &w.hosts[i]; !h.dirty {
		h.dirty = true
		w.dirty = append(w.dirty, i)
	}
}

// roleIndex returns the number of a role.
func (w *simulation) roleIndex(a msg.Address) int32 {
	i, _ := w.roster.Index(a)
	return int32(i)
}

// roleOfRank returns the number of the role of a rank.
func (w *simulation) roleOfRank(rank int32) int32 {
	return w.roleIndex(msg.Address{Role: msg.NNWorker, Index: rank})
}

// trained reports whether every rank has trained every step.
func (w *simulation) trained() bool { return w.finished == w.config.Ranks }
