package cluster

import (
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/sim/station"
)

// measurement observes a run and collects the figures of its result, from the end of the last warm-up step to
// the end of the last measured step. A step ends when every rank has applied its dense gradients.
type measurement struct {
	first, last     int32 // measured steps are [first, last)
	steps           int32
	applied         []int32     // by step: ranks that have applied
	ends            []unit.Tick // by step
	start, end      station.Snapshot
	complete        bool // end is taken
	critical        path // to the end of the last measured step
	stages          *pace.StageMeter
	exposed         [phaseCount]unit.Tick // sums over ranks and measured steps
	ranks           []rankProgress
	arrived         []unit.Tick // by rank and step: when embeddings arrived
	trafficBefore   traffic     // at start
	trafficMeasured traffic     // of the measured steps
}

// rankProgress holds the time of the latest event of each kind on a rank.
type rankProgress struct {
	step                                         int32 // whose forward began last
	applied, forward, backward, computed, synced unit.Tick
}

// traffic counts messages and bytes sent.
type traffic struct {
	messages int64
	bytes    unit.Bytes
}

// phase is a part of the time from one step's end to the next on a rank; the five together are that time.
type phase int

const (
	waiting phase = iota // for embeddings
	forwarding
	backwarding
	synchronising // after backward; with dense PSs, pulling too
	updating
	phaseCount
)

func newMeasurement(first, last int32, cfg *role.Config) *measurement {
	return &measurement{
		first: first, last: last, steps: cfg.Steps, applied: make([]int32, cfg.Steps),
		ends:  make([]unit.Tick, cfg.Steps),
		ranks: make([]rankProgress, cfg.Ranks), arrived: make([]unit.Tick, int(cfg.Ranks)*int(cfg.Steps)),
		stages: pace.NewStageMeter(first, last),
	}
}

// observe follows a batch by the records of its rank.
func (m *measurement) observe(w *simulation, r event.Record) {
	if r.Rank == event.NoRank {
		return
	}
	m.stages.Observe(r)
	p := &m.ranks[r.Rank]
	switch r.Kind {
	case event.EmbeddingsArrived:
		m.arrived[r.Rank*m.steps+r.Step] = r.At
	case event.ForwardStarted:
		p.step, p.forward = r.Step, r.At
		m.exposeWait(w, r, max(p.applied, p.computed))
	case event.BackwardStarted:
		p.backward = r.At
		m.expose(forwarding, r.Step, r.At-p.forward)
	case event.BackwardDone:
		p.computed = r.At
		p.synced = r.At // until buckets or acknowledgements come
		m.expose(backwarding, r.Step, r.At-p.backward)
	case event.SyncDone:
		if r.Step == p.step && !overlapsPush(w) { // else it overlaps what follows, and is not exposed
			p.synced = r.At
			m.expose(synchronising, r.Step, r.At-p.computed)
		}
	case event.DenseApplied:
		if r.Step == p.step && !overlapsPush(w) {
			m.expose(updating, r.Step, r.At-p.synced)
			p.applied = r.At
		}
		m.endStep(w, r.Step)
	}
}

// exposeWait divides the time from an instant to a forward pass. With dense PSs, and if each rank has its own
// replica, the rank waits for embeddings until they have arrived, and for parameters, a mean or an
// acknowledgement after that.
func (m *measurement) exposeWait(w *simulation, r event.Record, since unit.Tick) {
	until := r.At
	if d := w.config.Rule.Dense(); d.DensePSs || d.OwnReplicas {
		until = min(r.At, max(since, m.arrived[r.Rank*m.steps+r.Step]))
		m.expose(synchronising, r.Step, r.At-until)
	}
	m.expose(waiting, r.Step, until-since)
}

// overlapsPush reports whether no rank waits for the acknowledgement of a push.
func overlapsPush(w *simulation) bool {
	return w.config.Rule.Dense().DensePSs && w.config.Rule.OverlapSync()
}

func (m *measurement) measures(step int32) bool { return m.first <= step && step < m.last }

func (m *measurement) expose(p phase, step int32, t unit.Tick) {
	if m.measures(step) {
		m.exposed[p] += t
	}
}

// endStep counts a rank that has applied, and ends the step with the last.
func (m *measurement) endStep(w *simulation, step int32) {
	m.applied[step]++
	if m.applied[step] < int32(len(m.ranks)) {
		return
	}
	m.ends[step] = w.clock.Now()
	if w.options.Progress != nil {
		w.options.Progress(int(step)+1, int(m.steps))
	}
	switch step {
	case m.first - 1:
		m.start = w.stations.Snapshot(w.clock.Now())
		w.restartTraces()
		m.trafficBefore = traffic{w.messages, w.sent}
	case m.last - 1:
		m.end = w.stations.Snapshot(w.clock.Now())
		m.trafficMeasured = traffic{w.messages - m.trafficBefore.messages, w.sent - m.trafficBefore.bytes}
		m.critical, m.complete = w.cause, true
	}
}

// stepTimes returns the time of each measured step.
func (m *measurement) stepTimes() []unit.Tick {
	times := make([]unit.Tick, 0, m.last-m.first)
	for step := m.first; step < m.last; step++ {
		start := unit.Tick(0)
		if step > 0 {
			start = m.ends[step-1]
		}
		times = append(times, m.ends[step]-start)
	}
	return times
}

// stepTime is the mean time of the measured steps from one to another.
func (m *measurement) stepTime(first, last int32) float64 {
	start := unit.Tick(0)
	if first > 0 {
		start = m.ends[first-1]
	}
	return (m.ends[last-1] - start).Seconds() / float64(last-first)
}

// drift is by how much of the whole the step time of the second half of the measured steps differs from that
// of the first; 0 for a single step.
func (m *measurement) drift() float64 {
	if m.last-m.first < 2 {
		return 0
	}
	middle := (m.first + m.last) / 2
	return (m.stepTime(middle, m.last) - m.stepTime(m.first, middle)) / m.stepTime(m.first, m.last)
}
