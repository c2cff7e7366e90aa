package cluster

import (
	"fmt"

	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/sim/des"
)

// timer is a pending event that may move.
type timer struct {
	id des.ID
	at unit.Tick // 0: none is pending
}

// reschedule moves an event to where it belongs now.
func (w *simulation) reschedule(t *timer, at unit.Tick, ok bool, e des.Event) {
	if ok && t.at == at && t.id != (des.ID{}) {
		return
	}
	w.cancelTimer(t)
	if ok {
		e.At = at
		*t = timer{w.clock.Schedule(e), at}
	}
}

// stallMost is the longest time without progress of any rank while timers fire: without timers the queue of
// events runs empty when nothing can happen any more, but roles that ask again keep it busy for ever. It is
// far beyond what faults hold a rank up for.
const stallMost = 20 * unit.Minute

// floodFactor is how many times roles may ask again while one message is under way. Roles that ask again
// sooner than a cluster can answer only slow it down further, without end.
const floodFactor = 5

// fireTimer gives a role its timer, unless asking again is in vain.
func (w *simulation) fireTimer(i int32) {
	w.instances[i].timer = timer{}
	now, c := w.clock.Now(), w.config
	if now-w.checkedDeliveries >= c.Retry {
		w.checkedDeliveries = now
		if longest := w.longestUnderWay(now); longest > floodFactor*c.Retry {
			w.fail(
				fmt.Errorf(
					"cluster: after %v, a message has been under way for %v, "+
						"and roles ask again every %v; set a longer retry",
					now,
					longest,
					c.Retry,
				),
			)
			return
		}
	}
	if now-w.progressed > stallMost && !w.ranksCompute() {
		w.fail(
			fmt.Errorf("cluster: after %v no rank has done anything for %v, though roles ask again every %v",
				now, now-w.progressed, c.Retry),
		)
		return
	}
	w.causeUnknown()
	w.handleInput(i, role.Input{Kind: role.TimerFired})
}

// longestUnderWay returns for how long the oldest message that has not arrived is under way.
func (w *simulation) longestUnderWay(now unit.Tick) unit.Tick {
	longest := unit.Tick(0)
	for i := range w.tasks {
		if t := &w.tasks[i]; t.kind == delivering && t.copies > 0 { // not a free place
			longest = max(longest, now-t.since)
		}
	}
	return longest
}

// ranksCompute reports whether work of an NN worker is under way.
func (w *simulation) ranksCompute() bool {
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
func (w *simulation) stopTimers() {
	for i := range w.instances {
		w.cancelTimer(&w.instances[i].timer)
	}
}

// cancelTimer cancels the event of a timer.
func (w *simulation) cancelTimer(t *timer) {
	w.clock.Cancel(t.id)
	*t = timer{}
}
