package driver

import (
	"tandem/algo/exec"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// Send implements role.Driver.
func (n *instance) Send(m msg.Message, h role.Handle) error {
	if err := n.credit.Sent(m); err != nil || n.redoing {
		return err
	}
	if n.outbox != nil { // which may lose a message, or deliver it twice
		return n.outbox.send(m, n.run.executor.Payload(n.store, m, h), n.post)
	}
	payload, free := n.run.executor.Lend(n.store, m, h)
	return n.lend(m, payload, free)
}

// post passes a message to its receiver: at once in this process, and with the next flush in another one.
func (n *instance) post(m msg.Message, payload exec.Payload) error { return n.lend(m, payload, nil) }

// lend is post for a payload whose memory is used again after a call of free, unless free is nil.
func (n *instance) lend(m msg.Message, payload exec.Payload, free func()) error {
	if to := n.run.instance(m.To); to != nil {
		to.receive(m, payload, free)
		return nil
	}
	n.letters = append(n.letters, exec.Letter{Message: m, Payload: payload, Free: free})
	return nil
}

// flush sends the letters to other processes.
func (n *instance) flush() error {
	if len(n.letters) == 0 {
		return nil
	}
	err := n.run.remote.Send(n.run.sending, n.letters)
	clear(n.letters) // so that the payloads can be freed
	n.letters = n.letters[:0]
	return err
}

// QueueWork implements role.Driver.
func (n *instance) QueueWork(w role.Work, o role.Operands) error {
	n.working++
	if n.redoing {
		n.redoWork(w, o)
		return nil
	}
	n.lanes[w.Kind.Lane()].add(task{work: w, operands: o, store: n.store, incarnation: n.incarnation.Load()})
	return nil
}

// Keep implements role.Driver.
func (n *instance) Keep(m msg.Message, h role.Handle) error {
	n.run.executor.Keep(n.store, m, h, n.payload, n.free)
	return nil
}

// Release implements role.Driver.
func (n *instance) Release(h role.Handle) error {
	n.store.Release(h)
	return nil
}

// SetTimer implements role.Driver.
func (n *instance) SetTimer(at unit.Tick) error {
	n.timer++
	n.scheduleTimer(at, n.timer)
	return nil
}

// Observe implements role.Driver.
func (n *instance) Observe(e event.Record) error {
	n.run.observe(e)
	return nil
}

// Finish implements role.Driver.
func (n *instance) Finish() error {
	if !n.finished { // a rank that is back may finish again
		n.finished = true
		n.run.finished <- struct{}{}
	}
	return nil
}

// Halt implements role.Driver.
func (n *instance) Halt(reason error) error { return reason }
