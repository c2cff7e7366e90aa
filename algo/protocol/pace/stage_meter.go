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
	times       [stages][]stageTime
}

// stageTime is the duration of a stage of a batch of a step.
type stageTime struct {
	step int32
	time unit.Tick
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
	b := BoundaryAt(r.Kind)
	if b.IsEnd {
		m.end(b.Ends, r)
	}
	if b.IsBegin {
		m.begin(b.Begins, r)
	}
}

// Boundary is the end of a stage, the begin of one, both, or neither.
type Boundary struct {
	Ends, Begins   Stage
	IsEnd, IsBegin bool // whether Ends and Begins hold
}

// BoundaryAt returns which stages of a batch an event ends and begins.
func BoundaryAt(k event.Kind) Boundary {
	switch k {
	case event.LookupIssued:
		return Boundary{Begins: GE, IsBegin: true}
	case event.EmbeddingsArrived:
		return Boundary{Ends: GE, IsEnd: true}
	case event.ForwardStarted:
		return Boundary{Begins: FC, IsBegin: true}
	case event.BackwardStarted:
		return Boundary{Ends: FC, Begins: BC, IsEnd: true, IsBegin: true}
	case event.BackwardDone:
		return Boundary{Ends: BC, IsEnd: true}
	case event.SyncStarted:
		return Boundary{Begins: DS, IsBegin: true}
	case event.SyncDone:
		return Boundary{Ends: DS, IsEnd: true}
	case event.GradientsSent:
		return Boundary{Begins: PEG, IsBegin: true}
	case event.BatchDone:
		return Boundary{Ends: PEG, IsEnd: true}
	}
	return Boundary{}
}

func (m *StageMeter) begin(s Stage, r event.Record) { m.began[stageKey{s, r.Rank, r.Step}] = r.At }

func (m *StageMeter) end(s Stage, r event.Record) {
	b := stageKey{s, r.Rank, r.Step}
	if at, ok := m.began[b]; ok {
		m.times[s] = append(m.times[s], stageTime{r.Step, r.At - at})
		delete(m.began, b)
	}
}

// Medians returns, for each stage, the median duration over the measured batches: the lower one of the two
// middle values if their number is even, and 0 if the mode does not have the stage.
func (m *StageMeter) Medians() StageTimes { return m.MediansOf(m.first, m.last) }

// MediansOf is Medians over the batches of the steps first ≤ step < last that were measured.
func (m *StageMeter) MediansOf(first, last int32) StageTimes {
	var medians StageTimes
	for s, times := range m.times {
		var sorted []unit.Tick
		for _, t := range times {
			if first <= t.step && t.step < last {
				sorted = append(sorted, t.time)
			}
		}
		if len(sorted) > 0 {
			slices.Sort(sorted)
			medians[s] = sorted[(len(sorted)-1)/2]
		}
	}
	return medians
}
