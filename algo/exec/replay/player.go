package replay

import (
	"bytes"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"reflect"

	"tandem/algo/exec"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// player is the driver of a replay. A role takes its next recorded input when the cause of that input exists;
// of the roles that can, the one with the earliest time goes first. Work is executed when a role asks for
// it, which is one of the orders that the recorded driver might have chosen: lanes are in order of issue, and
// nothing that work touches changes between its issue and its end except by earlier work of the lane.
//
// # Faults
//
// A message that was lost, or that arrived while its receiver was away, stays in the mail. A message that
// was repeated is received as often as it was recorded. A role that crashed begins again at its Start with
// the next incarnation: the player empties its store and drops its timer and the work that it has asked for.
// Whether the recorded run executed that work does not matter: roles of role.CanRestart have no effect
// outside their own store, and an optimizer step of a rank is taken once for all ranks (package dense). A
// process that is killed is such a crash of all its roles.
//
// A stream has no crash, and what a rank has fed counts until then. Its next Start names the first bucket
// that was not complete: what the incarnation before has fed of that one and later ones never counts. Else
// sums would be complete before the rank computes its part again.
type player struct {
	config    *role.Config
	roster    role.Roster
	executor  *exec.Executor // nil: no numbers
	observers []event.Observer
	actors    []*actor // by roster
	queue     queue    // of actors that are neither waiting nor done
	barrier   *role.Reduction
	report    Report
	out       role.Outputs
	bytes     []byte // scratch
}

// actor is a role with its recorded stream.
type actor struct {
	state   role.Role
	reader  *incarnations
	store   *exec.Store
	next    *Step // nil at the end
	waiting bool  // the cause of next does not exist yet
	mail    *mailbox
	// results are the inputs that follow from work asked for, and reduced those that follow from all-reduces.
	results role.LaneQueues[role.Input]
	reduced role.Queue[role.Input]
	// timer is when the timer fires, if it is set.
	timer       unit.Tick
	timerSet    bool
	incarnation uint32
	// withdrawn has, for each incarnation of a rank that crashes, the first bucket that it feeds in vain:
	// step × buckets + bucket.
	withdrawn []int64
}

// counts reports whether what a rank feeds is a part of a sum.
func (a *actor) counts(c role.Contribution, buckets int64) bool {
	return int(a.incarnation) >= len(a.withdrawn) ||
		int64(c.Step)*buckets+int64(c.Bucket) < a.withdrawn[a.incarnation]
}

func newPlayer(cfg *role.Config, readers []*Reader, e *exec.Executor, observers []event.Observer) *player {
	p := &player{
		config: cfg, roster: cfg.Roster(), executor: e, observers: observers,
		barrier: role.NewReduction(int(cfg.Ranks), len(cfg.Buckets)),
		report:  Report{Roles: len(readers), Steps: int(cfg.Steps)},
	}
	for i, state := range role.New(cfg) {
		p.actors = append(p.actors, &actor{
			state: state, reader: newIncarnations(readers[i]), store: exec.NewStore(), mail: newMailbox(cfg),
		})
	}
	return p
}

// survey reads every stream once, before the replay: it notes which messages arrive late and what ranks feed
// in vain, and finds what is damaged or cut short before anything is computed.
func (p *player) survey() error {
	for _, a := range p.actors {
		for {
			s, err := a.reader.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			switch in := &s.Input; {
			case in.Kind == role.Received:
				a.mail.announce(in.Message)
			case in.Kind == role.Start && in.Incarnation > 0:
				first := int64(in.Next)*int64(len(p.config.Buckets)) + int64(in.Bucket)
				a.withdrawn = append(a.withdrawn, first)
			}
		}
		a.mail.begin()
		if err := a.reader.rewind(); err != nil {
			return err
		}
	}
	return nil
}

// play replays everything.
func (p *player) play() (Report, error) {
	if err := p.survey(); err != nil {
		return p.report, err
	}
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
	if a.waiting {
		a.waiting = false
		heap.Push(&p.queue, a)
	}
}

// ready reports whether the cause of a role's next input exists, if the cause is another role.
func (p *player) ready(a *actor) bool {
	switch in := &a.next.Input; in.Kind {
	case role.Received:
		return a.mail.find(in.Message, p.printOf(a.next)) >= 0
	case role.BucketReduced:
		return a.reduced.Len() > 0
	}
	return true
}

// printOf returns the fingerprint of the payload that a step was recorded with; 0 without numbers, where
// payloads do not exist.
func (p *player) printOf(s *Step) uint64 {
	if p.executor == nil {
		return 0
	}
	return s.Payload
}

// step replays the next step of a role.
func (p *player) step(a *actor) error {
	next := a.next
	in := &next.Input
	p.report.Inputs++
	p.report.Span = max(p.report.Span, next.Now)
	if err := p.check(a); err != nil {
		return err
	}
	var payload exec.Payload
	if in.Kind == role.Received {
		payload = a.mail.receive(in.Message, p.printOf(next))
	}
	p.out.Reset()
	a.state.HandleInput(next.Now, *in, &p.out)
	p.bytes = appendOutputs(p.bytes[:0], p.out.List)
	if !bytes.Equal(p.bytes, next.outputs) {
		return p.outputsDiffer(a)
	}
	return role.Dispatch(in, &p.out, driver{p, a, payload})
}

// check compares a role's next input with the input that the replay would have given it, except for messages:
// for those, see ready.
func (p *player) check(a *actor) error {
	next := a.next
	in := &next.Input
	if next.begins && in.Kind != role.Start {
		return p.differs(a, &disagreement{"input", "it came", "the first input of a role is its start"})
	}
	switch in.Kind {
	case role.Start:
		return p.start(a)
	case role.WorkPart, role.WorkDone, role.WorkFailed:
		q := a.results.Lane(in.Work.Kind)
		if q.Len() == 0 {
			return p.differs(a, &disagreement{"input.Work", fmt.Sprint(in.Work.Kind), "none was asked for"})
		}
		return p.follows(a, q.Pop())
	case role.BucketReduced:
		return p.follows(a, a.reduced.Pop())
	case role.TimerFired:
		if !a.timerSet {
			return p.differs(a, &disagreement{"input", "it came", "no timer is set"})
		}
		if next.Now < a.timer {
			return p.differs(a, &disagreement{"now", fmt.Sprint(next.Now),
				fmt.Sprintf("not before %v", a.timer)})
		}
		a.timerSet = false
	}
	return nil
}

// start begins an incarnation of a role, which has none of the data of the one before.
func (p *player) start(a *actor) error {
	want := a.incarnation + 1
	if a.next.begins {
		want = a.reader.incarnation()
	}
	if got := a.next.Input.Incarnation; got != want {
		return p.differs(a, &disagreement{"input.Incarnation", fmt.Sprint(got), fmt.Sprint(want)})
	}
	a.incarnation = want
	a.store = exec.NewStore()
	a.results.Clear()
	a.timerSet = false
	if at := a.state.Address(); at.Role == msg.NNWorker && want > 0 {
		a.reduced.Clear()
		if next := a.next.Input.Next; next > p.barrier.Open() {
			return p.differs(a, &disagreement{"input.Next", fmt.Sprint(next),
				fmt.Sprintf("at most %d: later steps are not reduced", p.barrier.Open())})
		}
		p.barrier.Rewind(int(at.Index), a.next.Input.Next)
	}
	return nil
}

// follows compares a role's next input with the result of the replay's own work or all-reduce. Without
// numbers, counts and failures are those of the recording.
func (p *player) follows(a *actor, got role.Input) error {
	in := &a.next.Input
	switch {
	case p.executor == nil && in.Kind == role.WorkFailed:
		got.Kind, got.Reason = in.Kind, in.Reason
	case p.executor == nil:
		got.Result = in.Result
	case got.Kind == role.WorkFailed && in.Kind != role.WorkFailed:
		return fmt.Errorf("%v, %v of step %d failed, which it did not when it was recorded: %w",
			a.state.Address(), got.Work.Kind, got.Work.Step, got.Reason)
	}
	if d := compare("input", reflect.ValueOf(*in), reflect.ValueOf(got)); d != nil {
		return p.differs(a, d)
	}
	return nil
}

// end runs the checks of the end of a run, when no role can continue.
func (p *player) end() error {
	if err := p.stalled(); err != nil || p.executor == nil {
		return err
	}
	for _, a := range p.actors {
		if held := a.store.Len(); held > 0 {
			return fmt.Errorf("replay: %v holds %d handles after the run; the recorded run held none",
				a.state.Address(), held)
		}
		got, want := exec.RecordedDigest(p.executor.Model(), a.state.Address()), a.reader.digest()
		if got != want {
			return &Difference{
				Role: a.state.Address(), Step: p.config.Steps - 1, Field: "parameters at the end",
				Recorded: fmt.Sprintf("%016x", want), Replayed: fmt.Sprintf("%016x", got),
			}
		}
	}
	return nil
}

// actor returns the role at an address, which must be of the run.
func (p *player) actor(at msg.Address) *actor {
	i, _ := p.roster.Index(at)
	return p.actors[i]
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
