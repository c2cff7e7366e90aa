package station

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tandem/algo/unit"
)

// runShared drives the cores until no activity is left and returns "tag@instant".
func runShared(c *Shared) (log []string) {
	for {
		at, ok := c.NextFinish()
		if !ok {
			return log
		}
		for _, d := range c.Finished(at, nil) {
			log = append(log, fmt.Sprintf("%d@%d", d.Tag, at))
		}
	}
}

func TestProcessorSharing(t *testing.T) {
	tests := []struct {
		name  string
		cores int
		start func(c *Shared)
		want  []string
		busy  unit.Tick
	}{
		// One thread cannot use the second core.
		{"alone", 2, func(c *Shared) { c.Start(0, 100, 1, 1) }, []string{"1@100"}, 100},
		// 100 core-ns over 4 cores.
		{"wide", 8, func(c *Shared) { c.Start(0, 100, 4, 1) }, []string{"1@25"}, 100},
		// Halves of one core: 1 ends at 200 with 100 of activity 2 left, which then has the core to itself.
		{"two on one", 1, func(c *Shared) { c.Start(0, 100, 1, 1); c.Start(0, 200, 1, 2) },
			[]string{"1@200", "2@300"}, 300},
		// 3 threads on 2 cores get 2/3 of one each: activity 1, of width 2, gets 4/3 and needs 90 ns;
		// activity 2 has had 60 core-ns by then and takes 40 ns more.
		{"threads share, not activities", 2, func(c *Shared) { c.Start(0, 120, 2, 1); c.Start(0, 100, 1, 2) },
			[]string{"1@90", "2@130"}, 220},
		// Alone until 50, then halves: 50 left take 100.
		{"late arrival", 1, func(c *Shared) { c.Start(0, 100, 1, 1); c.Start(50, 50, 1, 2) },
			[]string{"1@150", "2@150"}, 150},
		// Cancelled at 50, activity 2 has had 25 and the other 75 left.
		{"cancel", 1, func(c *Shared) { c.Start(0, 100, 1, 1); c.Cancel(50, c.Start(0, 100, 1, 2)) },
			[]string{"1@125"}, 125},
		{"nothing to do", 1, func(c *Shared) { c.Start(3, 0, 1, 1) }, []string{"1@3"}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := NewShared(float64(test.cores))
			test.start(c)
			if got := runShared(c); !slices.Equal(got, test.want) {
				t.Errorf("finished %v, want %v", got, test.want)
			}
			if got := c.Busy(1000); got != test.busy {
				t.Errorf("busy %d core-ns, want %d", got, test.busy)
			}
		})
	}
}

// The virtual clock gives the same ends as integrating every activity's share on its own, and the core time
// used is the work done.
func TestSharedEqualsDirectIntegration(t *testing.T) {
	type plain struct {
		width int
		left  float64
	}
	rapid.Check(t, func(t *rapid.T) {
		cores := rapid.IntRange(1, 8).Draw(t, "cores")
		c := NewShared(float64(cores))
		active := map[int64]*plain{}
		now, total := unit.Tick(0), unit.Tick(0)
		integrate := func(to unit.Tick) {
			width := 0
			for _, j := range active {
				width += j.width
			}
			for _, j := range active {
				j.left -= float64(to-now) * float64(j.width) * min(1, float64(cores)/float64(width))
			}
			now = to
		}
		finish := func(at unit.Tick) {
			integrate(at)
			for _, d := range c.Finished(at, nil) {
				// An end is late by less than a nanosecond of all its threads, and that much again for each
				// activity it has shared an end with.
				if j := active[d.Tag]; math.Abs(j.left) > float64(2*j.width) {
					t.Fatalf("activity %d ended at %d with %v core-ns left", d.Tag, at, j.left)
				}
				delete(active, d.Tag)
			}
		}
		for tag := range int64(rapid.IntRange(1, 20).Draw(t, "activities")) {
			to := now + unit.Tick(rapid.Int64Range(0, 2000).Draw(t, "gap"))
			for at, ok := c.NextFinish(); ok && at <= to; at, ok = c.NextFinish() {
				finish(at)
			}
			integrate(to)
			work := unit.Tick(rapid.Int64Range(1, 5000).Draw(t, "work"))
			width := rapid.IntRange(1, 6).Draw(t, "width")
			c.Start(now, work, float64(width), tag)
			active[tag] = &plain{width, float64(work)}
			total += work
		}
		for at, ok := c.NextFinish(); ok; at, ok = c.NextFinish() {
			finish(at)
		}
		if len(active) > 0 {
			t.Fatalf("%d activities never ended", len(active))
		}
		if got := c.Busy(now); math.Abs(float64(got-total)) > 200 {
			t.Fatalf("busy %d core-ns, want the work, %d", got, total)
		}
	})
}

func BenchmarkSharedReplaceOneOf1000(b *testing.B) {
	c := NewShared(52)
	for i := range 1000 {
		c.Start(0, unit.Tick(1000+i), 1, 0)
	}
	var done []Done
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		at, _ := c.NextFinish()
		done = c.Finished(at, done[:0])
		for range done {
			c.Start(at, 1000, 1, 0)
		}
	}
}

// A part of a host has a part of its cores, and activities can have parts of threads: with 1.5 cores and 2
// threads' worth of work, each gets 3/4 of what it can use.
func TestPartsOfCoresAndThreads(t *testing.T) {
	c := NewShared(1.5)
	c.Start(0, 300, 0.5, 1)                 // 600 alone
	c.Start(0, 300, 1.5, 2)                 // 200 alone
	if at, _ := c.NextFinish(); at != 267 { // 200 · 4/3, rounded up
		t.Errorf("the first ends at %d, want at 267", at)
	}
	c.Finished(267, nil)
	if at, _ := c.NextFinish(); at != 667 { // 400 are left, and no other needs a core
		t.Errorf("the second ends at %d, want at 667", at)
	}
	c.Finished(667, nil)
	if busy := c.Busy(1000); busy != 600 {
		t.Errorf("busy %d, want the work, 600", busy)
	}
}
