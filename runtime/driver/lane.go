package driver

import (
	"sync"
	"time"

	"tandem/algo/exec"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
)

// lane is one lane of a role. One goroutine does its work, or several if the work is independent; the ends of
// work still arrive in the order of its issue.
type lane struct {
	tasks  *queue[task]
	issued uint64 // number of tasks with work so far; used by the goroutine of the role alone

	mu    sync.Mutex
	ended uint64               // number of tasks whose ends have been passed on
	early map[uint64]*delivery // ends of later tasks, by number; nil if a crash has made them void
}

// task is what a lane does next: work of its role or, between two pieces of work, a read of the role's state.
type task struct {
	work        role.Work
	operands    role.Operands
	store       *exec.Store
	incarnation uint32 // that queued the work
	number      uint64 // of the lane's work, from 0
	read        func() // nil if the task is work
}

func newLane() *lane { return &lane{tasks: newQueue[task](), early: map[uint64]*delivery{}} }

// add queues work.
func (l *lane) add(t task) {
	t.number = l.issued
	l.issued++
	l.tasks.push(t)
}

// end passes on the end of a task once the ends of all earlier tasks have been passed on: the order is that
// of the issue.
func (l *lane) end(number uint64, d *delivery, pass func(delivery)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.early[number] = d
	for {
		d, here := l.early[l.ended]
		if !here {
			return
		}
		delete(l.early, l.ended)
		l.ended++
		if d != nil {
			pass(*d)
		}
	}
}

// workersOf returns how many goroutines do the work of each lane of an embedding worker, whose work is
// independent: as many as there are cores, over all lanes of those in one process.
func workersOf(embeddingWorkers, cores int) int {
	return max(1, cores/(role.Lanes*max(1, embeddingWorkers)))
}

// workers returns the number of goroutines of each lane.
func (n *instance) workers() int {
	if n.address.Role == msg.EmbeddingWorker {
		return n.run.workers
	}
	return 1
}

// runLane is a goroutine of one lane.
func (n *instance) runLane(l *lane) {
	b := &brake{factor: n.run.options.Slow.Factor(n.address)}
	for {
		t, ok := l.tasks.pop()
		if !ok {
			return
		}
		if t.read != nil {
			t.read()
			continue
		}
		l.end(t.number, n.perform(t, b), func(d delivery) { n.inbox.push(d) })
	}
}

// perform does one piece of work and returns its end, or nil if the role has crashed in the meantime.
func (n *instance) perform(t task, b *brake) *delivery {
	if t.incarnation != n.incarnation.Load() {
		return nil
	}
	d := delivery{input: role.Input{Kind: role.WorkDone, Work: t.work}, issue: uint64(t.incarnation)}
	if d.input.Result, d.input.Reason = n.execute(t, b); d.input.Reason != nil {
		d.input.Kind = role.WorkFailed
	}
	return &d
}

// execute does one piece of work.
func (n *instance) execute(t task, b *brake) (role.Result, error) {
	w := t.work
	if before := n.run.options.BeforeStep; before != nil && w.Kind == role.Forward && w.Rank == 0 {
		if err := before(int(w.Step), liveState{n.run}); err != nil {
			return role.Result{}, err
		}
	}
	var result role.Result
	var err error
	n.run.timed(b, func(pause func()) {
		result, err = n.run.executor.Execute(n.address, t.store, w, t.operands, func(bucket int32) {
			pause()
			n.inbox.push(delivery{input: role.Input{Kind: role.WorkPart, Work: w, Bucket: bucket},
				issue: uint64(t.incarnation)})
		})
	}, func(took time.Duration) { n.run.options.Stopwatch.Worked(w, took) })
	return result, err
}
