package driver

import (
	"context"
	"errors"
	"fmt"

	"tandem/algo/exec"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// RedoLog keeps the inputs of a role for a later incarnation of its process. redo.Log is one. One goroutine
// at a time calls its methods; an error ends the run.
type RedoLog interface {
	// Keep adds an input that the role handles at a time, with the payload of its message or nil. What
	// follows from the input is performed when Keep has returned.
	Keep(now unit.Tick, in *role.Input, payload exec.Payload) error
	// Replay calls each with all inputs, in order, before the first Keep. Of work only the kind is known.
	Replay(each func(now unit.Tick, in *role.Input, payload exec.Payload) error) error
}

// openRedo opens the redo log of every role that needs one to come back.
func (r *run) openRedo() (err error) {
	if r.options.Redo == nil {
		return nil
	}
	for _, n := range r.instances {
		if at := n.address.Role; !r.cfg.CanRestart(at) && role.CanRedo(at) {
			if n.redo, err = r.options.Redo(n.address); err != nil {
				return err
			}
		}
	}
	return nil
}

// errOtherLog says that a role would not have handled the inputs of a redo log.
var errOtherLog = errors.New("the redo log has an input that the role cannot have had")

// redoInputs gives the role the state that it had in the process before, if it has a redo log and this is a
// later incarnation. The role handles all inputs again. Its work is done, its records are made again, and its
// messages are not sent: those who need them ask again. All of that bears the times at which it happened.
func (n *instance) redoInputs() error {
	if n.redo == nil || n.run.options.Incarnation == 0 {
		return nil
	}
	n.redoing, n.away = true, false // the Start in the inbox comes too late
	var out role.Outputs
	if err := n.step(&delivery{input: role.Input{Kind: role.Start}}, &out); err != nil {
		return err
	}
	err := n.redo.Replay(func(now unit.Tick, in *role.Input, payload exec.Payload) error {
		if n.run.ended.Err() != nil {
			return context.Cause(n.run.ended)
		}
		n.redoAt = now
		d := delivery{input: *in, payload: payload}
		switch {
		case in.Kind == role.Received && in.Message.To == n.address:
		case in.Kind == role.TimerFired:
			n.timer++ // the one that is set has fired
		case in.Kind == role.WorkDone && n.redone.Lane(in.Work.Kind).Len() > 0:
			d.input = n.redone.Lane(in.Work.Kind).Pop()
			n.working--
		default:
			return errOtherLog
		}
		return n.step(&d, &out)
	})
	if err != nil && n.run.ended.Err() == nil {
		return &LostError{Reason: fmt.Sprintf("%v: %v", n.address, err)}
	}
	if err != nil {
		return err
	}
	n.redoing = false
	for i := range n.redone { // work whose end the process before has not seen
		for n.redone[i].Len() > 0 {
			n.inbox.push(delivery{input: n.redone[i].Pop(), issue: uint64(n.incarnation.Load())})
		}
	}
	return nil
}

// redoWork does work while inputs are handled again. Its end is an input like any other.
func (n *instance) redoWork(w role.Work, o role.Operands) {
	in := role.Input{Kind: role.WorkDone, Work: w}
	in.Result, in.Reason = n.run.executor.Execute(n.address, n.store, w, o, func(int32) {})
	if in.Reason != nil {
		in.Kind = role.WorkFailed
	}
	n.redone.Lane(w.Kind).Push(in)
}

// keepInput keeps an input in the redo log, if there is one, unless the input comes from it or follows from
// the beginning or the end of the run.
func (n *instance) keepInput(now unit.Tick, d *delivery) error {
	if n.redo == nil || n.redoing || d.input.Kind == role.Start || d.input.Kind == role.Stop {
		return nil
	}
	return n.redo.Keep(now, &d.input, d.payload)
}
