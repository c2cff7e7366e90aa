package gantt

import (
	"fmt"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/pace"
	"tandem/algo/unit"
)

// stageSpan is a stage of a batch of a rank.
type stageSpan struct {
	Stage    pace.Stage `json:"-"`
	Name     string     `json:"stage"`
	Rank     int32      `json:"-"`
	Step     int32      `json:"step"` // or round of averaging
	From, To unit.Tick
}

// trace collects the spans of stages from the records of the roles. The averaging of replicas, which belongs
// to a round and not to a batch, counts as DS.
type trace struct {
	open  map[batchStage]unit.Tick
	spans []stageSpan // in the order of their ends
}

// batchStage identifies a stage of a batch.
type batchStage struct {
	stage      pace.Stage
	rank, step int32
}

func newTrace() *trace { return &trace{open: map[batchStage]unit.Tick{}} }

// Observe implements event.Observer.
func (t *trace) Observe(r event.Record) {
	switch r.Kind {
	case event.LookupIssued:
		t.begin(pace.GE, r)
	case event.EmbeddingsArrived:
		t.end(pace.GE, r)
	case event.ForwardStarted:
		t.begin(pace.FC, r)
	case event.BackwardStarted:
		t.end(pace.FC, r)
		t.begin(pace.BC, r)
	case event.BackwardDone:
		t.end(pace.BC, r)
	case event.SyncStarted, event.SnapshotTaken:
		t.begin(pace.DS, r)
	case event.SyncDone, event.Averaged:
		t.end(pace.DS, r)
	case event.GradientsSent:
		t.begin(pace.PEG, r)
	case event.BatchDone:
		t.end(pace.PEG, r)
	}
}

func (t *trace) begin(s pace.Stage, r event.Record) { t.open[batchStage{s, r.Rank, r.Step}] = r.At }

func (t *trace) end(s pace.Stage, r event.Record) {
	b := batchStage{s, r.Rank, r.Step}
	if from, ok := t.open[b]; ok {
		t.spans = append(t.spans, stageSpan{s, s.String(), r.Rank, r.Step, from, r.At})
		delete(t.open, b)
	}
}

// checkOrder returns an error if a complete batch breaks the order GE, FC, BC, DS, PEG: a stage begins when
// the stage before it has ended, except that DS, if overlap says so, begins during BC and ends after it. DS
// of a mode that averages replicas is of no batch and is left out. It also returns how many batches it has
// checked.
func (t *trace) checkOrder(overlap, averages bool) (checked int, err error) {
	at := map[batchStage]stageSpan{}
	for _, s := range t.spans {
		at[batchStage{s.Stage, s.Rank, s.Step}] = s
	}
	for _, batch := range t.spans {
		if batch.Stage != pace.PEG {
			continue // not the end of a batch
		}
		before := at[batchStage{pace.GE, batch.Rank, batch.Step}]
		for stage := pace.FC; stage <= pace.PEG; stage++ {
			if stage == pace.DS && averages {
				continue
			}
			now := at[batchStage{stage, batch.Rank, batch.Step}]
			meets := before.To <= now.From
			if overlap && stage == pace.DS {
				meets = before.From <= now.From && before.To <= now.To
			}
			if !meets {
				return checked, fmt.Errorf("batch of rank %d, step %d: %v begins at %v, before the end of "+
					"%v at %v", batch.Rank, batch.Step, stage, now.From, before.Stage, before.To)
			}
			before = now
		}
		checked++
	}
	return checked, nil
}
