package timeline

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"tandem/algo/unit"
)

// event is an event of a trace. Times are in µs.
//
// Source: the Trace Event Format of Chrome, which Perfetto reads: documents "X" with a duration on a thread,
// counters "C", arrows from "s" to "f", and names "M".
type event struct {
	Phase    string         `json:"ph"`
	Category string         `json:"cat,omitempty"`
	Name     string         `json:"name"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid,omitempty"`
	At       json.Number    `json:"ts,omitempty"`
	Takes    json.Number    `json:"dur,omitempty"`
	Arrow    int            `json:"id,omitempty"`
	Bind     string         `json:"bp,omitempty"` // "e": an arrow ends at the span around it
	Args     map[string]any `json:"args,omitempty"`

	at unit.Tick
}

// WriteTrace writes the timeline as a trace in Chrome's JSON format, which Perfetto and chrome://tracing
// open. Every group is a process. A track with spans is a thread of its group, or several if it serves
// several pieces at once, and one with loads is a counter. An arrow between spans is a flow. Time 0 is where
// the timeline begins.
func (t *Timeline) WriteTrace(w io.Writer) error {
	x := tracer{Timeline: t, groups: map[string]int{}}
	for k := range t.Tracks {
		x.addTrack(k)
	}
	for i := range t.Arrows {
		x.addArrow(i)
	}
	slices.SortStableFunc(x.events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	out := bufio.NewWriter(w)
	fmt.Fprint(out, `{"displayTimeUnit":"ns","traceEvents":[`)
	for i, e := range slices.Concat(x.names, x.events) {
		text, err := json.Marshal(&e)
		if err != nil {
			return err
		}
		if i > 0 {
			fmt.Fprint(out, ",")
		}
		fmt.Fprintf(out, "\n%s", text)
	}
	fmt.Fprint(out, "\n]}\n")
	return out.Flush()
}

// tracer collects the events of a trace.
type tracer struct {
	*Timeline
	names, events []event
	groups        map[string]int // processes
	threads       int
	onThread      [][]int // by track and span
}

// addTrack adds the spans and the loads of a track.
func (x *tracer) addTrack(k int) {
	track := &x.Tracks[k]
	x.onThread = append(x.onThread, make([]int, len(track.Spans)))
	if len(track.Spans)+len(track.Loads) == 0 {
		return
	}
	process := x.process(track.Group)
	var threads []int
	var free []unit.Tick // by thread: the end of its last span
	for i := range track.Spans {
		s := &track.Spans[i]
		start, end := x.Clip(s)
		slot := slices.IndexFunc(free, func(at unit.Tick) bool { return at <= start })
		if slot < 0 {
			slot = len(free)
			free = append(free, 0)
			threads = append(threads, x.thread(process, track, slot))
		}
		free[slot] = end
		x.onThread[k][i] = threads[slot]
		args := map[string]any{"step": s.Batch.Step, "waited_us": micros(max(0, s.Start-s.Ready))}
		if s.Batch.Rank >= 0 {
			args["rank"] = s.Batch.Rank
		}
		x.events = append(x.events, event{Phase: "X", Category: "work", Name: s.Name, Process: process,
			Thread: threads[slot], at: start, At: micros(start - x.From), Takes: micros(end - start),
			Args: args})
	}
	for _, load := range track.Loads {
		at := max(load.At, x.From)
		x.count(process, track.Name, at, load.Busy)
	}
	if n := len(track.Loads); n > 0 { // the last load ends with the trace
		x.count(process, track.Name, x.To, track.Loads[n-1].Busy)
	}
}

// count adds the value of a counter from an instant on.
func (x *tracer) count(process int, name string, at unit.Tick, busy float64) {
	x.events = append(x.events, event{Phase: "C", Name: name, Process: process, at: at,
		At: micros(at - x.From), Args: map[string]any{"busy": math.Round(busy*1e9) / 1e9}})
}

// process returns the process of a group.
func (x *tracer) process(group string) int {
	id, known := x.groups[group]
	if !known {
		id = len(x.groups) + 1
		x.groups[group] = id
		x.name("process_name", id, 0, "name", group)
		x.name("process_sort_index", id, 0, "sort_index", id)
	}
	return id
}

// thread adds a thread of a track.
func (x *tracer) thread(process int, track *Track, slot int) int {
	x.threads++
	name := track.Name
	if track.Servers > 1 {
		name = fmt.Sprintf("%s %d", name, slot+1)
	}
	x.name("thread_name", process, x.threads, "name", name)
	x.name("thread_sort_index", process, x.threads, "sort_index", x.threads)
	return x.threads
}

func (x *tracer) name(kind string, process, thread int, key string, value any) {
	x.names = append(x.names, event{Phase: "M", Name: kind, Process: process, Thread: thread,
		Args: map[string]any{key: value}})
}

// addArrow adds an arrow. Its ends are where its spans begin: that is within a span for certain.
func (x *tracer) addArrow(i int) {
	a := &x.Arrows[i]
	for _, end := range []struct {
		phase, bind string
		place       Place
	}{{"s", "", a.From}, {"f", "e", a.To}} {
		start, _ := x.Clip(x.Span(end.place))
		x.events = append(x.events, event{Phase: end.phase, Category: "batch", Name: a.Name,
			Process: x.groups[x.Tracks[end.place.Track].Group],
			Thread:  x.onThread[end.place.Track][end.place.Span], at: start, At: micros(start - x.From),
			Arrow: i + 1, Bind: end.bind})
	}
}

// micros writes a time in µs, to a nanosecond.
func micros(t unit.Tick) json.Number {
	return json.Number(strconv.FormatFloat(float64(t)/float64(unit.Microsecond), 'f', 3, 64))
}
