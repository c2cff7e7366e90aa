package live

import (
	"sync"
	"time"

	"tandem/algo/msg"
	"tandem/algo/role"
	"tandem/algo/work"
)

// node is one role instance with its goroutines.
type node struct {
	run     *run
	state   role.Role
	store   *work.Store
	credit  *role.Credit
	inbox   *queue[delivery]
	work    [role.Lanes]*queue[task]
	stopped chan struct{} // closed when the role has taken Stop
	log     Log           // nil unless the run is recorded
}

// delivery is one input with the payload of its message, if it has one.
type delivery struct {
	input   role.Input
	payload any
}

// task is what a lane does next: work of its role or, between two pieces of
// that, a look at the role's numbers.
type task struct {
	work role.Work
	look func() // nil for work
}

func newNode(r *run, state role.Role) *node {
	n := &node{
		run: r, state: state, store: work.NewStore(), credit: role.NewCredit(r.cfg),
		inbox: newQueue[delivery](), stopped: make(chan struct{}),
	}
	for i := range n.work {
		n.work[i] = newQueue[task]()
	}
	n.inbox.push(delivery{input: role.Input{Kind: role.Start}})
	return n
}

func (n *node) start(goroutines *sync.WaitGroup) {
	goroutines.Go(n.loop)
	for _, q := range n.work {
		goroutines.Go(func() { n.perform(q) })
	}
}

func (n *node) close() {
	n.inbox.close()
	for _, q := range n.work {
		q.close()
	}
}

// loop is the goroutine that owns the state machine.
func (n *node) loop() {
	var out role.Outputs
	for {
		d, ok := n.inbox.pop()
		if !ok {
			return
		}
		if d.input.Kind == role.Received {
			n.credit.Received(d.input.Message)
		}
		out.Reset()
		now := n.run.now()
		n.state.Step(now, d.input, &out)
		if n.log != nil {
			if err := n.log.Step(now, &d.input, d.payload, out.List); err != nil {
				n.run.fail(err)
				return
			}
		}
		for i := range out.List {
			n.take(d, &out.List[i])
		}
		if d.input.Kind == role.Stop {
			close(n.stopped)
			return
		}
	}
}

// take does what the role asks.
func (n *node) take(d delivery, o *role.Output) {
	switch o.Kind {
	case role.Send:
		if err := n.credit.Sent(o.Message); err != nil {
			n.run.fail(err)
			return
		}
		n.send(o.Message)
	case role.Do:
		n.work[o.Work.Kind.Lane()].push(task{work: o.Work})
	case role.Feed:
		n.run.feed(o.Work.Step, o.Bucket)
	case role.Keep:
		n.run.performer.Keep(n.store, d.input.Message, d.payload)
	case role.Release:
		n.release(o.Handle)
	case role.Record:
		n.run.observe(o.Event)
	case role.Finished:
		n.run.finished <- struct{}{}
	case role.Halt:
		n.run.fail(o.Reason)
	}
}

// release lets go of a handle. Inside one process a payload's memory is used again.
func (n *node) release(h role.Handle) {
	if n.run.elsewhere == nil {
		n.run.performer.Recycle(n.store, h)
	} else {
		n.store.Release(h)
	}
}

// send delivers a message, here or elsewhere.
func (n *node) send(m msg.Message) {
	payload := n.run.performer.Payload(n.store, m)
	if to, here := n.run.nodes[m.To]; here {
		to.inbox.push(delivery{input: role.Input{Kind: role.Received, Message: m}, payload: payload})
	} else if err := n.run.elsewhere.Send(n.run.ended, m, payload); err != nil {
		n.run.fail(err)
	}
}

// perform is the goroutine of one lane.
func (n *node) perform(lane *queue[task]) {
	for {
		t, ok := lane.pop()
		if !ok {
			return
		}
		if t.look != nil {
			t.look()
			continue
		}
		in := role.Input{Kind: role.WorkDone, Work: t.work}
		if in.Result, in.Reason = n.do(t.work); in.Reason != nil {
			in.Kind = role.WorkFailed
		}
		n.inbox.push(delivery{input: in})
	}
}

// do performs one piece of work.
func (n *node) do(w role.Work) (role.Result, error) {
	if n.run.beforeStep != nil && w.Kind == role.Forward && w.Rank == 0 {
		if err := n.run.beforeStep(int(w.Step), lanes{n.run}); err != nil {
			return role.Result{}, err
		}
	}
	part := func(bucket int32) {
		n.inbox.push(delivery{input: role.Input{Kind: role.WorkPart, Work: w, Bucket: bucket}})
	}
	var result role.Result
	var err error
	n.run.timed(func() { result, err = n.run.performer.Do(n.state.Address(), n.store, w, part) },
		func(took time.Duration) { n.run.stopwatch.Worked(w, took) })
	return result, err
}
