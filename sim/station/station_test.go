package station

import (
	"math"
	"testing"
)

// Two serial stations of one class and a lane, over 100 ns. One station works for 50 ns and then for 40, of
// which the second piece waits for 20; the other works for 10.
func TestUseOfAClassIsThatOfItsBusiestStation(t *testing.T) {
	var r Registry
	var a, b, unused Serial
	lane := NewLane(2)
	r.Add("disk", &a)
	r.Add("lane", lane)
	r.Add("disk", &b)
	r.Add("unused", &unused)
	a.Run(0, 1000)
	b.Run(500, 7)
	from := r.Snapshot(1000)
	a.Run(1000, 50)
	a.Run(1030, 40)
	b.Run(1090, 20) // 10 of them are beyond
	lane.Push(1020, 1)
	lane.Push(1020, 2)
	lane.Push(1090, 3)
	got := r.Use(from, r.Snapshot(1100))
	want := []Use{
		{Name: "disk", Stations: 2, Servers: 1, Busy: 0.9, MeanBusy: 0.5, Queue: 0.2, MeanQueue: 0.1,
			Served: 3},
	}
	if len(got) != 1 || got[0] != want[0] {
		t.Errorf("use %+v, want %+v", got, want)
	}
	lane.End(1100, 1)
	got = r.Use(from, r.Snapshot(1100))
	if u := got[1]; u.Name != "lane" || u.Busy != 0.8 || u.Queue != 0.1 || u.Servers != 2 || u.Served != 1 {
		t.Errorf("use %+v of the lane, want 0.8 of two servers and a queue of 0.1", u)
	}
}

// A station that stands for three counts three times in the means, and once where it is the busiest.
func TestAStationStandsForOthers(t *testing.T) {
	var r Registry
	var often, once Serial
	r.AddFor("copies", &often, 3)
	r.Add("copies", &once)
	from := r.Snapshot(0)
	often.Run(0, 40)
	once.Run(0, 80)
	u := r.Use(from, r.Snapshot(100))[0]
	if u.Stations != 4 || math.Abs(u.MeanBusy-(3*0.4+0.8)/4) > 1e-12 || math.Abs(u.Busy-0.8) > 1e-12 ||
		u.Served != 4 {
		t.Errorf("%+v", u)
	}
}
