package pace

import (
	"slices"

	"tandem/algo/protocol/event"
	"tandem/algo/unit"
)

// Stage is one of the five stages of a batch.
type Stage uint8

// The stages, with the events of the NN worker at their begin and end. Stages overlap, so the sum of their
// durations is not the duration of a step.
const (
	GE  Stage = iota // embeddings: LookupIssued to EmbeddingsArrived
	FC               // forward pass: ForwardStarted to BackwardStarted
	BC               // backward pass: BackwardStarted to BackwardDone
	DS               // dense synchronisation: SyncStarted to SyncDone; it may begin before BC ends
	PEG              // embedding gradients: GradientsSent to BatchDone, when every PS has acknowledged them
	stages
)

var stageNames = [stages]string{"GE", "FC", "BC", "DS", "PEG"}

// String returns the name of the stage in reports.
func (s Stage) String() string { return stageNames[s] }

// StageTimes is a duration for each Stage.
type StageTimes [stages]unit.Tick

// StageMeter measures the durations of the stages of batches. It is an event.Observer and has no other input,
// so the duration of a stage has the same meaning in every driver. One role records both ends of a stage, so
// the clocks of processes need not agree. Memory: five durations for each measured batch.
type StageMeter struct {
	first, last int32 // steps measured: [first, last)
	began       map[stageKey]unit.Tick
	times       [stages][]unit.Tick
}

// stageKey identifies a stage of a batch.
type stageKey struct {
	stage      Stage
	rank, step int32
}

// NewStageMeter returns a meter of the batches of the steps first ≤ step < last.
func NewStageMeter(first, last int32) *StageMeter {
	return &StageMeter{first: first, last: last, began: map[stageKey]unit.Tick{}}
}

// Observe implements event.Observer. It ignores records that do not begin or end a stage.
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

// Medians returns, for each stage, the median duration over the measured batches: the lower one of the two
// middle values if their number is even, and 0 if the mode does not have the stage.
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
