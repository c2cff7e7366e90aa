package driver

import (
	"errors"
	"fmt"
	"sync"

	"tandem/algo/exec"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// outbox applies the faults of a run to the messages that one incarnation of a role sends. It is used by the
// goroutines of the role and of the clock.
type outbox struct {
	run *run

	mu       sync.Mutex
	injector *fault.Injector[exec.Payload]
	parcels  []fault.Parcel[exec.Payload] // reused by every call
	waiting  bool                         // an alarm for flush is scheduled
	closed   bool
}

func newOutbox(r *run, from msg.Address, incarnation uint32) *outbox {
	return &outbox{run: r, injector: fault.NewInjector[exec.Payload](r.options.Faults, from, incarnation)}
}

// post passes on a message that has no delay.
type post func(m msg.Message, payload exec.Payload) error

// send decides the fate of a message and posts what is due now.
func (o *outbox) send(m msg.Message, payload exec.Payload, post post) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.parcels = o.injector.Send(o.parcels[:0], o.run.now(), m, payload)
	return o.deliver(post)
}

// flush delivers the messages whose delay has passed.
func (o *outbox) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting = false
	if o.closed {
		return
	}
	o.parcels = o.injector.Flush(o.parcels[:0], o.run.now())
	if err := o.deliver(o.run.deliver); err != nil {
		o.run.fail(err)
	}
}

// deliver posts the parcels in the buffer and schedules the next flush. The caller holds o.mu.
func (o *outbox) deliver(post post) error {
	defer func() { clear(o.parcels) }() // so that the payloads can be freed
	for _, p := range o.parcels {
		if p.Delay > 0 {
			o.run.deliverLater(p)
		} else if err := post(p.Message, p.Payload); err != nil {
			return err
		}
	}
	if due, held := o.injector.Next(); held && !o.waiting {
		o.waiting = true
		o.run.clock.schedule(due, o.flush)
	}
	return nil
}

// close drops the messages that are held back and returns the number of injected faults.
func (o *outbox) close() fault.Counts {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	return o.injector.Counts()
}

// deliverLater delivers a delayed message.
func (r *run) deliverLater(p fault.Parcel[exec.Payload]) {
	r.clock.schedule(r.now()+p.Delay, func() {
		if err := r.deliver(p.Message, p.Payload); err != nil {
			r.fail(err)
		}
	})
}

// crash destroys the state of the role. The role starts again after a while. Lost are the messages that
// arrive until then, the content of the inbox, and the results of work in flight.
//
// A role that comes back by its redo log has its state again. It loses the messages that arrive until then.
func (n *instance) crash(away unit.Tick, in *delivery) {
	if !n.run.cfg.CanRestart(n.address.Role) {
		n.injected.Crashes++
		n.away = true
		n.endsWhileAway(in)
		n.run.clock.schedule(n.run.now()+away, func() { n.inbox.push(delivery{back: true}) })
		return
	}
	n.injected = n.injected.Add(n.outbox.close())
	n.injected.Crashes++
	n.away = true
	n.timer++
	incarnation := n.incarnation.Add(1)
	n.outbox = newOutbox(n.run, n.address, incarnation)
	n.store, n.credit, n.working = exec.NewStore(), role.NewCredit(n.run.cfg), 0
	if n.address.Role == msg.NNWorker {
		n.gone.Store(true)
		n.run.withdraw(n)
	}
	n.returnAt(n.run.now() + away)
}

// returnWait is how long a rank waits before it looks again whether the parameters that it needs are there.
const returnWait = unit.Millisecond

// returnAt starts the next incarnation at a time or, of a rank, as soon after it as the parameters are there.
func (n *instance) returnAt(at unit.Tick) {
	n.run.clock.schedule(at, func() {
		if n.address.Role == msg.NNWorker {
			ready, err := n.run.hasParametersFor(n)
			if err != nil {
				n.run.fail(err)
				return
			}
			if !ready {
				n.returnAt(n.run.now() + returnWait)
				return
			}
		}
		n.inbox.push(delivery{input: n.startInput()})
	})
}

// withdraw takes back what a rank has fed of buckets that are not complete.
func (r *run) withdraw(n *instance) {
	r.fedMu.Lock()
	defer r.fedMu.Unlock()
	r.fed.Withdraw(n.rank)
}

// open returns the first step whose gradients are not all reduced, and its first bucket that is not.
func (r *run) open() (step, bucket int32) {
	r.fedMu.Lock()
	defer r.fedMu.Unlock()
	return r.fed.Open(), r.fed.OpenBucket()
}

// hasParametersFor reports whether another rank has the parameters before the open step, and no bucket that
// the crashed rank has fed is still being summed. Ranks of one process share their weights, so nothing is
// copied. It is an error if all ranks are away.
func (r *run) hasParametersFor(n *instance) (bool, error) {
	r.fedMu.Lock()
	open, reducing := r.fed.Open(), r.reducing
	r.fedMu.Unlock()
	ready, alone := open == 0, open > 0
	for _, other := range r.ranks {
		if other != n && !other.gone.Load() {
			ready, alone = ready || other.applied.Load() >= open, false
		}
	}
	if alone {
		return false, role.ErrParametersLost
	}
	return ready && reducing == 0, nil
}

// checkCrashes refuses crashes that this process cannot inject.
func (r *run) checkCrashes() error {
	switch {
	case r.options.Faults == nil || !r.options.Faults.CrashesRanks():
		return nil
	case !r.hasAllRanks():
		return errors.New("driver: crashes of nn-worker are only injected where all ranks share a process")
	case !r.cfg.CanRestart(msg.NNWorker):
		return fmt.Errorf("driver: an nn-worker crashes, and in mode %s with %d ranks no other has its "+
			"parameters", r.cfg.Rule.Name(), r.cfg.Ranks)
	case !exec.RanksShareWeights(r.executor):
		return errors.New("driver: crashes of nn-worker are only injected where the ranks share their " +
			"weights in the memory of the host, not on GPUs")
	}
	return nil
}

// endsWhileAway defers the end of work of a role with a redo log until the role returns: the work is then
// done again. It reports whether the delivery is the end of work.
func (n *instance) endsWhileAway(d *delivery) bool {
	if !n.away || n.run.cfg.CanRestart(n.address.Role) {
		return false
	}
	ends := d.input.Kind == role.WorkDone || d.input.Kind == role.WorkFailed
	if ends {
		n.ends = append(n.ends, *d)
	}
	return ends
}

// comeBack makes a role that has a redo log handle inputs again.
func (n *instance) comeBack(out *role.Outputs) error {
	n.away = false
	ends := n.ends
	n.ends = nil
	for i := range ends {
		if err := n.handle(&ends[i], out); err != nil {
			return err
		}
	}
	return nil
}

// startInput returns the first input of the current incarnation.
func (n *instance) startInput() role.Input {
	return role.Input{Kind: role.Start, Incarnation: n.incarnation.Load()}
}
