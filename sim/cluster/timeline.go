package cluster

import (
	"fmt"
	"math"

	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/sim/station"
	"tandem/sim/timeline"
)

// recorder notes what every station of a run does, and which message led from which work to which. It changes
// nothing of the run. A nil recorder notes nothing.
type recorder struct {
	timeline.Timeline
	lanes   map[*station.Lane]int // tracks
	serials map[*station.Serial]int
	meters  []meter
	metered unit.Tick                    // when the meters were last read
	queued  map[int32]unit.Tick          // tasks in a lane, and since when
	serving map[int32]timeline.Place     // tasks in service of a lane
	latest  map[roleBatch]timeline.Place // the last span that began
	sent    map[int32]timeline.Arrow     // messages under way, by task
	arrived map[roleStep][]arrival       // messages that no work has followed yet
}

// roleBatch is a batch at a role, and roleStep all batches of a step. Role −1 is the all-reduce.
type (
	roleBatch struct {
		role int32
		timeline.Batch
	}
	roleStep struct{ role, step int32 }
)

// arrival is a message about the batch of a rank, or of all ranks if rank is −1.
type arrival struct {
	timeline.Arrow
	rank int32
}

// meter reads the load of a station that all work shares.
type meter struct {
	track int
	of    station.Station
	busy  unit.Tick // of the station, when it was last read
	load  segment
}

// segment is a time in which the load of a station was constant.
type segment struct {
	from       unit.Tick
	busy, last unit.Tick // time of the servers, and of the clock
}

// newRecorder returns a recorder of all stations of a run.
func newRecorder(w *simulation) *recorder {
	r := &recorder{lanes: map[*station.Lane]int{}, serials: map[*station.Serial]int{},
		queued: map[int32]unit.Tick{}, serving: map[int32]timeline.Place{},
		latest: map[roleBatch]timeline.Place{}, sent: map[int32]timeline.Arrow{},
		arrived: map[roleStep][]arrival{}}
	for i := range w.instances {
		n := &w.instances[i]
		for k, lane := range n.lanes {
			name := "work"
			if k > 0 {
				name = "pool and merge"
			}
			r.lanes[lane] = r.add(n.at.String(), name, threadsName(n.at.Role), lane.Servers())
		}
		if n.at.Role == msg.NNWorker {
			a, group := &w.accelerators[n.at.Index], n.at.String()
			r.serials[&a.launcher] = r.add(group, "host thread", launcherStation, 1)
			r.serials[&a.kernels] = r.add(group, "accelerator", acceleratorStation, 1)
			r.serials[&a.copyIn] = r.add(group, "copies in", copiesStation, 1)
			r.serials[&a.copyOut] = r.add(group, "copies out", copiesStation, 1)
		}
	}
	r.lanes[w.reductions] = r.add("all-reduce", "channel", allReduceChannel, 1)
	counts := map[string]int{}
	w.stations.Each(func(class string, s station.Station) {
		switch s.(type) {
		case *station.Lane, *station.Serial:
			return
		}
		name := fmt.Sprintf("%s %d", class, counts[class])
		r.meters = append(r.meters, meter{of: s, track: r.add("hosts and network", name, class, s.Servers())})
		counts[class]++
	})
	return r
}

// add adds a track.
func (r *recorder) add(group, name, class string, servers float64) int {
	r.Tracks = append(r.Tracks, timeline.Track{Group: group, Name: name, Class: class, Servers: servers})
	return len(r.Tracks) - 1
}

// addSpan adds a span to a track.
func (r *recorder) addSpan(track int, s timeline.Span) timeline.Place {
	t := &r.Tracks[track]
	t.Spans = append(t.Spans, s)
	return timeline.Place{Track: track, Span: len(t.Spans) - 1}
}

// batchOf returns whose samples work is on.
func batchOf(work role.Work) timeline.Batch { return timeline.Batch{Rank: work.Rank, Step: work.Step} }

// queue notes that a task waits in a lane.
func (r *recorder) queue(w *simulation, i int32) {
	if r != nil {
		r.queued[i] = w.clock.Now()
	}
}

// begin notes that the service of a task in a lane begins. It is where the messages lead that have arrived
// about its batch.
func (r *recorder) begin(w *simulation, lane *station.Lane, i int32) {
	if r == nil {
		return
	}
	t := &w.tasks[i]
	name, batch := t.work.Kind.String(), batchOf(t.work)
	if t.kind == reducing {
		name, batch.Rank = fmt.Sprintf("bucket %d", t.bucket), -1
	}
	place := r.addSpan(r.lanes[lane], timeline.Span{Name: name, Batch: batch, Ready: r.queued[i],
		Start: w.clock.Now(), End: unit.Forever})
	r.serving[i], r.latest[roleBatch{t.role, batch}] = place, place
	delete(r.queued, i)
	key := roleStep{t.role, batch.Step}
	var others []arrival
	for _, a := range r.arrived[key] {
		if batch.Rank < 0 || a.rank < 0 || a.rank == batch.Rank {
			a.To = place
			r.Arrows = append(r.Arrows, a.Arrow)
		} else {
			others = append(others, a)
		}
	}
	r.arrived[key] = others
}

