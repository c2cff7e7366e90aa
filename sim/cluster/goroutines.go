package cluster

import (
	"tandem/algo/unit"
	"tandem/sim/station"
)

// timeSlice is how long a goroutine may run before another one that waits takes its core.
//
// Source: forcePreemptNS in runtime/proc.go of Go 1.26.
const timeSlice = 10 * unit.Millisecond

// goroutineScheduler is how the goroutines of one process use its cores: each runs alone on a core until it
// has done its work or its turn is over, and the others wait in line. Work in training is shorter than a
// turn, so that nearly all of it runs to its end. Hosts of a cluster have processes, threads and other
// tenants, and are shared in equal parts instead.
type goroutineScheduler struct {
	cores   *station.Shared
	running int
	waiting []int32 // tasks, in order

	waited unit.Tick // waiting time of all tasks, up to at
	at     unit.Tick
	served int64 // tasks
}

// Servers implements station.Station.
func (q *goroutineScheduler) Servers() float64 { return q.cores.Servers() }

// Stats implements station.Station.
func (q *goroutineScheduler) Stats(now unit.Tick) station.Stats {
	q.account(now)
	return station.Stats{Busy: q.cores.Busy(now), Waited: q.waited, Served: q.served}
}

// account adds up waiting time to now, before the number of waiting tasks changes.
func (q *goroutineScheduler) account(now unit.Tick) {
	q.waited += (now - q.at) * unit.Tick(len(q.waiting))
	q.at = now
}

// runOnCores has a task use up to width cores of a host for some core time.
func (w *simulation) runOnCores(h *host, work unit.Tick, width float64, i int32) {
	if h.goroutines == nil {
		h.cores.Start(w.clock.Now(), work, width, int64(i))
		return
	}
	w.tasks[i].left, w.tasks[i].began = work, unit.Forever
	h.goroutines.account(w.clock.Now())
	h.goroutines.waiting = append(h.goroutines.waiting, i)
	w.startWaiting(h)
}

// startWaiting starts the first waiting tasks on idle cores.
func (w *simulation) startWaiting(h *host) {
	q := h.goroutines
	for q.running < int(q.cores.Servers()) && len(q.waiting) > 0 {
		i := q.waiting[0]
		q.waiting = append(q.waiting[:0], q.waiting[1:]...)
		q.running++
		w.tasks[i].began = min(w.tasks[i].began, w.clock.Now())
		takes := min(w.tasks[i].left, timeSlice)
		w.tasks[i].left -= takes
		h.cores.Start(w.clock.Now(), takes, 1, int64(i))
	}
}

// endTimeSlice takes a task off its core and reports whether its work is done; if not, the task waits for
// another time slice.
func (w *simulation) endTimeSlice(h *host, i int32) bool {
	q := h.goroutines
	if q == nil {
		return true
	}
	q.account(w.clock.Now())
	q.running--
	left := w.tasks[i].left
	if left > 0 {
		q.waiting = append(q.waiting, i)
	} else {
		q.served++
	}
	w.startWaiting(h)
	return left == 0
}
