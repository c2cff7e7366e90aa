package driver

import "time"

// brake makes one goroutine of a slow role slow: after some work it waits for factor − 1 times as long. A
// timer fires late, by more than short work takes, so the excess of a wait is taken from the next one.
type brake struct {
	factor float64
	owed   time.Duration // still to wait; below 0 after a wait that was too long
}

// after waits for what some work owes, or for the end of the run, and lets others have their turn.
func (b *brake) after(r *run, worked time.Duration) {
	if b.factor == 1 {
		return
	}
	b.owed += time.Duration(float64(worked) * (b.factor - 1))
	if b.owed <= 0 {
		return
	}
	if r.turns != nil {
		r.turns.Unlock()
		defer r.turns.Lock()
	}
	begin := time.Now()
	timer := time.NewTimer(b.owed)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.ended.Done():
	}
	b.owed -= time.Since(begin)
}