// end notes that the service of a task has ended.
func (r *recorder) end(w *simulation, i int32) {
	if r == nil {
		return
	}
	if place, known := r.serving[i]; known {
		r.Span(place).End = w.clock.Now()
		delete(r.serving, i)
	}
}

// crash notes that a role has lost its work. What its messages would have led to does not come.
func (r *recorder) crash(w *simulation, role int32) {
	if r == nil {
		return
	}
	for i := range r.serving { // order-free: each has an end of its own
		if w.tasks[i].role == role && w.tasks[i].kind == working {
			r.end(w, i)
		}
	}
}

// serial notes work of a station that does one thing at a time.
func (r *recorder) serial(w *simulation, s *station.Serial, i int32, start, end unit.Tick) {
	if r == nil || start == end {
		return
	}
	t := &w.tasks[i]
	name, batch := t.work.Kind.String(), batchOf(t.work)
	switch t.kind {
	case reducing:
		name, batch.Rank = "update of rows", -1
	case delivering:
		name, batch = t.message.Kind.String(), timeline.Batch{Rank: t.message.Rank, Step: t.message.Step}
	}
	r.addSpan(r.serials[s], timeline.Span{Name: name, Batch: batch, Ready: w.clock.Now(), Start: start,
		End: end})
}

// send notes that a message about a batch begins its way.
func (r *recorder) send(w *simulation, i int32) {
	if r == nil {
		return
	}
	t := &w.tasks[i]
	if from, known := r.source(t.role, timeline.Batch{Rank: t.message.Rank, Step: t.message.Step}); known {
		r.sent[i] = timeline.Arrow{Name: t.message.Kind.String(), From: from, Sent: w.clock.Now()}
	}
}

// source returns the last work of a role on a batch, or on all batches of the step.
func (r *recorder) source(role int32, batch timeline.Batch) (timeline.Place, bool) {
	if place, known := r.latest[roleBatch{role, batch}]; known {
		return place, true
	}
	place, known := r.latest[roleBatch{role, timeline.Batch{Rank: -1, Step: batch.Step}}]
	return place, known
}

// arrive notes that a message has arrived.
func (r *recorder) arrive(w *simulation, i int32) {
	if r == nil {
		return
	}
	if a, known := r.sent[i]; known {
		t := &w.tasks[i]
		a.Arrived = w.clock.Now()
		key := roleStep{t.to, t.message.Step}
		r.arrived[key] = append(r.arrived[key], arrival{a, t.message.Rank})
	}
	r.lose(i)
}

// lose notes that a message goes no further.
func (r *recorder) lose(i int32) {
	if r != nil {
		delete(r.sent, i)
	}
}

// feed notes that a role hands a bucket over to the all-reduce, and reduced that it gets one back.
func (r *recorder) feed(w *simulation, rank, step, from int32) {
	r.hand(w, "bucket", from, timeline.Batch{Rank: rank, Step: step}, -1)
}
func (r *recorder) reduced(w *simulation, step, to int32) {
	r.hand(w, "sum", -1, timeline.Batch{Rank: -1, Step: step}, to)
}

// hand notes an arrow that takes no time.
func (r *recorder) hand(w *simulation, name string, from int32, batch timeline.Batch, to int32) {
	if r == nil {
		return
	}
	if place, known := r.source(from, batch); known {
		key, now := roleStep{to, batch.Step}, w.clock.Now()
		a := timeline.Arrow{Name: name, From: place, Sent: now, Arrived: now}
		r.arrived[key] = append(r.arrived[key], arrival{a, batch.Rank})
	}
}

// readingError is how far the busy time of a station is from its reading, in nanoseconds, at both ends.
const readingError = 2

// read reads the meters. The loads of stations are constant between two events, so this is exact.
func (r *recorder) read(now unit.Tick) {
	if r == nil || now == r.metered {
		return
	}
	passed := now - r.metered
	for k := range r.meters {
		m := &r.meters[k]
		total := m.of.Stats(now).Busy
		busy := total - m.busy
		m.busy = total
		s := &m.load
		if s.last > 0 {
			expected := float64(s.busy) / float64(s.last) * float64(passed)
			if math.Abs(float64(busy)-expected) <= readingError {
				s.busy, s.last = s.busy+busy, s.last+passed
				continue
			}
		}
		r.endSegment(m)
		*s = segment{r.metered, busy, passed}
	}
	r.metered = now
}

// endSegment adds the load of the last segment of a meter.
func (r *recorder) endSegment(m *meter) {
	if s := &m.load; s.last > 0 {
		track := &r.Tracks[m.track]
		track.Loads = append(track.Loads, timeline.Load{At: s.from, Busy: float64(s.busy) / float64(s.last)})
	}
}

// finish returns what the stations did between two instants.
func (r *recorder) finish(now, from, to unit.Tick) timeline.Timeline {
	r.read(now)
	for k := range r.meters {
		r.endSegment(&r.meters[k])
	}
	for _, place := range r.serving { // order-free: each has an end of its own
		r.Span(place).End = now
	}
	r.Cut(from, to)
	return r.Timeline
}
