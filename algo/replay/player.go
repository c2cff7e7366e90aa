package replay

import (
	"bytes"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"reflect"

	"tandem/algo/event"
	"tandem/algo/msg"
	"tandem/algo/role"
	"tandem/algo/work"
)

// player is the driver of a replay. A role takes its next recorded input when
// the cause of it is there; of those that can, the one with the earliest time.
// Work is performed when it is asked for, which is one of the orders that its
// driver might have chosen: lanes are in order of issue, and nothing that work
// touches changes between its issue and its end but by work before it.
type player struct {
	config    *role.Config
	performer *work.Performer // nil: no numbers
	observers []event.Observer
	actors    []*actor // in address order
	byRole    map[msg.Address]*actor
	queue     queue // of actors that are neither waiting nor done
	// mail holds what was sent and not received, in order.
	mail map[msg.Message][]parcel
	// fed counts, for every bucket, the ranks that have fed it, and from then on
	// those that have it back.
	fed    map[bucket]int32
	report Report
	out    role.Outputs
	bytes  []byte // scratch
}

// parcel is the payload of a message under way.
type parcel struct {
	payload     any
	fingerprint uint64
}

// bucket names one all-reduce.
type bucket struct{ step, index int32 }

// actor is a role with its recorded stream.
type actor struct {
	state   role.Role
	reader  *Reader
	store   *work.Store
	next    *Step // nil at the end
	waiting bool  // the cause of next is not there yet
	// asked is the work asked for and not reported as done, by lane; results are
	// the inputs that it has given rise to and that have not been taken.
	asked   [role.Lanes][]role.Work
	results [role.Lanes][]role.Input
}

func newPlayer(cfg *role.Config, readers []*Reader, p *work.Performer, observers []event.Observer) *player {
	pl := &player{
		config: cfg, performer: p, observers: observers, byRole: map[msg.Address]*actor{},
		mail: map[msg.Message][]parcel{}, fed: map[bucket]int32{},
		report: Report{Roles: len(readers), Steps: int(cfg.Steps)},
	}
	for i, state := range role.New(cfg) {
		a := &actor{state: state, reader: readers[i], store: work.NewStore()}
		pl.actors = append(pl.actors, a)
		pl.byRole[state.Address()] = a
	}
	return pl
}

// play replays everything.
func (p *player) play() (Report, error) {
	for _, a := range p.actors {
		if err := p.advance(a); err != nil {
			return p.report, err
		}
	}
	for len(p.queue) > 0 {
		a := heap.Pop(&p.queue).(*actor)
		if !p.ready(a) {
			a.waiting = true
			continue
		}
		if err := p.step(a); err != nil {
			return p.report, err
		}
		if err := p.advance(a); err != nil {
			return p.report, err
		}
	}
	return p.report, p.end()
}

