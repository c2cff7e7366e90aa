package pace

import (
	"testing"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
)

// The memory of a meter depends on the batches in flight, not on the length of the run: routed steps leave
// the ledger when they are applied or closed, and pulls are removed with their pushes, whether these count or
// not.
func TestMeterRemovesStepsThatAreOver(t *testing.T) {
	m := NewMeter(1, 2)
	ps, dense := msg.Address{Role: msg.EmbeddingPS}, msg.Address{Role: msg.DensePS}
	for step := range int32(1000) {
		m.Observe(event.Record{Kind: event.BatchRouted, Step: step, Rows: []int32{1, 1}})
		m.Observe(event.Record{Kind: event.PullServed, Role: dense, Step: step})
		push := event.PushApplied
		if step%3 == 0 {
			push = event.PushDropped
		}
		m.Observe(event.Record{Kind: push, Role: dense, Step: step})
		for server := range int32(2) {
			ps.Index = server
			over := event.PutApplied
			if step%5 == 0 {
				over = event.StepClosed
			}
			m.Observe(event.Record{Kind: over, Role: ps, Step: step})
		}
	}
	if s := m.ledger.spans[0]; s.first != 1000 || m.ledger.width != 1 {
		t.Errorf("the ledger holds steps from %d in %d words, want from 1000 in 1", s.first, m.ledger.width)
	}
	if len(m.pulled) != 0 {
		t.Errorf("the meter holds %d pulls after their pushes, want 0", len(m.pulled))
	}
}

// A repeated end of a stage measures nothing, and stages that have ended are removed.
func TestStageMeterRemovesStagesThatEnded(t *testing.T) {
	m := NewStageMeter(0, 100)
	for step := range int32(100) {
		m.Observe(event.Record{Kind: event.GradientsSent, Step: step, At: 10})
		m.Observe(event.Record{Kind: event.BatchDone, Step: step, At: 13})
		m.Observe(event.Record{Kind: event.BatchDone, Step: step, At: 99})
	}
	if got := m.Medians()[PEG]; got != 3 || len(m.times[PEG]) != 100 {
		t.Errorf("median %d of %d batches, want 3 of 100", got, len(m.times[PEG]))
	}
	if len(m.began) != 0 {
		t.Errorf("the meter holds %d stages that have ended, want 0", len(m.began))
	}
}
