package timeline

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"tandem/algo/unit"
)

const us = unit.Microsecond

// small is the time from 10 to 20 µs of two places. The first has two servers and three spans, of which one
// began before and one has waited; the second counts how many of its four servers are busy.
func small() *Timeline {
	return &Timeline{From: 10 * us, To: 20 * us, Tracks: []Track{
		{Group: "rank 0", Name: "gpu", Servers: 2, Spans: []Span{
			{Name: "FC", Batch: Batch{0, 1}, Ready: 5 * us, Start: 8 * us, End: 12 * us},
			{Name: "BC", Batch: Batch{0, 2}, Ready: 10 * us, Start: 11 * us, End: 15 * us},
			{Name: "DS", Batch: Batch{-1, 2}, Ready: 12 * us, Start: 12 * us, End: 30 * us},
		}},
		{Group: "link", Name: "wire", Servers: 4, Loads: []Load{{4 * us, 3}, {12 * us, 4}, {15 * us, 1}}},
	}, Arrows: []Arrow{{Name: "put", From: Place{0, 0}, To: Place{0, 2}},
		{Name: "get", From: Place{0, 1}, To: Place{0, 2}}}}
}

// Busy is the time within the timeline: 2 + 4 + 8 µs of two servers in 10 µs, and 3 for 2 µs, 4 for 3 µs and
// 1 for 5 µs of four.
func TestShare(t *testing.T) {
	all := small()
	for k, want := range []float64{14.0 / 20, (6 + 12 + 5) / 40.0} {
		if got := all.Share(&all.Tracks[k]); got != want {
			t.Errorf("%s: %g, want %g", all.Tracks[k].Name, got, want)
		}
	}
	for i, want := range []bool{false, true, true} {
		if got := all.Begins(&all.Tracks[0].Spans[i]); got != want {
			t.Errorf("span %d begins: %t", i, got)
		}
	}
	from, to := Span{Start: all.From}, Span{Start: all.To}
	if !all.Begins(&from) || all.Begins(&to) {
		t.Error("a span begins at the first instant, and none at the last")
	}
}

// Times are written to a nanosecond.
func TestMicros(t *testing.T) {
	for at, want := range map[unit.Tick]string{0: "0.000", us: "1.000", us + us/4: "1.250", us / 3: "0.333"} {
		if got := micros(at); string(got) != want {
			t.Errorf("%d: %s, want %s", at, got, want)
		}
	}
}

// From 12 to 15 µs the first span has ended, and the wire has one load: those at the ends do not count.
func TestCut(t *testing.T) {
	got, all := small(), small()
	got.Cut(12*us, 15*us)
	want := small()
	want.From, want.To = 12*us, 15*us
	want.Tracks[0].Spans = all.Tracks[0].Spans[1:]
	want.Tracks[1].Loads = all.Tracks[1].Loads[1:2]
	want.Arrows = []Arrow{{Name: "get", From: Place{0, 0}, To: Place{0, 1}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	got.Cut(13*us, 14*us) // the load of 12 µs lasts
	if len(got.Tracks[1].Loads) != 1 || len(got.Tracks[0].Spans) != 2 {
		t.Errorf("%+v", got)
	}
}

// A trace has a process for each group, a thread for each piece that is served at once, and its times are
// microseconds from the begin on.
func TestTrace(t *testing.T) {
	all := small()
	all.Tracks = append(all.Tracks, Track{Group: "link", Name: "idle", Servers: 1},
		Track{Group: "rank 0", Name: "cpu", Servers: 1, Spans: []Span{{Name: "GE", Batch: Batch{0, 3},
			Start: 16 * us, End: 17*us + us/2}}})
	var text bytes.Buffer
	if err := all.WriteTrace(&text); err != nil {
		t.Fatal(err)
	}
	var got struct{ TraceEvents []map[string]any }
	if err := json.Unmarshal(text.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	type m = map[string]any
	name := func(kind string, process, thread float64, key string, value any) m {
		e := m{"ph": "M", "name": kind, "pid": process, "args": m{key: value}}
		if thread > 0 {
			e["tid"] = thread
		}
		return e
	}
	span := func(name string, thread, at, takes float64, args m) m {
		return m{"ph": "X", "cat": "work", "name": name, "pid": 1.0, "tid": thread, "ts": at, "dur": takes,
			"args": args}
	}
	load := func(at, busy float64) m {
		return m{"ph": "C", "name": "wire", "pid": 2.0, "ts": at, "args": m{"busy": busy}}
	}
	arrow := func(phase, name string, id, thread, at float64) m {
		e := m{"ph": phase, "cat": "batch", "name": name, "pid": 1.0, "tid": thread, "ts": at, "id": id}
		if phase == "f" {
			e["bp"] = "e"
		}
		return e
	}
	want := []m{
		name("process_name", 1, 0, "name", "rank 0"), name("process_sort_index", 1, 0, "sort_index", 1.0),
		name("thread_name", 1, 1, "name", "gpu 1"), name("thread_sort_index", 1, 1, "sort_index", 1.0),
		name("thread_name", 1, 2, "name", "gpu 2"), name("thread_sort_index", 1, 2, "sort_index", 2.0),
		name("process_name", 2, 0, "name", "link"), name("process_sort_index", 2, 0, "sort_index", 2.0),
		name("thread_name", 1, 3, "name", "cpu"), name("thread_sort_index", 1, 3, "sort_index", 3.0),
		span("FC", 1, 0, 2, m{"step": 1.0, "rank": 0.0, "waited_us": 3.0}), load(0, 3),
		arrow("s", "put", 1, 1, 0),
		span("BC", 2, 1, 4, m{"step": 2.0, "rank": 0.0, "waited_us": 1.0}), arrow("s", "get", 2, 2, 1),
		span("DS", 1, 2, 8, m{"step": 2.0, "waited_us": 0.0}), load(2, 4), arrow("f", "put", 1, 1, 2),
		arrow("f", "get", 2, 1, 2), load(5, 1),
		span("GE", 3, 6, 1.5, m{"step": 3.0, "rank": 0.0, "waited_us": 16.0}), load(10, 1),
	}
	for i := range max(len(want), len(got.TraceEvents)) {
		if i >= len(want) || i >= len(got.TraceEvents) || !reflect.DeepEqual(got.TraceEvents[i], want[i]) {
			t.Fatalf("event %d:\n%v\nwant\n%v", i, got.TraceEvents[i:min(i+1, len(got.TraceEvents))],
				want[min(i, len(want)):min(i+1, len(want))])
		}
	}
}
