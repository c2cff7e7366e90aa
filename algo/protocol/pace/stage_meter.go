package pace

import (
	"slices"

	"tandem/algo/protocol/event"
	"tandem/algo/unit"
)

// Stage is one of the five stages of a batch.
type Stage uint8

// The stages, with the events of the NN worker that begin and end them. They
// overlap, so the sum of their times is not the time of a step.
const (
	GE  Stage = iota // embeddings: LookupIssued to EmbeddingsArrived
	FC               // forward pass: ForwardStarted to BackwardStarted
	BC               // backward pass: BackwardStarted to BackwardDone
	DS               // dense synchronisation: SyncStarted to SyncDone; it may begin before BC ends
	PEG              // embedding gradients: GradientsSent to BatchDone, when every PS has applied them
	stages
)

var stageNames = [stages]string{"GE", "FC", "BC", "DS", "PEG"}

// String returns the name of the stage in reports.
func (s Stage) String() string { return stageNames[s] }

// StageTimes holds a time for each Stage.
type StageTimes [stages]unit.Tick

// StageMeter measures how long the stages of batches take. It is an
// event.Observer and knows nothing else, so a stage time means the same in every
// driver. Both ends of a stage are records of one role: clocks of processes need
// not agree. Memory: five times for each measured batch.
type StageMeter struct {
	first, last int32 // steps measured: [first, last)
	began       map[stageKey]unit.Tick
	times       [stages][]unit.Tick
}

// begun names a stage of a batch that has begun and not ended.
type stageKey struct {
	stage      Stage
	rank, step int32
}

// NewStageMeter returns a meter of the batches of the steps first ≤ step < last.
func NewStageMeter(first, last int32) *StageMeter {
	return &StageMeter{first: first, last: last, began: map[stageKey]unit.Tick{}}
}

// Observe implements event.Observer. Records that bound no stage are passed over.
func (m *StageMeter) Observe(r event.Record) {
	if r.Step < m.first || r.Step >= m.last {
		return
	}
	switch r.Kind {
	case event.LookupIssued:
		m.begin(GE, r)
	case event.EmbeddingsArrived:
		m.end(GE, r)
	case event.ForwardStarted:
		m.begin(FC, r)
	case event.BackwardStarted:
		m.end(FC, r)
		m.begin(BC, r)
	case event.BackwardDone:
		m.end(BC, r)
	case event.SyncStarted:
		m.begin(DS, r)
	case event.SyncDone:
		m.end(DS, r)
	case event.GradientsSent:
		m.begin(PEG, r)
	case event.BatchDone:
		m.end(PEG, r)
	}
}

func (m *StageMeter) begin(s Stage, r event.Record) { m.began[stageKey{s, r.Rank, r.Step}] = r.At }

func (m *StageMeter) end(s Stage, r event.Record) {
	b := stageKey{s, r.Rank, r.Step}
	if at, ok := m.began[b]; ok {
		m.times[s] = append(m.times[s], r.At-at)
		delete(m.began, b)
	}
}

// Medians returns, for each stage, the median over the measured batches, the
// lower of the two middle ones; 0 for a stage that the mode does not have.
func (m *StageMeter) Medians() StageTimes {
	var medians StageTimes
	for s, times := range m.times {
		if len(times) > 0 {
			sorted := slices.Sorted(slices.Values(times))
			medians[s] = sorted[(len(sorted)-1)/2]
		}
	}
	return medians
}
