package gantt

import (
	"strings"
	"testing"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/pace"
	"tandem/algo/unit"
	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
)

// Persia, Gantt chart: the stages of a batch are in the order GE, FC, BC, DS, PEG in every schedule; nothing
// overlaps in sync, and each further overlap makes steps shorter.
func TestSchedulesOfTheGanttChart(t *testing.T) {
	p, _ := newPlan(report.Options{Quick: true})
	p.Samples, p.Steps = 0, 8
	list, err := p.measure(t.Context(), report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range list {
		if r.Checked < p.GPUs*p.Steps {
			t.Errorf("%s: %d batches in order", r.Name, r.Checked)
		}
		if q := r.overClosed(); q < 0.9 || q > 1.15 {
			t.Errorf("%s: a step takes %v, the closed form %v", r.Name, r.Step, r.Closed)
		}
		if i > 0 && r.ToSync <= 1 {
			t.Errorf("%s is not faster than sync", r.Name)
		}
	}
	if list[hybrid].Step >= list[naiveHybrid].Step || list[fullyAsync].Step >= list[hybrid].Step {
		t.Errorf("naive %v, hybrid %v, async %v", list[naiveHybrid].Step, list[hybrid].Step,
			list[fullyAsync].Step)
	}
	busy := func(r *result) (sum, span unit.Tick) { // of all stages, and from the first to the last
		for _, s := range r.Spans {
			sum, span = sum+s.To-s.From, max(span, s.To)
		}
		return sum, span
	}
	if sum, span := busy(list[fullySync]); sum > span {
		t.Errorf("stages of sync overlap: %v in %v", sum, span)
	}
	if sum, span := busy(list[hybrid]); sum <= span {
		t.Errorf("stages of hybrid do not overlap: %v in %v", sum, span)
	}
	if f := p.figure(list); len(f.Spans.Panels) != 4 || len(f.Spans.Panels[0].Spans) < 5*p.Shown-1 {
		t.Errorf("figure %+v", f.Spans)
	}
}

// A stage that begins before the end of the stage before it is named.
func TestOrderIsChecked(t *testing.T) {
	at := []event.Kind{event.LookupIssued, event.EmbeddingsArrived, event.ForwardStarted,
		event.BackwardStarted, event.SyncStarted,
		event.BackwardDone, event.SyncDone, event.GradientsSent, event.BatchDone}
	tr := newTrace()
	for i, kind := range at {
		tr.Observe(event.Record{Kind: kind, At: unit.Tick(i)})
	}
	if n, err := tr.checkOrder(true, false); n != 1 || err != nil {
		t.Errorf("DS during BC with overlap: %d, %v", n, err)
	}
	if _, err := tr.checkOrder(false, false); err == nil || !strings.Contains(err.Error(), "DS begins") {
		t.Errorf("DS during BC without overlap: %v", err)
	}
}

// Two buckets of ¾ and ¼ of the gradients, BC of 8 ms: ready after 6 and 8 ms. DS of 4 ms: done after
// 9 and 10. DS of 16 ms: 18 and 22. One bucket is reduced after BC.
func TestPipelineOfBuckets(t *testing.T) {
	for _, c := range []struct {
		ds, want unit.Tick
		shares   []float64
	}{{4e6, 10e6, []float64{0.75, 0.25}}, {16e6, 22e6, []float64{0.75, 0.25}}, {4e6, 12e6, []float64{1}}} {
		if got := paper.Pipeline(8e6, c.ds, c.shares); got != c.want {
			t.Errorf("%v of %v: %v, want %v", c.ds, c.shares, got, c.want)
		}
	}
	times := pace.StageTimes{pace.GE: 50, pace.FC: 2, pace.BC: 3, pace.DS: 4, pace.PEG: 10}
	wants := map[int]unit.Tick{fullySync: 69, fullyAsync: 50, naiveHybrid: 50, hybrid: 50}
	for schedule, want := range wants {
		if got := closedForm(schedule, times, []float64{1}); got != want {
			t.Errorf("schedule %d: %v, want %v", schedule, got, want)
		}
	}
}
