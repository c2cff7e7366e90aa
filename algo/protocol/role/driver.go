package role

import (
	"fmt"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// Driver performs or prices the outputs of one role. It has a method for every kind of output, which Dispatch
// calls in the order of the outputs. An error ends the run.
type Driver interface {
	// Send delivers m to m.To. Its payload is the part for m.To of the data that the role holds under
	// payload, or nothing if the kind of payload is NoData.
	Send(m msg.Message, payload Handle) error
	// QueueWork queues w on the lane of its kind. The end of w is an input WorkDone or WorkFailed.
	QueueWork(w Work, o Operands) error
	// Feed passes a bucket of a rank to the all-reduce.
	Feed(c Contribution) error
	// Keep holds the payload of m, the message of the input, under h. Payloads from several senders may share
	// a handle.
	Keep(m msg.Message, h Handle) error
	// Release frees the data under h.
	Release(h Handle) error
	// SetTimer fires the timer of the role at a time, unless it is set again before. A crash clears the
	// timer.
	SetTimer(at unit.Tick) error
	// Observe passes e to the observers of the run.
	Observe(e event.Record) error
	// Finish records that the NN worker has trained every step.
	Finish() error
	// Halt ends the run with the error that Halt returns.
	Halt(reason error) error
}

// Dispatch calls the methods of d for the outputs of the input in, in order, until one returns an error. It
// panics on an output of an unknown kind.
func Dispatch(in *Input, out *Outputs, d Driver) error {
	for i := range out.List {
		if err := dispatch(in, &out.List[i], d); err != nil {
			return err
		}
	}
	return nil
}

func dispatch(in *Input, o *Output, d Driver) error {
	switch o.Kind {
	case Send:
		return d.Send(o.Message, o.Handle)
	case Do:
		return d.QueueWork(o.Work, o.Operands)
	case Feed:
		return d.Feed(o.Contribution)
	case Keep:
		return d.Keep(in.Message, o.Handle)
	case Release:
		return d.Release(o.Handle)
	case SetTimer:
		return d.SetTimer(o.At)
	case Record:
		return d.Observe(o.Event)
	case Finished:
		return d.Finish()
	case Halt:
		return d.Halt(o.Reason)
	}
	panic(fmt.Sprintf("role: unknown kind of output %d", o.Kind))
}
