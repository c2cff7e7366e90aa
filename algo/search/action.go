package search

import (
	"fmt"
	"slices"

	"tandem/algo/msg"
	"tandem/algo/role"
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
	crash                       // role index crashes and comes back
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
	for i, q := range w.lanes {
		if len(q) > 0 {
			acts = append(acts, Action{complete, i})
		}
	}
	for i, q := range w.buckets {
		if len(q) > 0 {
			acts = append(acts, Action{reduce, i})
		}
	}
	if len(acts) == 0 {
		if w.set.Config.Retry > 0 && w.finished < w.set.Config.Ranks {
			return []Action{{timeout, 0}}
		}
		return nil
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
		if _, ok := r.(role.Restarter); ok {
			acts = append(acts, Action{crash, i})
		}
	}
	if w.set.EarlyTimers {
		acts = append(acts, Action{early, 0})
	}
	return acts
}

// Describe names an action of this world for a history.
func (w *World) Describe(a Action) string {
	switch a.kind {
	case deliver:
		return w.inbox[a.index].String()
	case complete:
		in := w.lanes[a.index][0]
		what := "done"
		if in.Kind == role.WorkPart {
			what = fmt.Sprintf("bucket %d ready", in.Bucket)
		}
		return fmt.Sprintf("%v: %v rank %d step %d %s", w.roles[a.index/role.Lanes].Address(), in.Work.Kind, in.Work.Rank, in.Work.Step, what)
	case reduce:
		in := w.buckets[a.index][0]
		return fmt.Sprintf("NN worker %d: bucket %d of step %d reduced", a.index, in.Bucket, in.Work.Step)
	case lose:
		return "LOST " + w.inbox[a.index].String()
	case duplicate:
		return "TWICE " + w.inbox[a.index].String()
	case crash:
		return fmt.Sprintf("CRASH and restart of %v", w.roles[a.index].Address())
	case early:
		return "timers fire EARLY"
	}
	return "timers fire"
}

// Do performs an action in place. The error names the law that it breaks.
func (w *World) Do(a Action) error {
	switch a.kind {
	case deliver:
		m := w.inbox[a.index]
		w.inbox = slices.Delete(w.inbox, a.index, a.index+1)
		return w.step(w.index(m.To), role.Input{Kind: role.Received, Message: m})
	case complete:
		return w.complete(a.index)
	case reduce:
		in := w.buckets[a.index][0]
		w.buckets[a.index] = w.buckets[a.index][1:]
		return w.step(w.index(msg.Address{Role: msg.NNWorker, Index: int32(a.index)}), in)
	case lose:
		w.fault()
		w.inbox = slices.Delete(w.inbox, a.index, a.index+1)
	case duplicate:
		w.fault()
		m := w.inbox[a.index]
		return w.step(w.index(m.To), role.Input{Kind: role.Received, Message: m})
	case crash:
		w.fault()
		w.touch(a.index)
		w.roles[a.index].(role.Restarter).Restart()
		clear(w.held[a.index])
		for lane := range role.Lanes {
			w.lanes[a.index*role.Lanes+lane] = nil
		}
	case early:
		w.faults++ // and credit is still checked: asking again costs none
		return w.fireTimers()
	case timeout:
		return w.fireTimers()
	}
	return nil
}

func (w *World) fireTimers() error {
	for i := range w.roles {
		if err := w.step(i, role.Input{Kind: role.TimerFired}); err != nil {
			return err
		}
	}
	return nil
}

func (w *World) complete(lane int) error {
	in := w.lanes[lane][0]
	w.lanes[lane] = w.lanes[lane][1:]
	i := lane / role.Lanes
	w.touch(i)
	if in.Kind == role.WorkDone {
		for _, h := range role.Products(in.Work) {
			if w.held[i][h] && h.Kind != role.PooledGrads {
				return fmt.Errorf("%v makes %+v, which it already holds", w.roles[i].Address(), h)
			}
			w.held[i][h] = true
		}
	}
	return w.step(i, in)
}

// fault counts a fault. A crash forgets requests, so credit is no longer
// checked.
func (w *World) fault() {
	w.faults++
	for i := range w.credit {
		w.credit[i] = nil
	}
}
