package search

import (
	"fmt"
	"slices"

	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
)

// Action is one thing that can happen next.
type Action struct {
	kind  actionKind
	index int // of the message, lane, rank or role
}

type actionKind uint8

const (
	deliver   actionKind = iota // message index arrives
	complete                    // the next completion of lane index
	reduce                      // the next reduced bucket of rank index
	lose                        // message index is lost
	duplicate                   // message index arrives, and will arrive again
	crash                       // role index crashes
	comeBack                    // role index, which has crashed, starts again
	timeout                     // nothing else can happen: every role's timer fires
	early                       // every role's timer fires, though other things could happen
)

// fault reports whether an action is one of the Faults of a Setting.
func (a Action) fault() bool {
	switch a.kind {
	case lose, duplicate, crash, early:
		return true
	}
	return false
}

// Actions returns what can happen next, in a fixed order; none at the end.
func (w *World) Actions() []Action {
	var acts []Action
	for i := range w.inbox {
		if i == 0 || compareMessages(w.inbox[i], w.inbox[i-1]) != 0 {
			acts = append(acts, Action{deliver, i})
		}
	}
	for i := range w.lanes {
		for lane := range w.lanes[i] {
			if w.lanes[i][lane].Len() > 0 {
				acts = append(acts, Action{complete, i*role.Lanes + lane})
			}
		}
	}
	for i := range w.buckets {
		if w.buckets[i].Len() > 0 {
			acts = append(acts, Action{reduce, i})
		}
	}
	if len(acts) == 0 && w.armed != 0 && w.finished < w.set.Config.Ranks {
		acts = append(acts, Action{timeout, 0})
	}
	for i := range w.roles {
		if w.away&(1<<i) != 0 {
			acts = append(acts, Action{comeBack, i})
		}
	}
	if w.set.Eager {
		if i := slices.IndexFunc(acts, w.commutes); i >= 0 {
			acts = acts[i : i+1]
		}
	}
	if w.faults < w.set.Faults {
		acts = w.appendFaults(acts)
	}
	return acts
}

// commutes reports whether an action leads to the same world, and to the same
// reads, whether it comes before or after any other. All but three do: they
// move one batch on inside one role, and neither read nor write what the order
// of anything else depends on. What a PS reads depends on the order in which
// lookups and puts reach it, and what is outstanding on when a rank hears that
// a put is done. For dense PSs the same holds of pulls, pushes and their
// acknowledgement, and of the slowest clock.
func (w *World) commutes(a Action) bool {
	if a.kind != deliver {
		return true
	}
	switch w.inbox[a.index].Kind {
	case msg.Lookup, msg.Put, msg.PutDone:
		return w.set.DenseOrders
	case msg.Pull, msg.Push, msg.PushAck, msg.SlowestClock:
		return !w.set.DenseOrders
	case msg.ReportClock: // the first ranks make the step
		return w.set.Config.Rule.Dense().Quorum == 0
	}
	return true
}

func (w *World) appendFaults(acts []Action) []Action {
	for i := range w.inbox {
		if i == 0 || compareMessages(w.inbox[i], w.inbox[i-1]) != 0 {
			acts = append(acts, Action{lose, i}, Action{duplicate, i})
		}
	}
	for i, r := range w.roles {
		if w.mayCrash(r.Address().Role) && w.away&(1<<i) == 0 {
			acts = append(acts, Action{crash, i})
		}
	}
	if w.set.EarlyTimers {
		acts = append(acts, Action{early, 0})
	}
	return acts
}

// mayCrash reports whether a role comes back from a crash with all that it needs.
func (w *World) mayCrash(r msg.Role) bool {
	switch r {
	case msg.NNWorker:
		return false
	case msg.ParameterServer, msg.DenseServer:
		return !w.set.Config.Rule.Dense().Buffered
	}
	return w.set.Config.CanRestart(r)
}

// Describe names an action of this world for a history.
func (w *World) Describe(a Action) string {
	switch a.kind {
	case deliver:
		return w.inbox[a.index].String()
	case complete:
		in := w.lanes[a.index/role.Lanes][a.index%role.Lanes].Front().input
		what := "done"
		if in.Kind == role.WorkPart {
			what = fmt.Sprintf("bucket %d ready", in.Bucket)
		}
		return fmt.Sprintf("%v: %v rank %d step %d %s", w.roles[a.index/role.Lanes].Address(), in.Work.Kind, in.Work.Rank, in.Work.Step, what)
	case reduce:
		in := w.buckets[a.index].Front()
		return fmt.Sprintf("nn-worker %d: bucket %d of step %d reduced", a.index, in.Bucket, in.Work.Step)
	case lose:
		return "LOST " + w.inbox[a.index].String()
	case duplicate:
		return "TWICE " + w.inbox[a.index].String()
	case crash:
		return fmt.Sprintf("CRASH of %v", w.roles[a.index].Address())
	case comeBack:
		return fmt.Sprintf("%v is back", w.roles[a.index].Address())
	case early:
		return "timers fire EARLY"
	}
	return "timers fire"
}

// Do performs an action in place. The error names the invariant that it breaks.
func (w *World) Do(a Action) error {
	if a.fault() {
		w.faults++
	}
	switch a.kind {
	case deliver:
		m := w.inbox[a.index]
		w.inbox = slices.Delete(w.inbox, a.index, a.index+1)
		return w.receive(m)
	case complete:
		return w.complete(a.index)
	case reduce:
		in := w.buckets[a.index].Pop()
		i, _ := w.roster.Index(msg.Address{Role: msg.NNWorker, Index: int32(a.index)})
		return w.step(i, in)
	case lose:
		w.inbox = slices.Delete(w.inbox, a.index, a.index+1)
	case duplicate:
		return w.receive(w.inbox[a.index])
	case crash:
		w.crash(a.index)
	case comeBack:
		w.away &^= 1 << a.index
		return w.step(a.index, role.Input{Kind: role.Start, Incarnation: uint32(w.crashes[a.index])})
	case early, timeout:
		return w.fireTimers()
	}
	return nil
}

// receive hands a message to its receiver. It is lost if that is away.
func (w *World) receive(m msg.Message) error {
	i, _ := w.roster.Index(m.To)
	if w.away&(1<<i) != 0 {
		return nil
	}
	if err := role.CheckCredit(&w.set.Config, w.roles[i], m); err != nil {
		return err
	}
	return w.step(i, role.Input{Kind: role.Received, Message: m})
}

// crash takes away all that role i has, but the state that survives in an arena.
func (w *World) crash(i int) {
	w.touch(i)
	w.crashes[i]++
	w.away |= 1 << i
	w.armed &^= 1 << i
	w.held[i] = nil
	w.lanes[i].Clear()
	w.credit[i] = role.NewCredit(&w.set.Config)
	if w.roles[i].Address().Role == msg.DataLoader {
		w.read = 0 // it reads again
	}
}

// fireTimers fires every timer that is set.
func (w *World) fireTimers() error {
	for i := range w.roles {
		if w.armed&(1<<i) == 0 {
			continue
		}
		w.armed &^= 1 << i
		if err := w.step(i, role.Input{Kind: role.TimerFired}); err != nil {
			return err
		}
	}
	return nil
}

func (w *World) complete(lane int) error {
	i := lane / role.Lanes
	done := w.lanes[i][lane%role.Lanes].Pop()
	w.touch(i)
	for _, h := range done.makes {
		if w.holds(i, h) && h.Kind != role.PooledGrads {
			return fmt.Errorf("%v makes %+v, which it already holds", w.roles[i].Address(), h)
		}
		w.hold(i, h)
	}
	return w.step(i, done.input)
}
