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
	if err := n.credit.Sent(m); err != nil {
		return err
	}
	payload := n.run.executor.Payload(n.store, m, h)
	if n.outbox != nil {
		return n.outbox.send(m, payload, n.post)
	}
	return n.post(m, payload)
}

// post passes a message to its receiver: at once in this process, and with the next flush in another one.
func (n *instance) post(m msg.Message, payload exec.Payload) error {
	if n.run.instance(m.To) != nil {
		return n.run.deliver(m, payload)
	}
	n.letters = append(n.letters, exec.Letter{Message: m, Payload: payload})
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
	n.lanes[w.Kind.Lane()].add(task{work: w, operands: o, store: n.store, incarnation: n.incarnation.Load()})
	return nil
}

// Keep implements role.Driver.
func (n *instance) Keep(m msg.Message, h role.Handle) error {
	n.run.executor.Keep(n.store, m, h, n.payload)
	if n.free != nil {
		n.store.FreeOnRelease(h, n.free)
	}
	return nil
}

// Release implements role.Driver. It reuses the payload's memory if every message is delivered once and
// within this process.
func (n *instance) Release(h role.Handle) error {
	if n.run.remote == nil && n.run.cfg.Retry == 0 {
		n.run.executor.Recycle(n.store, h)
	} else {
		n.store.Release(h)
	}
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
	n.run.finished <- struct{}{}
	return nil
}

// Halt implements role.Driver.
func (n *instance) Halt(reason error) error { return reason }
