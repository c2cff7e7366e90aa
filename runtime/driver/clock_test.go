package driver

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tandem/algo/unit"
)

// Alarms fire in the order of their times, and alarms of one time in the order in which they were scheduled,
// including those that an alarm schedules. After close no alarm fires.
func TestClockFiresInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		c := newClock(func() unit.Tick { return unit.Tick(time.Since(start)) })
		var rung []unit.Tick
		set := func(at unit.Tick, more func()) {
			c.schedule(at, func() {
				if now := c.now(); now != max(at, 0) {
					t.Errorf("the alarm of %v rings at %v", at, now)
				}
				rung = append(rung, at)
				more()
			})
		}
		go c.run()
		nothing := func() {}
		set(3*unit.Second, nothing)
		set(unit.Second, func() {
			set(unit.Second, nothing)
			set(2*unit.Second, nothing)
		})
		set(-unit.Second, nothing)
		synctest.Wait()
		set(9*unit.Second, nothing)
		time.Sleep(5 * time.Second)
		c.close()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		want := []unit.Tick{-unit.Second, unit.Second, unit.Second, 2 * unit.Second, 3 * unit.Second}
		if !slices.Equal(rung, want) {
			t.Errorf("rung %v, want %v", rung, want)
		}
	})
}
