package cluster

import (
	"tandem/algo/exec"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/sim/des"
	"tandem/sim/station"
)

// instance is one role instance with all that the simulator keeps for it. It is the role.Driver of the role's
// outputs.
type instance struct {
	*simulation
	index int32 // by the roster
	at    msg.Address
	role  role.Role
	lanes [role.Lanes]*station.Lane // of tasks
	// threads are the service threads of each lane, of one of the instances that the role stands for.
	threads int
	timer   timer                 // of SetTimer, or while the role is away, of its return
	slow    float64               // how many times as long its work takes
	owed    [role.Lanes]unit.Tick // what the waits of a slow role were too short, or below 0 too long

	incarnation uint32 // crashes so far
	away        bool
	ended       bool                          // of a rank: it has trained every step
	ends        []role.Input                  // of work, while a role that has a redo log is away
	schedule    fault.Schedule                // of crashes
	injector    *fault.Injector[exec.Payload] // of faults in messages; nil if the run has no faults
	held        timer                         // when the injector must be flushed
}

// newInstances makes the roles of a run.
func newInstances(w *simulation) []instance {
	roles := role.New(w.config)
	list := make([]instance, len(roles))
	for i, r := range roles {
		list[i] = instance{simulation: w, index: int32(i), at: r.Address(), role: r,
			slow: w.prices.Job.Slow.Factor(r.Address())}
		threads := w.places[i].service.Threads
		switch on := w.threadsOf(int32(i), r.Address().Role); {
		case w.places[i].service.AllCores:
			threads = w.rates.count(w.hosts[w.places[i].host].coreRate(), threads)
		case on != noResource:
			threads = w.rates.count(on, threads)
		}
		list[i].threads = threads
		threads = w.fold.laneOf(&w.places[i], r.Address().Role, threads)
		for k := range list[i].lanes {
			list[i].lanes[k] = station.NewLane(threads)
		}
		if p := w.faultPlan(); p.Any() {
			list[i].schedule, list[i].injector = p.Schedule(r.Address()), fault.NewInjector[exec.Payload](p,
				r.Address(), 0)
		}
	}
	return list
}

// handleInput gives a role one input and performs its outputs, unless the role crashes instead.
func (w *simulation) handleInput(i int32, in role.Input) {
	n := &w.instances[i]
	if n.injector != nil && (n.defersInput(&in) || n.crashIfDue(&in)) {
		return
	}
	if w.contract != nil {
		w.fail(w.contract.checkInput(i, &in))
	}
	w.out.Reset()
	n.role.HandleInput(w.clock.Now(), in, &w.out)
	w.fail(role.Dispatch(&in, &w.out, n))
}

// Send implements role.Driver.
func (n *instance) Send(m msg.Message, h role.Handle) error {
	if n.contract != nil {
		if err := n.contract.checkSend(n.index, m, h); err != nil {
			return err
		}
	}
	var payload exec.Payload
	if n.numerics != nil {
		payload = n.numerics.Payload(m, h)
	}
	if n.injector != nil {
		n.transmit(m, payload)
	} else {
		n.send(n.index, fault.Parcel[exec.Payload]{Message: m, Payload: payload}, false)
	}
	return nil
}

// QueueWork implements role.Driver. The service threads of a lane take work in the order of its issue.
func (n *instance) QueueWork(work role.Work, o role.Operands) error {
	if n.contract != nil {
		if err := n.contract.checkReads(n.index, o.Reads...); err != nil {
			return err
		}
	}
	t := n.openTask(task{kind: working, role: n.index, incarnation: n.incarnation, work: work, operands: o})
	lane := n.lanes[work.Kind.Lane()]
	n.recorder.queue(n.simulation, t)
	if lane.Push(n.clock.Now(), t) {
		n.recorder.begin(n.simulation, lane, t)
		n.proceed(t)
	}
	return nil
}

// Feed implements role.Driver.
func (n *instance) Feed(c role.Contribution) error {
	if n.contract != nil {
		n.contract.addHeld(n.index, c.Sum)
	}
	if n.numerics != nil {
		n.numerics.Feed(n.at, c)
	}
	n.recorder.feed(n.simulation, c.Rank, c.Step, n.index)
	fed, err := n.barrier.Feed(int(c.Rank), c.Step, c.Bucket)
	switch fed {
	case role.Complete:
		n.startReduction(c.Step, c.Bucket, c.Bytes)
	case role.Again:
		n.clock.Schedule(des.Event{At: n.clock.Now(), Class: bucketRepeated, Source: n.index,
			Kind: bucketRepeated, Target: n.index, A: int64(c.Step), B: int64(c.Bucket)})
	}
	return err
}

// Keep implements role.Driver.
func (n *instance) Keep(m msg.Message, h role.Handle) error {
	if n.contract != nil {
		n.contract.addHeld(n.index, h)
	}
	if n.numerics != nil {
		n.numerics.Keep(m, h, n.incoming)
	}
	return nil
}

// Release implements role.Driver.
func (n *instance) Release(h role.Handle) error {
	if n.contract != nil {
		if err := n.contract.checkRelease(n.index, h); err != nil {
			return err
		}
	}
	if n.numerics != nil {
		n.numerics.Release(n.at, h)
	}
	return nil
}

// SetTimer implements role.Driver.
func (n *instance) SetTimer(at unit.Tick) error {
	n.reschedule(&n.timer, at, true,
		des.Event{Class: timerFires, Source: n.index, Kind: timerFires, Target: n.index})
	return nil
}

// Observe implements role.Driver.
func (n *instance) Observe(e event.Record) error {
	n.observe(e)
	return nil
}

// Finish implements role.Driver. When every rank has finished, no timer may keep the run going.
func (n *instance) Finish() error {
	if n.ended { // a rank that is back may finish again
		return nil
	}
	n.ended = true
	n.finished++
	if n.trained() {
		n.stopTimers()
	}
	return nil
}

// Halt implements role.Driver.
func (n *instance) Halt(reason error) error { return reason }
