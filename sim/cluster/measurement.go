package cluster

import (
	"slices"

	"tandem/algo/event"
	"tandem/algo/msg"
	"tandem/algo/pace"
	"tandem/algo/role"
	"tandem/algo/unit"
)

// measurement watches a run and keeps what an answer is made of: everything
// between the end of the last warm-up step and the end of the last measured
// one. A step ends when every rank has applied its dense gradients.
type measurement struct {
	first, last int32 // measured steps are [first, last)
	steps       int32
	applied     []int32     // by step: ranks that have applied
	ends        []unit.Tick // by step
	start, end  usage
	over        bool // end is taken
	stages      [stageCount][]unit.Tick
	exposed     [phaseCount]unit.Tick // sums over ranks and measured steps
	ranks       []progress
	issued      []unit.Tick // by rank and step: embeddings asked for
	arrived     []unit.Tick // likewise: embeddings here
	syncing     []unit.Tick // likewise: dense synchronisation begun
	handed      []unit.Tick // likewise: gradients handed over
	counted     counts      // at start
	messages    counts      // of the measured steps
}

// progress is the last instants of a rank.
type progress struct {
	step                                         int32 // whose forward began last
	applied, forward, backward, computed, synced unit.Tick
}

// counts are what has been sent.
type counts struct {
	messages int64
	bytes    unit.Bytes
}

// stage is one of the five stages of a step.
type stage int

const (
	getEmbeddings stage = iota
	forwardCompute
	backwardCompute
	denseSync
	putGradients
	stageCount
)

// phase is a part of the time from one step's end to the next on a rank; the
// five together are that time.
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
	batches := int(cfg.Ranks) * int(cfg.Steps)
	return &measurement{
		first: first, last: last, steps: cfg.Steps, applied: make([]int32, cfg.Steps), ends: make([]unit.Tick, cfg.Steps),
		ranks: make([]progress, cfg.Ranks), issued: make([]unit.Tick, batches), arrived: make([]unit.Tick, batches), syncing: make([]unit.Tick, batches), handed: make([]unit.Tick, batches),
	}
}

// observe follows the stages of a batch by the records of its rank.
func (m *measurement) observe(w *world, r event.Record) {
	if r.Rank == event.NoRank {
		return
	}
	p := &m.ranks[r.Rank]
	at := r.Rank*m.steps + r.Step
	switch r.Kind {
	case event.LookupIssued:
		m.issued[at] = r.At
	case event.ForwardStarted:
		p.step, p.forward = r.Step, r.At
		m.waited(w, r, max(p.applied, p.computed))
	case event.BackwardStarted:
		p.backward = r.At
		m.expose(forwarding, r.Step, r.At-p.forward)
		m.took(forwardCompute, r.Step, r.At-p.forward)
	case event.SyncStarted:
		m.syncing[at] = r.At
	case event.SyncDone:
		m.took(denseSync, r.Step, r.At-m.syncing[at])
		if r.Step == p.step && !overlapsPush(w) { // else it overlaps what follows, and is not exposed
			p.synced = r.At
			m.expose(synchronising, r.Step, r.At-p.computed)
		}
	case event.GradientsSent:
		m.handed[at] = r.At
	case event.DenseApplied:
		if r.Step == p.step && !overlapsPush(w) {
			m.expose(updating, r.Step, r.At-p.synced)
			p.applied = r.At
		}
		m.endStep(w, r.Step)
	case event.BatchDone:
		m.took(putGradients, r.Step, r.At-m.handed[at])
	}
}

// waited divides the time from an instant to a forward pass. With dense PSs, it is
// embeddings that are waited for until they are here, and parameters from then on.
func (m *measurement) waited(w *world, r event.Record, since unit.Tick) {
	until := r.At
	if w.config.Rule.Dense().Kind == pace.Served {
		until = min(r.At, max(since, m.arrived[r.Rank*m.steps+r.Step]))
		m.expose(synchronising, r.Step, r.At-until)
	}
	m.expose(waiting, r.Step, until-since)
}

// overlapsPush reports whether nobody waits for the acknowledgement of a push.
func overlapsPush(w *world) bool {
	return w.config.Rule.Dense().Kind == pace.Served && w.config.Rule.OverlapSync()
}

// worked is told of finished work.
func (m *measurement) worked(w *world, k role.Work) {
	if k.Kind != role.Backward {
		return
	}
	p := &m.ranks[k.Rank]
	p.computed = w.clock.Now()
	p.synced = p.computed // until buckets or acknowledgements come
	m.expose(backwarding, k.Step, p.computed-p.backward)
	m.took(backwardCompute, k.Step, p.computed-p.backward)
}

// delivered is told of every message before its receiver.
func (m *measurement) delivered(w *world, x msg.Message) {
	if x.Kind == msg.Embeddings {
		at := x.Rank*m.steps + x.Step
		m.arrived[at] = w.clock.Now()
		m.took(getEmbeddings, x.Step, m.arrived[at]-m.issued[at])
	}
}

func (m *measurement) measures(step int32) bool { return m.first <= step && step < m.last }

func (m *measurement) took(s stage, step int32, t unit.Tick) {
	if m.measures(step) {
		m.stages[s] = append(m.stages[s], t)
	}
}

func (m *measurement) expose(p phase, step int32, t unit.Tick) {
	if m.measures(step) {
		m.exposed[p] += t
	}
}

// endStep counts a rank that has applied, and ends the step with the last.
func (m *measurement) endStep(w *world, step int32) {
	m.applied[step]++
	if m.applied[step] < int32(len(m.ranks)) {
		return
	}
	m.ends[step] = w.clock.Now()
	switch step {
	case m.first - 1:
		m.start = w.usage()
		m.counted = counts{w.messages, w.sent}
	case m.last - 1:
		m.end = w.usage()
		m.messages = counts{w.messages - m.counted.messages, w.sent - m.counted.bytes}
		m.over = true
	}
}

// stepTime is the mean time of the measured steps from one to another.
func (m *measurement) stepTime(first, last int32) float64 {
	start := unit.Tick(0)
	if first > 0 {
		start = m.ends[first-1]
	}
	return (m.ends[last-1] - start).Seconds() / float64(last-first)
}

// drift is by how much of the whole the step time of the second half of the
// measured steps differs from that of the first; 0 for a single step.
func (m *measurement) drift() float64 {
	if m.last-m.first < 2 {
		return 0
	}
	middle := (m.first + m.last) / 2
	return (m.stepTime(middle, m.last) - m.stepTime(m.first, middle)) / m.stepTime(m.first, m.last)
}

// median returns the middle of the values, the lower of two; 0 without values.
func median(values []unit.Tick) unit.Tick {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return sorted[(len(sorted)-1)/2]
}
