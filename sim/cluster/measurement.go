package cluster

import (
	"math"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
	"tandem/sim/station"
)

// measurement observes a run and collects the figures of its result. A step ends when every rank has applied
// its dense gradients.
//
// The steps after the warm-up are cut into windows of equal length. The run is measured over its only window,
// or over the first two consecutive windows that agree.
type measurement struct {
	warmUp          int32 // steps before the first window
	window, windows int32 // steps of a window, and the largest number of windows
	first, last     int32 // measured steps are [first, last)
	settled         bool  // two windows agree
	steps           int32
	applied         []int32     // by step: ranks that have applied
	ends            []unit.Tick // by step
	marks           []mark      // at the begin of the first window, and at the end of each
	complete        bool        // the last mark is taken
	critical        path        // of the last window, to its end
	stages          *pace.StageMeter
	exposed         [][phaseCount]unit.Tick // by step: sums over ranks
	ranks           []rankProgress
	means           []meanTimes // by simulated rank that stands for several
	arrived         []unit.Tick // by rank and step: when embeddings arrived
}

// mark is what stations and senders have done up to an instant.
type mark struct {
	stations station.Snapshot
	sent     traffic
}

// rankProgress holds the time of the latest event of each kind on a rank.
type rankProgress struct {
	step                                         int32 // whose forward began last
	trained                                      int32 // steps that the rank's parameters have
	applied, forward, backward, computed, synced unit.Tick
}

// traffic counts messages and bytes sent.
type traffic struct {
	messages int64
	bytes    unit.Bytes
	rows     unit.Bytes // between accelerators
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

func newMeasurement(s span, cfg *role.Config) *measurement {
	return &measurement{
		warmUp: int32(s.warmUp), window: int32(s.window), windows: int32(s.windows), steps: cfg.Steps,
		applied: make([]int32, cfg.Steps), ends: make([]unit.Tick, cfg.Steps),
		exposed: make([][phaseCount]unit.Tick, cfg.Steps),
		ranks:   make([]rankProgress, cfg.Ranks), arrived: make([]unit.Tick, int(cfg.Ranks)*int(cfg.Steps)),
		stages: pace.NewStageMeter(int32(s.warmUp), int32(s.warmUp+s.windows*s.window)),
	}
}

// observe follows a batch by the records of its rank.
func (m *measurement) observe(w *simulation, r event.Record) {
	if r.Rank == event.NoRank {
		return
	}
	if m.means != nil {
		m.means[r.Rank].adjust(w, &r)
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
		p.trained = max(p.trained, r.Step+1)
		m.endStep(w, r.Step)
	case event.RankReturned: // its parameters may have a step that it did not make
		for ; p.trained < r.Step; p.trained++ {
			m.endStep(w, p.trained)
		}
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

func (m *measurement) expose(p phase, step int32, t unit.Tick) { m.exposed[step][p] += t }

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
	if since := step + 1 - m.warmUp; !m.complete && since >= 0 && since%m.window == 0 {
		m.mark(w, since/m.window)
	}
}

// mark notes what stations and senders have done when a number of windows have ended, and completes the
// measurement if no further window is needed.
func (m *measurement) mark(w *simulation, ended int32) {
	m.marks = append(m.marks, mark{w.stations.Snapshot(w.clock.Now()), traffic{w.messages, w.sent,
		w.rowExchanges.sent}})
	m.last = m.warmUp + ended*m.window
	m.first = m.last - min(ended, 2)*m.window
	m.settled = ended > 1 && math.Abs(m.drift()) < agreement
	if m.complete = m.settled || ended == m.windows; m.complete {
		m.critical = w.cause
	} else {
		w.restartTraces()
	}
}

// begin and end return when the measured steps began and ended.
func (m *measurement) begin() unit.Tick {
	if m.first == 0 {
		return 0
	}
	return m.ends[m.first-1]
}
func (m *measurement) end() unit.Tick { return m.ends[m.last-1] }

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

// measured returns what the stations and the senders had done when the measured steps began and ended.
func (m *measurement) measured() (from, to mark) {
	to = m.marks[len(m.marks)-1]
	return m.marks[len(m.marks)-1-int(m.last-m.first)/int(m.window)], to
}

// exposures sums the phases over the ranks and the measured steps.
func (m *measurement) exposures() (sum [phaseCount]unit.Tick) {
	for _, step := range m.exposed[m.first:m.last] {
		for p, t := range step {
			sum[p] += t
		}
	}
	return sum
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
