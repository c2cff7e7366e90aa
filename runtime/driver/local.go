package driver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tandem/algo/exec"
	"tandem/algo/exec/dense"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
)

// Local runs those roles of a run that are in this process.
type Local struct{ run *run }

// AllLocal is for NewLocal: it says that all roles are in this process.
func AllLocal(msg.Address) bool { return true }

// Remote reaches the roles in other processes. The context passed to a method ends when the run fails; the
// method must return soon after that.
type Remote interface {
	// Send delivers messages to roles in other processes: what one role has sent since it last waited for an
	// input. Send does not keep the slice. Messages between two roles may be reordered. None may be lost if
	// role.Config.Retry is 0. Send is called by the goroutine of the sending role, which waits for it, or by
	// that of the clock. An error ends the run.
	Send(ctx context.Context, letters []exec.Letter) error
	// Handled reports that a role of this process has handled a message that was passed to Local.Deliver. If
	// refused is not nil, the role has not handled the message because its sender violated the protocol.
	// Handled is called by the goroutine of the role.
	Handled(m msg.Message, refused error)
	// Reduce sums buckets of a step, or of an averaging round, over all ranks, after all ranks of this
	// process have fed them. One goroutine calls Reduce, for the same buckets in the same order in every
	// process. It is not called if all ranks, or none, are in this process.
	Reduce(ctx context.Context, step int32, b dense.Buckets) error
	// Finished reports that every rank of this process, if it has any, has finished. It waits until all ranks
	// of the run have.
	Finished(ctx context.Context) error
}

// NewLocal makes those roles for which isLocal returns true. The executor does their work; it must be new,
// or the run that used it before must have ended without an error. remote may be nil if all roles are in this
// process. Messages may be delivered as soon as NewLocal has returned; Run handles them.
func NewLocal(cfg *role.Config, e *exec.Executor, o Options, isLocal func(msg.Address) bool,
	remote Remote) (*Local, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if o.Faults != nil && o.Faults.Any() && cfg.Retry == 0 {
		return nil, errors.New("driver: faults lose messages; set retry above 0")
	}
	if err := checkTurns(e, o); err != nil {
		return nil, err
	}
	r := newRun(cfg, e, o, isLocal, remote)
	if err := r.checkCrashes(); err != nil {
		return nil, err
	}
	return &Local{r}, errors.Join(r.record(o.Recorder), r.openRedo())
}

// checkTurns returns an error if ranks that wait for each other would work one at a time.
func checkTurns(e *exec.Executor, o Options) error {
	const waiting = "driver: ranks that have rows together on GPUs wait for each other, "
	switch {
	case !exec.RanksWait(e):
		return nil
	case o.InTurn:
		return errors.New(waiting + "and their costs are measured one at a time: set roles.ranks to 1")
	case o.Recorder != nil:
		return errors.New(waiting + "and a replay lets one work at a time: leave out --record, or set " +
			"roles.ranks to 1")
	}
	return nil
}

// Run runs the roles of this process until the run ends, as the function Run does. Times in records count
// from start. Run must be called once.
func (p *Local) Run(ctx context.Context, start time.Time) error {
	p.run.start = start
	defer context.AfterFunc(ctx, func() { p.run.fail(context.Cause(ctx)) })()
	defer p.run.fail(nil)
	if err := p.run.drive(); err != nil {
		return err
	}
	return p.run.endRecord()
}

// Injected returns the number of faults injected in this process. Call it after Run has returned.
func (p *Local) Injected() (sum fault.Counts) {
	for _, n := range p.run.instances {
		sum = sum.Add(n.injected)
		if n.outbox != nil {
			sum = sum.Add(n.outbox.close())
		}
	}
	return sum
}

// Drain requests that the run end before its last step, as soon as possible: the record EndDecided says
// where. All work on the earlier steps is done when Run returns. Drain does nothing if the data loader is in
// another process.
func (p *Local) Drain() {
	p.run.draining.Store(true)
	if n := p.run.instance(msg.Address{Role: msg.DataLoader}); n != nil {
		n.inbox.push(delivery{input: role.Input{Kind: role.Drain}})
	}
}

// Deliver passes a message from another process to its receiver, which must be in this process. If the memory
// of the payload can be used again, free, unless it is nil, is called when the role has released the payload
// and nothing refers to it, or never.
func (p *Local) Deliver(m msg.Message, payload exec.Payload, free func()) error {
	n := p.run.instance(m.To)
	if n == nil {
		return fmt.Errorf("driver: %v is not in this process", m.To)
	}
	if !n.inbox.push(delivery{input: role.Input{Kind: role.Received, Message: m}, payload: payload,
		free: free, remote: true}) {
		p.run.remote.Handled(m, nil) // the run is over
	}
	return nil
}

// ReadRows copies rows of a PS of this process during Run, between two pieces of the PS's work: see
// evaluation.State.
func (p *Local) ReadRows(server int, signs []uint64, dst []float32) error {
	return liveState{p.run}.ReadRows(server, signs, dst)
}

// ReadDense copies the part of the dense network that a role of this process holds, during Run. The part of
// rank 0 can be read only while rank 0 waits in BeforeStep. exec.ModelState.DenseHolders lists the roles that
// hold parts.
func (p *Local) ReadDense(at msg.Address) (model.Values, error) {
	return liveState{p.run}.readDense(at)
}
