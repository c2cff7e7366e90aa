package cluster

import (
	"fmt"
	"slices"

	"tandem/algo/exec"
	"tandem/algo/job"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/sim/cost"
	"tandem/sim/des"
)

// faultSteps is the number of steps that a run with faults measures at least: rare faults have to occur, and
// their effect to average out. crashStepMost is the latest step of a crash that a run without numbers
// reaches.
const (
	faultSteps    = 100
	crashStepMost = 1000
)

// CheckFaults reports the first crash that a training cannot have: of a role that its mode does not have or,
// at a position of the ranges, the cluster; or, where no numbers are trained, at a step that no run reaches.
func CheckFaults(h *cost.Hardware, t job.Job, numbers bool) error {
	cfg, err := Roles(h, &t)
	if err != nil {
		return err
	}
	if err := t.Faults.ValidateRoles(cfg); err != nil {
		return err
	}
	for i, c := range t.Faults.Crashes {
		if !numbers && c.Step > crashStepMost {
			return fmt.Errorf(
				"crashes[%d].step = %d; want at most %d in a prediction; "+
					"a training may crash at any step of the job",
				i,
				c.Step,
				crashStepMost,
			)
		}
	}
	return nil
}

// delayCrashes returns the faults of a run that takes only time, with the crashes moved behind its warm-up,
// so that a crash at step 0 is measured. The data loader deals batches out up to a window before their step,
// and the first input of a role about a step may come then.
func delayCrashes(p fault.Plan, warmUp, window int) fault.Plan {
	p.Crashes = slices.Clone(p.Crashes)
	for i := range p.Crashes {
		p.Crashes[i].Step += int32(warmUp + window)
	}
	return p
}

// spanWithFaults returns the steps that a run with faults measures and simulates: from the end of the warm-up
// until some steps after the last crash.
func spanWithFaults(t *job.Job, warmUp int) span {
	last := warmUp + faultSteps
	for _, c := range t.Faults.Crashes {
		last = max(last, int(c.Step)+settleSteps)
	}
	return span{warmUp, last - warmUp, 1, last + t.Depth()}
}

// transmit passes a message through the faults of its sender, and sends what travels now. A lost message is
// sent too: it uses the sender's cores and the wires, and ends before the receiver's cores.
func (n *instance) transmit(m msg.Message, payload exec.Payload) {
	lost := n.injector.Counts().Dropped
	n.parcels = n.injector.Send(n.parcels[:0], n.clock.Now(), m, payload)
	if n.injector.Counts().Dropped > lost {
		n.send(n.index, fault.Parcel[exec.Payload]{Message: m}, true)
	}
	n.sendParcels()
}

// sendHeld sends what has been held back for long enough.
func (w *simulation) sendHeld(i int32) {
	n := &w.instances[i]
	n.held = timer{}
	w.causeUnknown()
	w.parcels = n.injector.Flush(w.parcels[:0], w.clock.Now())
	n.sendParcels()
}

// sendParcels empties the buffer, and sets the time at which more is due.
func (n *instance) sendParcels() {
	for _, p := range n.parcels {
		n.send(n.index, p, false)
	}
	clear(n.parcels) // free the payloads
	due, ok := n.injector.Next()
	n.reschedule(&n.held, due, ok, des.Event{Class: heldDue, Source: n.index, Kind: heldDue, Target: n.index})
}

