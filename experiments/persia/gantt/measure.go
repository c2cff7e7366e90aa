package gantt

import (
	"context"
	"fmt"

	"tandem/algo/job"
	"tandem/algo/protocol/pace"
	"tandem/algo/unit"
	"tandem/experiments/internal/paper"
	"tandem/experiments/internal/report"
	"tandem/sim/cluster"
	"tandem/sim/predict"
)

// result is a simulated schedule.
type result struct {
	schedule
	Throughput float64   `json:"samples_per_s"`
	Step       unit.Tick `json:"step_ns"`
	// Stages are medians, in ns, by name.
	Stages map[string]unit.Tick `json:"stages_ns"`
	// Closed is the time of a step by the closed form, from the stages of sync.
	Closed unit.Tick `json:"closed_form_ns"`
	// ToSync is the throughput ÷ that of sync, with its interval.
	ToSync         float64           `json:"to_sync"`
	ToSyncInterval *predict.Interval `json:"to_sync_interval"`
	Checked        int               `json:"batches_in_order"`
	Spans          []stageSpan       `json:"spans"` // of rank 0, in the figure
}

// measure simulates all schedules: once with a trace and without jitter, at the middle of the unknown inputs,
// and at sampled points. A batch whose stages are out of order is an error.
func (p *plan) measure(ctx context.Context, o report.Options) (list []*result, err error) {
	meter := &report.Meter{Total: len(p.Schedules), Report: o.Progress}
	var syncStages pace.StageTimes
	var sync *predict.Prediction
	for i := range p.Schedules {
		s := &p.Schedules[i]
		meter.Show(0, 1, s.Name)
		j, err := p.job(s)
		if err != nil {
			return nil, err
		}
		t := newTrace()
		one, err := cluster.Run(j.Hardware, j.Job, j.Layout, j.Workload,
			cluster.Options{Observer: t, Measured: p.Steps})
		if err != nil {
			return nil, fmt.Errorf("gantt: %s: %w", s.Name, err)
		}
		prediction, err := predict.Run(ctx, j,
			predict.Options{Samples: p.Samples, WithoutEnds: true, Steps: p.Steps})
		if err != nil {
			return nil, fmt.Errorf("gantt: %s: %w", s.Name, err)
		}
		if i == fullySync {
			syncStages, sync = one.StageTimes, prediction
		}
		r := &result{
			schedule: *s, Throughput: one.Throughput, Step: one.StepTime, Stages: map[string]unit.Tick{},
			Closed:         closedForm(i, syncStages, paper.BucketShares(j)),
			ToSyncInterval: predict.Ratio(prediction, sync),
		}
		r.Checked, err = t.checkOrder(s.Overlap == string(pace.HybridDS), s.Mode == job.AsyncAverage)
		if err != nil {
			return nil, fmt.Errorf("gantt: %s: %w", s.Name, err)
		}
		for stage := pace.GE; stage <= pace.PEG; stage++ {
			r.Stages[stage.String()] = one.StageTimes[stage]
		}
		list = append(list, r)
		r.ToSync = r.Throughput / list[fullySync].Throughput
		first := pace.FC
		if i == fullySync {
			first = pace.GE
		}
		r.Spans = cut(t.spans, first, unit.Tick(p.Shown)*list[fullySync].Step)
		meter.Done++
	}
	return list, nil
}

// closedForm returns the time of a step from the durations of stages that are alone. Shares are those of the
// buckets of dense gradients. The optimizer of the network is left out.
//
// Source: the schedules of Persia's Gantt chart, written as times; that of hybrid is FC + max(BC, DS) and
// what the first or the last bucket adds, which follows from the sizes of the buckets.
func closedForm(schedule int, t pace.StageTimes, shares []float64) unit.Tick {
	dense := t[pace.FC] + t[pace.BC]
	switch schedule {
	case fullySync:
		return t[pace.GE] + dense + t[pace.DS] + t[pace.PEG]
	case naiveHybrid:
		dense += t[pace.DS]
	case hybrid:
		dense = t[pace.FC] + paper.Pipeline(t[pace.BC], t[pace.DS], shares)
	}
	return max(t[pace.GE], t[pace.PEG], dense)
}

// cut returns the spans of rank 0 in a time that begins at 0 with a stage of a step in the middle of the run.
func cut(spans []stageSpan, first pace.Stage, length unit.Tick) (kept []stageSpan) {
	var begin unit.Tick
	last := int32(0)
	for _, s := range spans {
		last = max(last, s.Step)
	}
	for _, s := range spans {
		if s.Rank == 0 && s.Step == last/2 && s.Stage == first {
			begin = s.From
		}
	}
	for _, s := range spans {
		if s.Rank == 0 && s.To > begin && s.From < begin+length {
			s.From, s.To = s.From-begin, s.To-begin
			kept = append(kept, s)
		}
	}
	return kept
}
