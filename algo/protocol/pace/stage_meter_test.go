package pace_test

import (
	"testing"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/unit"
)

// events are the events of one batch, in ms since its lookup. DS overlaps BC: the first bucket is fed 2 ms
// before backward ends.
var events = []struct {
	kind event.Kind
	at   unit.Tick
}{
	{event.LookupIssued, 0}, {event.Pooled, 2}, {event.EmbeddingsArrived, 3}, {event.ForwardStarted, 5},
	{event.BackwardStarted, 9}, {event.SyncStarted, 12}, {event.BackwardDone, 14}, {event.SyncDone, 20},
	{event.GradientsSent, 20}, {event.DenseApplied, 21}, {event.BatchDone, 31},
}

func observeBatch(m *pace.StageMeter, rank, step int32, factor unit.Tick) {
	for _, e := range events {
		m.Observe(event.Record{
			Role: msg.Address{Role: msg.NNWorker, Index: rank}, Kind: e.kind, Rank: rank, Step: step,
			At: e.at * factor * unit.Millisecond,
		})
	}
}

// The duration of a stage is the time between its first and its last event, also if stages overlap.
func TestStagesOfOneBatch(t *testing.T) {
	m := pace.NewStageMeter(0, 1)
	observeBatch(m, 0, 0, 1)
	// GE 0–3, FC 5–9, BC 9–14, DS 12–20, PEG 20–31.
	want := pace.StageTimes{pace.GE: 3e6, pace.FC: 4e6, pace.BC: 5e6, pace.DS: 8e6, pace.PEG: 11e6}
	if got := m.Medians(); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// The median is over the batches of all ranks in the measured steps; of four batches it is the second. The
// median of a stage that a mode does not have is 0.
func TestMediansOfMeasuredSteps(t *testing.T) {
	m := pace.NewStageMeter(1, 3)
	observeBatch(m, 0, 0, 100) // before the measured steps
	for rank, factors := range [][]unit.Tick{{7, 3}, {2, 9}} {
		for i, factor := range factors {
			observeBatch(m, int32(rank), int32(1+i), factor)
		}
	}
	observeBatch(m, 1, 3, 100) // after the measured steps
	want := pace.StageTimes{pace.GE: 9e6, pace.FC: 12e6, pace.BC: 15e6, pace.DS: 24e6, pace.PEG: 33e6}
	if got := m.Medians(); got != want { // 2, 3, 7, 9: the second
		t.Errorf("%v, want %v", got, want)
	}
	want = pace.StageTimes{pace.GE: 9e6, pace.FC: 12e6, pace.BC: 15e6, pace.DS: 24e6, pace.PEG: 33e6}
	if got := m.MediansOf(2, 4); got != want { // 3 and 9 of step 2: the lower
		t.Errorf("of step 2: %v, want %v", got, want)
	}
	none := pace.NewStageMeter(0, 1)
	none.Observe(event.Record{Kind: event.SyncDone})
	none.Observe(event.Record{Kind: event.ForwardStarted})
	if got := none.Medians(); got != (pace.StageTimes{}) {
		t.Errorf("medians of stages without begin or end: %v, want 0", got)
	}
}
