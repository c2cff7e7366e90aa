package driver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tandem/algo/exec"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
)

// Local is those roles of a run that are in this process.
type Local struct{ run *run }

// AllLocal says that all roles are in this process.
func AllLocal(msg.Address) bool { return true }

// Remote is the roles of a run that are in other processes. The context of
// its methods ends when the run fails; then they return soon.
type Remote interface {
	// Send delivers a message to one of them. Messages between two roles need
	// keep no order, but none may be lost if Retry of the configuration is 0. The
	// goroutine of the sending role calls it and waits for it; an error ends the run.
	Send(ctx context.Context, m msg.Message, payload exec.Payload) error
	// Handled reports that a role here has taken a message which Deliver was called with or, if refused is not nil,
	// why it has not: its sender misbehaves. The goroutine of the role calls it.
	Handled(m msg.Message, refused error)
	// Reduce sums a bucket of a step, or averaging round, over all ranks, those here having
	// handed it over. It is called by one goroutine, in the same order in every process.
	Reduce(ctx context.Context, step, bucket int32) error
	// Finished tells the others that every rank here, if there is any, has
	// finished, and waits until all have.
	Finished(ctx context.Context) error
}

// NewLocal makes the roles that are here. An executor, which must be new, computes
// their work. Remote is nil if all roles are here. From now on messages can be
// delivered; Run handles them.
func NewLocal(cfg *role.Config, e *exec.Executor, o Options, here func(msg.Address) bool, elsewhere Remote) (*Local, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if o.Faults != nil && o.Faults.Any() && cfg.Retry == 0 {
		return nil, errors.New("driver: faults lose messages; set retry above 0")
	}
	r := newRun(cfg, e, o, here, elsewhere)
	return &Local{r}, r.record(o.Recorder)
}

// Run does as the function Run does, for the roles that are here; ticks count
// from start. It is called once.
func (p *Local) Run(ctx context.Context, start time.Time) error {
	p.run.start = start
	defer context.AfterFunc(ctx, func() { p.run.fail(context.Cause(ctx)) })()
	defer p.run.fail(nil)
	if err := p.run.drive(); err != nil {
		return err
	}
	return p.run.endRecord()
}

// Injected returns what Options.Faults has done in this process, once Run has returned.
func (p *Local) Injected() (sum fault.Counts) {
	for _, n := range p.run.instances {
		sum = sum.Add(n.injected)
		if n.outbox != nil {
			sum = sum.Add(n.outbox.close())
		}
	}
	return sum
}

// Deliver hands a message from elsewhere to its receiver, which must be here.
func (p *Local) Deliver(m msg.Message, payload exec.Payload) error {
	n := p.run.instance(m.To)
	if n == nil {
		return fmt.Errorf("driver: %v is not here", m.To)
	}
	if !n.inbox.push(delivery{input: role.Input{Kind: role.Received, Message: m}, payload: payload, remote: true}) {
		p.run.remote.Handled(m, nil) // the run is over
	}
	return nil
}

// ReadRows copies rows of a PS that is here, in the midst of Run, between two
// pieces of its work: see evaluation.State.
func (p *Local) ReadRows(server int, signs []uint64, dst []float32) error {
	return liveState{p.run}.ReadRows(server, signs, dst)
}

// ReadDense copies what a holder that is here has of the dense network, at the
// times at which ReadRows does; of rank 0 only while rank 0 waits in BeforeStep. See
// exec.ModelState.DenseHolders.
func (p *Local) ReadDense(at msg.Address) (model.Values, error) {
	return liveState{p.run}.readDense(at)
}
