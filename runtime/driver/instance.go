package driver

import (
	"sync"
	"sync/atomic"

	"tandem/algo/exec"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// instance is one role with its goroutines. The method loop owns the state machine and the fields below it;
// the method runLane does work of one lane.
type instance struct {
	run     *run
	address msg.Address
	rank    int // of an NN worker: its index in run.ranks
	inbox   *queue[delivery]
	lanes   [role.Lanes]*lane
	stopped chan struct{} // closed when the role has handled Stop
	log     Log           // nil unless the run is recorded
	redo    RedoLog       // nil unless the role comes back by it

	state       role.Role
	incarnation atomic.Uint32
	store       *exec.Store
	credit      *role.Credit
	working     int           // number of pieces of work that are queued or running
	timer       uint64        // number of the latest timer that was set
	payload     exec.Payload  // of the message being handled
	free        func()        // of that payload: see Local.Deliver
	letters     []exec.Letter // sent to other processes since the last flush
	away        bool          // crashed, until Start
	stopping    bool          // Stop has arrived and waits for the work in flight
	ended       bool          // Stop was handled
	finished    bool          // of a rank: it has trained every step
	applied     atomic.Int32  // of a rank: the number of steps that its parameters have
	gone        atomic.Bool   // of a rank: as away, for other goroutines
	crashes     fault.Schedule
	ends        []delivery                  // of work, while a role that has a redo log is away
	redoing     bool                        // inputs of the redo log are replayed
	redoAt      unit.Tick                   // time of the input that is replayed
	redone      role.LaneQueues[role.Input] // ends of the work of replayed inputs
	outbox      *outbox                     // nil if the run has no faults
	injected    fault.Counts
}

// delivery is one input of a role, with the payload of its message if it has one.
type delivery struct {
	input   role.Input
	payload exec.Payload
	free    func() // see Local.Deliver
	issue   uint64 // of work, the incarnation that queued it; of TimerFired, the number of the timer
	remote  bool   // the message comes from another process
	back    bool   // no input: a role that has a redo log is back
}

func newInstance(r *run, state role.Role) *instance {
	n := &instance{
		run: r, address: state.Address(), state: state, inbox: newQueue[delivery](),
		stopped: make(chan struct{}),
		store:   exec.NewStore(), credit: role.NewCredit(r.cfg), away: true,
	}
	n.incarnation.Store(r.options.Incarnation)
	if f := r.options.Faults; f != nil && f.Any() {
		n.crashes, n.outbox = f.Schedule(n.address), newOutbox(r, n.address, r.options.Incarnation)
	}
	for i := range n.lanes {
		n.lanes[i] = newLane()
	}
	n.inbox.push(delivery{input: n.startInput()})
	return n
}

func (n *instance) start(goroutines *sync.WaitGroup) {
	goroutines.Go(n.loop)
	for _, l := range n.lanes {
		for range n.workers() {
			goroutines.Go(func() { n.runLane(l) })
		}
	}
}

func (n *instance) close() {
	n.inbox.close()
	for _, l := range n.lanes {
		l.tasks.close()
	}
}

// receive passes a message from a role of this process, with its payload.
func (n *instance) receive(m msg.Message, payload exec.Payload, free func()) {
	n.inbox.push(delivery{input: role.Input{Kind: role.Received, Message: m}, payload: payload, free: free})
}

// loop is the goroutine that owns the state machine. It handles all deliveries that have arrived before it
// sends what they cause to other processes, so that one process receives it as one packet.
func (n *instance) loop() {
	var arrived []delivery
	var out role.Outputs
	for {
		var ok bool
		if arrived, ok = n.inbox.takeAll(arrived); !ok {
			return
		}
		for i := range arrived {
			if err := n.handleOrStop(&arrived[i], &out); err != nil {
				n.run.fail(err)
				return
			}
		}
		if err := n.flush(); err != nil {
			n.run.fail(err)
			return
		}
	}
}

// handleOrStop handles a delivery. It stops the role if that was requested and no work is in flight any more.
func (n *instance) handleOrStop(d *delivery, out *role.Outputs) error {
	if err := n.handle(d, out); err != nil || !n.stopping || n.working > 0 || n.ended {
		return err
	}
	n.ended = true // later deliveries are dropped
	if err := n.step(&delivery{input: role.Input{Kind: role.Stop}}, out); err != nil {
		return err
	}
	if err := n.flush(); err != nil { // the run may be over as soon as the role has stopped
		return err
	}
	close(n.stopped)
	return nil
}

// handle passes a delivery to the role, unless the delivery is late or the role crashes instead.
func (n *instance) handle(d *delivery, out *role.Outputs) error {
	switch {
	case d.back || d.input.Kind == role.Stop && n.away && !n.run.cfg.CanRestart(n.address.Role):
		n.stopping = n.stopping || !d.back
		return n.comeBack(out)
	case d.remote && !n.acceptRemote(d):
		return nil
	case n.endsWhileAway(d):
		return nil
	case d.input.Kind == role.Stop:
		n.stopping = true
		if !n.away {
			return nil
		}
		d.input = n.startInput() // so that a recording contains the crash
	case n.isLate(d):
		return nil
	case !n.stopping:
		if away, due := n.crashes.Due(d.input.Step()); due {
			n.crash(away, d)
			return nil
		}
	}
	switch d.input.Kind {
	case role.Start:
		if n.address.Role == msg.NNWorker && d.input.Incarnation > 0 {
			d.input.Next, d.input.Bucket = n.run.open()
		}
		n.away = false
		n.applied.Store(d.input.Next)
		n.gone.Store(false)
	case role.WorkDone, role.WorkFailed:
		n.working--
		if d.input.Work.Kind == role.DenseApply {
			n.applied.Store(d.input.Work.Step + 1)
		}
	}
	if err := n.step(d, out); err != nil || !n.lostDrain(d) {
		return err
	}
	return n.step(&delivery{input: role.Input{Kind: role.Drain}}, out)
}

// lostDrain reports whether the role begins again and may have lost a request to end the run.
func (n *instance) lostDrain(d *delivery) bool {
	return d.input.Kind == role.Start && d.input.Incarnation > 0 && n.address.Role == msg.DataLoader &&
		n.run.draining.Load()
}

// isLate reports whether a delivery must be dropped: because the role is crashed, because a crash or a later
// timer has made the delivery void, or because every rank has finished.
func (n *instance) isLate(d *delivery) bool {
	switch d.input.Kind {
	case role.Start:
		return !n.away
	case role.Received:
		return n.away || n.stopping
	case role.TimerFired:
		return n.stopping || d.issue != n.timer
	case role.WorkPart, role.WorkDone, role.WorkFailed:
		return d.issue != uint64(n.incarnation.Load())
	}
	return n.away
}

// acceptRemote reports whether a message from another process may be handled, and notifies Remote.
func (n *instance) acceptRemote(d *delivery) bool {
	m := d.input.Message
	var refused error
	if !n.isLate(d) {
		if refused = role.CheckCredit(n.run.cfg, n.state, m); refused == nil {
			refused = n.run.executor.Admission().CheckHeld(n.store, m, d.payload)
		}
	}
	n.run.remote.Handled(m, refused)
	return refused == nil
}

// step passes one input to the role and performs its outputs.
func (n *instance) step(d *delivery, out *role.Outputs) error {
	if d.input.Kind == role.Received {
		n.credit.Received(d.input.Message)
	}
	now := n.run.now()
	if n.redoing {
		now = n.redoAt
	}
	if err := n.keepInput(now, d); err != nil {
		return err
	}
	out.Reset()
	n.state.HandleInput(now, d.input, out)
	if n.log != nil {
		if err := n.log.Step(now, &d.input, d.payload, out.List); err != nil {
			return err
		}
	}
	n.payload, n.free = d.payload, d.free
	return role.Dispatch(&d.input, out, n)
}

// scheduleTimer fires the timer with a number, at a time.
func (n *instance) scheduleTimer(at unit.Tick, number uint64) {
	n.run.clock.schedule(at, func() {
		n.inbox.push(delivery{input: role.Input{Kind: role.TimerFired}, issue: number})
	})
}
