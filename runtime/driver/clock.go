package driver

import (
	"container/heap"
	"sync"
	"time"

	"tandem/algo/unit"
)

// clock calls functions at set times, one at a time, in the goroutine of its method run. Functions that are
// due at the same time are called in the order in which they were scheduled.
type clock struct {
	now     func() unit.Tick // monotonic
	changed chan struct{}    // receives an item when an alarm was added
	closed  chan struct{}

	mu     sync.Mutex
	alarms alarms
	number uint64 // of alarms scheduled so far
}

func newClock(now func() unit.Tick) *clock {
	return &clock{now: now, changed: make(chan struct{}, 1), closed: make(chan struct{})}
}

// schedule calls fire at a time, or as soon as possible after it. It may be called from a fire function.
func (c *clock) schedule(at unit.Tick, fire func()) {
	c.mu.Lock()
	heap.Push(&c.alarms, alarm{at, c.number, fire})
	c.number++
	c.mu.Unlock()
	select {
	case c.changed <- struct{}{}:
	default: // run has yet to see an earlier change
	}
}

// run calls functions that are due until close is called.
func (c *clock) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if next, ok := c.fireDue(); ok {
			timer.Reset(time.Duration(next - c.now()))
		}
		select {
		case <-timer.C:
		case <-c.changed:
		case <-c.closed:
			return
		}
	}
}

// fireDue calls the functions that are due. It returns the time of the next alarm, if there is one.
func (c *clock) fireDue() (next unit.Tick, ok bool) {
	for {
		c.mu.Lock()
		if len(c.alarms) == 0 || c.alarms[0].at > c.now() {
			if ok = len(c.alarms) > 0; ok {
				next = c.alarms[0].at
			}
			c.mu.Unlock()
			return next, ok
		}
		due := heap.Pop(&c.alarms).(alarm)
		c.mu.Unlock()
		due.fire()
	}
}

// close ends run. Alarms that are not due yet never fire.
func (c *clock) close() { close(c.closed) }

// alarm is one function that a clock will call.
type alarm struct {
	at     unit.Tick
	number uint64
	fire   func()
}

// alarms is a heap with the earliest alarm first.
type alarms []alarm

func (a alarms) Len() int      { return len(a) }
func (a alarms) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a alarms) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].number < a[j].number
}
func (a *alarms) Push(x any) { *a = append(*a, x.(alarm)) }
func (a *alarms) Pop() any {
	last := len(*a) - 1
	x := (*a)[last]
	(*a)[last] = alarm{} // so that what the function refers to can be freed
	*a = (*a)[:last]
	return x
}
