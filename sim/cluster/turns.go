package cluster

import "tandem/algo/unit"

// turn is how long a goroutine may run before another one that waits takes its
// core.
//
// Source: forcePreemptNS in runtime/proc.go of Go 1.26.
const turn = 10 * unit.Millisecond

// turns is how the goroutines of one process use its cores: each runs alone on a
// core until it has done its work or its turn is over, and the others wait in
// line. Work in training is shorter than a turn, so that nearly all of it runs to
// its end. Hosts of a cluster have processes, threads and other tenants, and are
// shared in equal parts instead.
type turns struct {
	running int
	waiting []int32 // tasks, in order
}

// occupy has a task use up to width cores of a host for some core time.
func (w *world) occupy(h *host, work unit.Tick, width int, i int32) {
	if h.turns == nil {
		h.cores.Start(w.clock.Now(), work, width, int64(i))
		return
	}
	w.tasks[i].left = work
	h.turns.waiting = append(h.turns.waiting, i)
	w.dispatch(h)
}

// dispatch gives idle cores to those first in line.
func (w *world) dispatch(h *host) {
	q := h.turns
	for q.running < h.model.Cores && len(q.waiting) > 0 {
		i := q.waiting[0]
		q.waiting = append(q.waiting[:0], q.waiting[1:]...)
		q.running++
		takes := min(w.tasks[i].left, turn)
		w.tasks[i].left -= takes
		h.cores.Start(w.clock.Now(), takes, 1, int64(i))
	}
}

// endTurn takes a task off its core, and reports whether its work is done; if not,
// it waits for another turn.
func (w *world) endTurn(h *host, i int32) bool {
	if h.turns == nil {
		return true
	}
	h.turns.running--
	left := w.tasks[i].left
	if left > 0 {
		h.turns.waiting = append(h.turns.waiting, i)
	}
	w.dispatch(h)
	return left == 0
}
