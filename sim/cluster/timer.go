package cluster

import (
	"fmt"

	"tandem/algo/msg"
	"tandem/algo/role"
	"tandem/algo/unit"
	"tandem/sim/engine"
)

// timer is a pending event that may move.
type timer struct {
	id engine.ID
	at unit.Tick // 0: none is pending
}

// rearm moves an event to where it belongs now.
func (w *world) rearm(t *timer, at unit.Tick, ok bool, e engine.Event) {
	if ok && t.at == at && t.id != (engine.ID{}) {
		return
	}
	w.cancel(t)
	if ok {
		e.At = at
		*t = timer{w.clock.Schedule(e), at}
	}
}

// stallMost is the longest time without progress of any rank while timers fire: without timers the queue of
// events runs empty when nothing can happen any more, but roles that ask again keep it busy for ever. It is
// far beyond what faults hold a rank up for.
const stallMost = 20 * unit.Minute

// floodFactor is how many times the most that can be unanswered may be under way. Roles that ask again
// faster than a cluster answers only slow it down further, without end.
const floodFactor = 16

// fire gives a role its timer, unless asking again is in vain.
func (w *world) fire(i int32) {
	w.instances[i].timer = timer{}
	now, c := w.clock.Now(), w.config
	if most := floodFactor * int(c.Ranks*(c.Prefetch+1)) * (int(c.ParameterServers) + len(c.DenseServers) + 4); w.busy > most {
		w.fail(fmt.Errorf("cluster: after %v, %d messages are under way: roles ask again every %v, and answers take longer; set a longer retry",
			now, w.busy, c.Retry))
		return
	}
	if now-w.progressed > stallMost && !w.computing() {
		w.fail(fmt.Errorf("cluster: after %v no rank has done anything for %v, though roles ask again every %v",
			now, now-w.progressed, c.Retry))
		return
	}
	w.step(i, role.Input{Kind: role.TimerFired})
}

// computing reports whether work of an NN worker is under way.
func (w *world) computing() bool {
	for i := range w.instances {
		n := &w.instances[i]
		for lane := range n.lanes {
			if n.at.Role == msg.NNWorker && n.lanes[lane].Len() > 0 {
				return true
			}
		}
	}
	return false
}

// stopTimers cancels the timers of all roles, and the return of those that are away.
func (w *world) stopTimers() {
	for i := range w.instances {
		w.cancel(&w.instances[i].timer)
	}
}

// cancel cancels the event of a timer.
func (w *world) cancel(t *timer) {
	w.clock.Cancel(t.id)
	*t = timer{}
}
