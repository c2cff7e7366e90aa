package driver

import (
	"container/heap"
	"sync"
	"time"

	"tandem/algo/unit"
)

// clock calls functions at set times, one at a time, in the goroutine of its method run. Functions of the
// same time are called in the order in which they were set.
type clock struct {
	now     func() unit.Tick // monotonic
	changed chan struct{}    // one item after at
	closed  chan struct{}

	mu     sync.Mutex
	alarms alarms
	number uint64 // alarms set so far
}

func newClock(now func() unit.Tick) *clock {
	return &clock{now: now, changed: make(chan struct{}, 1), closed: make(chan struct{})}
}

// schedule has ring called at a time, or as soon as possible after it. It may be called from ring.
func (c *clock) schedule(at unit.Tick, ring func()) {
	c.mu.Lock()
	heap.Push(&c.alarms, alarm{at, c.number, ring})
	c.number++
	c.mu.Unlock()
	select {
	case c.changed <- struct{}{}:
	default: // run has yet to see an earlier change
	}
}

// run calls what is due until close.
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

// fireDue calls what is due. It returns the time of the next alarm, if there is one.
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

// close ends run; alarms that are not due yet never ring.
func (c *clock) close() { close(c.closed) }

// alarm is one function of a clock.
type alarm struct {
	at     unit.Tick
	number uint64
	fire   func()
}

// alarms is a heap, earliest first.
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
	(*a)[last] = alarm{} // free what the function refers to
	*a = (*a)[:last]
	return x
}
