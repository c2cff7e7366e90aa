package role

import (
	"fmt"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
)

// Driver performs or prices the outputs of one role: a method for every kind of output, called in the order
// of the outputs. An error ends the run.
type Driver interface {
	// Send delivers m to m.To, with the part that is for it of what the role holds as payload, which may be
	// NoData.
	Send(m msg.Message, payload Handle) error
	// Perform queues w on the lane of its kind; its result comes back as WorkDone or WorkFailed.
	QueueWork(w Work, o Operands) error
	// Feed hands a dense gradient bucket of a rank to the all-reduce.
	Feed(c Contribution) error
	// Keep holds the payload of m, the message being handled, as h. Payloads from several senders may share a
	// handle.
	Keep(m msg.Message, h Handle) error
	// Release frees what h names.
	Release(h Handle) error
	// SetTimer fires the role's one timer at a time, unless it is set again before. A crash clears it.
	SetTimer(at unit.Tick) error
	// Observe shows e to the observers of the run.
	Observe(e event.Record) error
	// Finish notes that this NN worker has trained every step.
	Finish() error
	// Halt ends the run: the error that Halt returns is the run's.
	Halt(reason error) error
}

// Dispatch passes the outputs of one step to the driver, in order, until one fails. in is the input that
// the role was given. It panics on an output of an unknown kind.
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
