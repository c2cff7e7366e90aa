package replay

import (
	"fmt"

	"tandem/algo/exec"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// driver is the role.Driver of a replay, for the outputs of one step of one role.
type driver struct {
	*player
	self    *actor
	payload exec.Payload // of the message that the role was given
}

// Send puts a message into its receiver's mail.
func (d driver) Send(m msg.Message, h role.Handle) error {
	if _, known := d.roster.Index(m.To); !known {
		return fmt.Errorf("replay: %v: the run has no such role", m)
	}
	var sent parcel
	if d.executor != nil && h.Kind != role.NoData {
		sent.payload = d.executor.Payload(d.self.store, m, h)
		sent.print = exec.Fingerprint(m, sent.payload)
	}
	to := d.actor(m.To)
	to.mail.add(m, sent)
	d.wake(to)
	return nil
}

// QueueWork executes work and queues the inputs that follow from it.
func (d driver) QueueWork(w role.Work, o role.Operands) error {
	lane := d.self.results.Lane(w.Kind)
	part := func(bucket int32) { lane.Push(role.Input{Kind: role.WorkPart, Work: w, Bucket: bucket}) }
	done := role.Input{Kind: role.WorkDone, Work: w}
	if d.executor != nil {
		var err error
		if done.Result, err = d.executor.Execute(d.self.state.Address(), d.self.store, w, o,
			part); err != nil {
			done = role.Input{Kind: role.WorkFailed, Work: w, Reason: err}
		}
	} else if w.Kind == role.Backward {
		for bucket := range d.config.Buckets {
			part(int32(bucket))
		}
	}
	lane.Push(done)
	return nil
}

// Feed contributes a bucket to the all-reduce, which ends when the last rank has fed the bucket. A rank that
// is back receives sums that others have.
func (d driver) Feed(c role.Contribution) error {
	if !d.self.counts(c, int64(len(d.config.Buckets))) {
		return nil
	}
	if d.executor != nil {
		d.executor.Feed(d.self.store, c)
	}
	fed, err := d.barrier.Feed(int(c.Rank), c.Step, c.Bucket)
	if err != nil || fed == role.Waits {
		return err
	}
	if d.executor != nil && fed == role.Complete {
		if err := d.executor.Reduce(c.Step, c.Bucket); err != nil {
			return err
		}
	}
	for rank := range d.config.Ranks {
		if fed == role.Again && rank != c.Rank {
			continue
		}
		a := d.actor(msg.Address{Role: msg.NNWorker, Index: rank})
		a.reduced.Push(role.Input{
			Kind: role.BucketReduced, Work: role.Work{Rank: rank, Step: c.Step}, Bucket: c.Bucket,
		})
		d.wake(a)
	}
	return nil
}

// Keep implements role.Driver.
func (d driver) Keep(m msg.Message, h role.Handle) error {
	if d.executor != nil {
		d.executor.Keep(d.self.store, m, h, d.payload, nil)
	}
	return nil
}

// Release implements role.Driver.
func (d driver) Release(h role.Handle) error {
	if d.executor != nil {
		d.self.store.Release(h)
	}
	return nil
}

// SetTimer implements role.Driver.
func (d driver) SetTimer(at unit.Tick) error {
	d.self.timer, d.self.timerSet = at, true
	return nil
}

// Observe implements role.Driver.
func (d driver) Observe(e event.Record) error {
	for _, o := range d.observers {
		o.Observe(e)
	}
	return nil
}

// Finish implements role.Driver: the recorded inputs determine the end of the run.
func (d driver) Finish() error { return nil }

// Halt implements role.Driver: the recorded inputs determine the rest.
func (d driver) Halt(error) error { return nil }
