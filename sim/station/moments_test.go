package station

import (
	"fmt"
	"math"
	"testing"

	"tandem/algo/unit"
)

// Statistics are integrals up to the moment at which they are read, between changes too, and to read them
// changes nothing: four threads on two cores work two nanoseconds in each, and two wait.
func TestStatisticsOfEveryMoment(t *testing.T) {
	c := NewShared(2)
	c.Start(10, 1000, 1, 1)
	c.Start(20, 1000, 3, 2)
	for now, want := range map[unit.Tick]Stats{20: {10, 0, 0}, 21: {12, 2, 0}, 50: {70, 60, 0}, 120: {210,
		200, 0}} {
		if got := c.Stats(now); got != want || c.Busy(now) != want.Busy {
			t.Errorf("cores at %d: %+v, want %+v", now, got, want)
		}
	}
	c.Cancel(120, ActivityID{1, 1})
	for now, want := range map[unit.Tick]Stats{120: {210, 200, 1}, 150: {240, 200, 1}} {
		if got := c.Stats(now); got != want {
			t.Errorf("cores at %d, one activity later: %+v, want %+v", now, got, want)
		}
	}
	l := NewLane(2)
	for tag := range int32(4) {
		l.Push(10*unit.Tick(tag), tag) // 0 and 1 begin, 2 and 3 wait
	}
	for now, want := range map[unit.Tick]Stats{30: {50, 10, 0}, 31: {52, 12, 0}, 40: {70, 30, 0}} {
		if got := l.Stats(now); got != want {
			t.Errorf("lane at %d: %+v, want %+v", now, got, want)
		}
	}
	l.End(50, 1)
	if got := l.Stats(60); got != (Stats{100, 70, 1}) {
		t.Errorf("lane after an end: %+v", got)
	}
	if tag, ok := l.Next(60); tag != 2 || !ok {
		t.Errorf("%d begins, %v", tag, ok)
	}
	if got := l.Stats(70); got != (Stats{120, 80, 1}) {
		t.Errorf("lane after a beginning: %+v", got)
	}
	l.Clear(80, func(int32) {})
	if got := l.Stats(90); got != (Stats{140, 90, 1}) {
		t.Errorf("a lane that was cleared: %+v", got)
	}
}

// The first piece of a lane is the one that leaves next, once its service has begun.
func TestFirstIsThePieceThatLeavesNext(t *testing.T) {
	l := NewLane(1)
	check := func(tag int32, ok bool) {
		t.Helper()
		if got, is := l.First(); got != tag || is != ok {
			t.Errorf("%d, %v; want %d, %v", got, is, tag, ok)
		}
	}
	check(0, false)
	l.Push(0, 7)
	l.Push(0, 8)
	check(7, true)
	l.End(1, 7)
	check(7, true)
	l.Leave()
	check(0, false) // 8 waits
	l.Next(2)
	check(8, true)
}

// Each visits all stations in the order in which they were added, and classes are in the order of their use,
// with the mean queue of the stations that each stands for.
func TestStationsAreVisitedInTheirOrder(t *testing.T) {
	var r Registry
	var idle, busy, again Serial
	r.Add("a", &idle)
	r.AddFor("b", &busy, 3)
	r.Add("a", &again)
	visited := ""
	r.Each(func(class string, s Station) { visited += fmt.Sprint(class, s == Station(&busy), " ") })
	if visited != "afalse btrue afalse " {
		t.Errorf("visited %s", visited)
	}
	from := r.Snapshot(0)
	idle.Run(0, 10)
	for range 2 {
		busy.Run(0, 20) // the second waits for the first
	}
	uses := r.Use(from, r.Snapshot(100))
	if len(uses) != 2 || uses[0].Name != "b" || math.Abs(uses[0].MeanQueue-0.2) > 1e-12 ||
		math.Abs(uses[1].MeanBusy-0.05) > 1e-12 || uses[0].Stations != 3 {
		t.Errorf("%+v", uses)
	}
}