// advance reads the next step of a role and puts the role into the queue, unless
// it has ended.
func (p *player) advance(a *actor) error {
	var err error
	if a.next, err = a.reader.Next(); err != nil {
		a.next = nil
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
	heap.Push(&p.queue, a)
	return nil
}

// wake puts a role that waits into the queue again.
func (p *player) wake(a *actor) {
	if a != nil && a.waiting {
		a.waiting = false
		heap.Push(&p.queue, a)
	}
}

// ready reports whether the cause of a role's next input is there, if that is
// not the role itself.
func (p *player) ready(a *actor) bool {
	switch in := &a.next.Input; in.Kind {
	case role.Received:
		return p.find(a) >= 0
	case role.BucketReduced:
		return p.fed[bucket{in.Work.Step, in.Bucket}] >= p.config.Ranks
	}
	return true
}

// find returns the place in the mail of the message that a role receives next,
// or -1. What was sent twice may have been read twice, in between of which rows
// have changed: the payload tells.
func (p *player) find(a *actor) int {
	for i, sent := range p.mail[a.next.Input.Message] {
		if p.performer == nil || sent.fingerprint == a.next.Payload {
			return i
		}
	}
	return -1
}

// step replays the next step of a role.
func (p *player) step(a *actor) error {
	next := a.next
	p.report.Inputs++
	p.report.Span = max(p.report.Span, next.Now)
	var payload any
	switch in := &next.Input; in.Kind {
	case role.Received:
		payload = p.receive(a)
	case role.WorkPart, role.WorkDone, role.WorkFailed:
		if err := p.worked(a); err != nil {
			return err
		}
	case role.BucketReduced:
		b := bucket{in.Work.Step, in.Bucket}
		if p.fed[b]++; p.fed[b] == 2*p.config.Ranks {
			delete(p.fed, b)
		}
	}
	p.out.Reset()
	a.state.Step(next.Now, next.Input, &p.out)
	p.bytes = appendOutputs(p.bytes[:0], p.out.List)
	if !bytes.Equal(p.bytes, next.outputs) {
		return p.outputsDiffer(a)
	}
	for i := range p.out.List {
		p.take(a, payload, &p.out.List[i])
	}
	return nil
}

// receive takes the message that a role receives next out of the mail.
func (p *player) receive(a *actor) (payload any) {
	m := a.next.Input.Message
	i, sent := p.find(a), p.mail[m]
	payload = sent[i].payload
	if len(sent) == 1 {
		delete(p.mail, m)
	} else {
		p.mail[m] = append(sent[:i:i], sent[i+1:]...)
	}
	return payload
}

// worked checks that a role's next input is what its work comes to.
func (p *player) worked(a *actor) error {
	in := &a.next.Input
	lane := in.Work.Kind.Lane()
	if len(a.asked[lane]) == 0 {
		return p.differs(a, &disagreement{"input Work", fmt.Sprint(in.Work.Kind), "none was asked for"})
	}
	if d := compare("input Work", reflect.ValueOf(in.Work), reflect.ValueOf(a.asked[lane][0])); d != nil {
		return p.differs(a, d)
	}
	if in.Kind != role.WorkPart {
		a.asked[lane] = a.asked[lane][1:]
	}
	if p.performer == nil {
		return nil
	}
	got := a.results[lane][0]
	a.results[lane] = a.results[lane][1:]
	if got.Kind == role.WorkFailed && in.Kind != role.WorkFailed {
		return fmt.Errorf("%v, %v of step %d failed, which it did not when it was recorded: %w",
			a.state.Address(), got.Work.Kind, got.Work.Step, got.Reason)
	}
	if d := compare("input", reflect.ValueOf(*in), reflect.ValueOf(got)); d != nil {
		return p.differs(a, d)
	}
	return nil
}

// take does what a role asks.
func (p *player) take(a *actor, payload any, o *role.Output) {
	switch o.Kind {
	case role.Send:
		var sent parcel
		if p.performer != nil && o.Message.Kind.HasPayload() {
			sent.payload = p.performer.Payload(a.store, o.Message)
			sent.fingerprint = work.Fingerprint(o.Message, sent.payload)
		}
		p.mail[o.Message] = append(p.mail[o.Message], sent)
		p.wake(p.byRole[o.Message.To])
	case role.Do:
		p.perform(a, o.Work)
	case role.Feed:
		p.feed(bucket{o.Work.Step, o.Bucket})
	case role.Keep:
		if p.performer != nil {
			p.performer.Keep(a.store, a.next.Input.Message, payload)
		}
	case role.Release:
		if p.performer != nil {
			a.store.Release(o.Handle)
		}
	case role.Record:
		for _, observer := range p.observers {
			observer.Observe(o.Event)
		}
	}
}

// perform does work, and keeps what it comes to until its role hears of it.
func (p *player) perform(a *actor, w role.Work) {
	lane := w.Kind.Lane()
	a.asked[lane] = append(a.asked[lane], w)
	if p.performer == nil {
		return
	}
	done := role.Input{Kind: role.WorkDone, Work: w}
	result, err := p.performer.Do(a.state.Address(), a.store, w, func(bucket int32) {
		a.results[lane] = append(a.results[lane], role.Input{Kind: role.WorkPart, Work: w, Bucket: bucket})
	})
	if err != nil {
		done.Kind, done.Reason = role.WorkFailed, err
	} else {
		done.Result = result
	}
	a.results[lane] = append(a.results[lane], done)
}

// feed counts a rank's bucket, and reduces it when it was the last rank.
func (p *player) feed(b bucket) {
	p.fed[b]++
	if p.fed[b] < p.config.Ranks {
		return
	}
	if p.performer != nil {
		p.performer.Reduce(b.index)
	}
	for rank := range p.config.Ranks {
		p.wake(p.byRole[msg.Address{Role: msg.NNWorker, Index: rank}])
	}
}

// end checks what can be checked when no role can go on.
func (p *player) end() error {
	if err := p.stalled(); err != nil || p.performer == nil {
		return err
	}
	for _, a := range p.actors {
		if got, want := p.performer.Digest(a.state.Address()), a.reader.end.Digest; got != want {
			return &Difference{
				Role: a.state.Address(), Step: p.config.Steps - 1, Field: "parameters at the end",
				Recorded: fmt.Sprintf("%016x", want), Replayed: fmt.Sprintf("%016x", got),
			}
		}
	}
	return nil
}

// queue is a heap of roles by the times of their next inputs, then by address.
type queue []*actor

func (q queue) Len() int           { return len(q) }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q queue) Less(i, j int) bool { return q[i].before(q[j]) }
func (q *queue) Push(x any)        { *q = append(*q, x.(*actor)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	a := (*q)[last]
	*q = (*q)[:last]
	return a
}

func (a *actor) before(b *actor) bool {
	if a.next.Now != b.next.Now {
		return a.next.Now < b.next.Now
	}
	return a.state.Address().Less(b.state.Address())
}
