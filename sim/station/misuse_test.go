package station

import (
	"fmt"
	"strings"
	"testing"
)

// A caller's mistake panics with the numbers.
func TestMisuseIsNamed(t *testing.T) {
	for _, c := range []struct {
		want string
		run  func()
	}{
		{"0 shared cores", func() { NewShared(0) }},
		{"lane of 0 servers", func() { NewLane(0) }},
		{"work of -1 ns", func() { new(Serial).Run(0, -1) }},
		{"activity of -1 core-ns", func() { NewShared(1).Start(0, -1, 1, 0) }},
		{"width 0", func() { NewShared(1).Start(0, 1, 0, 0) }},
		{"end of piece 4, which is not in service", func() {
			l := NewLane(1)
			l.Push(0, 3)
			l.Push(0, 4) // waits
			l.End(0, 4)
		}},
		{"end of piece 3, which is not in service", func() {
			l := NewLane(1)
			l.Push(0, 3)
			l.End(0, 3)
			l.End(0, 3)
		}},
		{"cores used at 4 ns after a change at 5 ns", func() {
			c := NewShared(1)
			c.Start(5, 1, 1, 0)
			c.Start(4, 1, 1, 0)
		}},
		{"Finished at 11 ns, want at 10 ns", func() {
			c := NewShared(1)
			c.Start(0, 10, 1, 0)
			c.Finished(11, nil)
		}},
	} {
		func() {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.Contains(text, c.want) {
					t.Errorf("panic %q, want %q", text, c.want)
				}
			}()
			c.run()
		}()
	}
	// The ends of the ranges are in them.
	new(Serial).Run(0, 0)
	NewLane(1)
	c := NewShared(0.5)
	c.Start(0, 0, 0.1, 0)
	if done := c.Finished(0, nil); len(done) != 1 {
		t.Errorf("activities without work that have ended at once: %v", done)
	}
}

// An activity ends once, and a later one that takes its place in memory is another. Idle cores end nothing.
func TestEndedActivitiesCannotBeCancelled(t *testing.T) {
	c := NewShared(1)
	if at, ok := c.NextFinish(); ok {
		t.Errorf("idle cores finish at %d", at)
	}
	for now := range int64(100) {
		first := c.Start(c.now, 10, 1, 2*now)
		if !c.Cancel(c.now, first) || c.Cancel(c.now, first) {
			t.Fatal("cancelled twice, or not at all")
		}
		second := c.Start(c.now, 10, 1, 2*now+1)
		if second == first || c.Cancel(c.now, first) {
			t.Fatal("the place of an activity that was cancelled is its successor")
		}
		if early := c.Finished(c.now+9, nil); len(early) > 0 {
			t.Fatalf("%v ended early", early)
		}
		done := c.Finished(c.now+1, nil)
		if len(done) != 1 || done[0] != (Done{second, 2*now + 1}) || c.Cancel(c.now, second) {
			t.Fatalf("%v ended, want %v", done, second)
		}
	}
	if len(c.slots) != 1 || len(c.queue) > 1 || c.running != 0 || c.width != 0 {
		t.Errorf("200 activities, one at a time, have %d places and leave %d in the queue, %d running with "+
			"width %v", len(c.slots), len(c.queue), c.running, c.width)
	}
}

// A lane keeps no more than what has not left, and as much again.
func TestLanesForgetWhatHasLeft(t *testing.T) {
	l := NewLane(1)
	for i := range int32(10) {
		l.Push(0, i)
	}
	for i := range int32(1000) {
		l.End(0, i)
		if tag, ok := l.Leave(); !ok || tag != i {
			t.Fatalf("%d leaves, want %d", tag, i)
		}
		l.Next(0)
		l.Push(0, i+10)
		if l.Len() != 10 || len(l.pieces) > 2*l.Len() {
			t.Fatalf("%d pieces take the memory of %d", l.Len(), len(l.pieces))
		}
	}
}