// crashIfDue reports whether a role crashes instead of taking an input, and if so performs the crash: the
// role loses its state, what it holds, its timer, the messages that it holds back, and its work. Work under
// way keeps its resources busy to its end, but nothing comes of it. A role that comes back by its redo log
// loses only the messages that arrive while it is away.
func (n *instance) crashIfDue(in *role.Input) bool {
	if n.trained() {
		return false
	}
	away, due := n.schedule.Due(in.Step())
	if !due {
		return false
	}
	n.injected.Crashes++
	n.away = true
	back := des.Event{Class: roleReturns, Source: n.index, Kind: roleReturns, Target: n.index}
	if !n.config.CanRestart(n.at.Role) {
		n.defersInput(in)
		n.reschedule(&n.timer, n.clock.Now()+away, true, back)
		return true
	}
	n.injected = n.injected.Add(n.injector.Counts())
	n.incarnation++
	n.injector = fault.NewInjector[exec.Payload](n.faultPlan(), n.at, n.incarnation)
	n.cancelTimer(&n.held)
	n.recorder.crash(n.simulation, n.index)
	for i := range n.lanes {
		n.lanes[i].Clear(n.clock.Now(), n.closeTask)
	}
	if n.contract != nil {
		n.contract.resetRole(n.index)
	}
	if n.numerics != nil {
		n.awaitNumerics()
		n.numerics.Crash(n.at)
	}
	if n.at.Role == msg.NNWorker {
		n.barrier.Withdraw(int(n.at.Index))
	}
	n.reschedule(&n.timer, n.clock.Now()+away, true, back)
	return true
}

// awaitNumerics waits for the numbers of the role's work: the next incarnation of a rank uses the same
// memory.
func (n *instance) awaitNumerics() {
	for i := range n.tasks {
		t := &n.tasks[i]
		if t.kind == working && t.role == n.index && t.await != nil && !updates(t.work.Kind) {
			_, _ = t.await() // nothing comes of the work, nor of its error
		}
	}
}

// defersInput reports whether a role with a redo log is away. It defers the end of work until the role
// returns: the work is then done again.
func (n *instance) defersInput(in *role.Input) bool {
	if !n.away || n.config.CanRestart(n.at.Role) {
		return false
	}
	if in.Kind != role.Received {
		n.ends = append(n.ends, *in)
	}
	return true
}

// returnWait is how long a rank waits before it looks again whether the parameters that it needs are there.
const returnWait = 100 * unit.Microsecond

// hasParametersFor reports whether another rank has the parameters before the open step, and no bucket that
// the crashed rank has fed is still being summed. The run fails if all ranks are away.
func (w *simulation) hasParametersFor(n *instance) bool {
	open := w.barrier.Open()
	if open == 0 {
		return w.reducing == 0
	}
	alone := true
	for rank := range w.config.Ranks {
		other := &w.instances[w.roleIndex(msg.Address{Role: msg.NNWorker, Index: rank})]
		if other == n || other.away {
			continue
		}
		alone = false
		if w.measurement.ranks[rank].trained >= open {
			return w.reducing == 0
		}
	}
	if alone {
		w.fail(role.ErrParametersLost)
	}
	return false
}

// restart starts the next incarnation of a role, or makes one that has a redo log handle inputs again.
func (w *simulation) restart(i int32) {
	n := &w.instances[i]
	if n.at.Role == msg.NNWorker && !w.hasParametersFor(n) {
		n.timer = timer{}
		if w.err != nil {
			return
		}
		w.reschedule(&n.timer, w.clock.Now()+returnWait, true,
			des.Event{Class: roleReturns, Source: i, Kind: roleReturns, Target: i})
		return
	}
	n.timer, n.away = timer{}, false
	w.progressed = w.clock.Now()
	w.causeUnknown()
	if n.config.CanRestart(n.at.Role) {
		start := role.Input{Kind: role.Start, Incarnation: n.incarnation}
		if n.at.Role == msg.NNWorker {
			start.Next = w.barrier.Open()
		}
		w.handleInput(i, start)
		return
	}
	ends := n.ends
	n.ends = nil
	for _, in := range ends {
		w.handleInput(i, in)
	}
}

// faultPlan returns the faults of the run.
func (w *simulation) faultPlan() *fault.Plan { return &w.prices.Job.Faults }

// faultCounts returns what the plan has done to the run.
func (w *simulation) faultCounts() fault.Counts {
	all := w.injected
	for i := range w.instances {
		if n := &w.instances[i]; n.injector != nil {
			all = all.Add(n.injector.Counts())
		}
	}
	return all
}
