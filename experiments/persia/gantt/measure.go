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

	stages     pace.StageTimes
	prediction *predict.Prediction
}

// measure simulates all schedules. A batch whose stages are out of order is an error.
func (p *plan) measure(ctx context.Context, progress func(done, total int, what string)) ([]*result, error) {
	var list []*result
	meter := &report.Meter{Total: len(p.Schedules), Report: progress}
	for i := range p.Schedules {
		s := &p.Schedules[i]
		meter.Show(0, 1, s.Name)
		r, err := p.simulate(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		list = append(list, r)
		meter.Done++
	}
	j, err := p.job(&p.Schedules[hybrid])
	if err != nil {
		return nil, err
	}
	shares := paper.BucketShares(j)
	sync := list[fullySync]
	for i, r := range list {
		r.Closed = closedForm(i, sync.stages, shares)
		r.ToSync = r.Throughput / sync.Throughput
		r.ToSyncInterval = predict.Ratio(r.prediction, sync.prediction)
	}
	p.cut(list)
	return list, nil
}

// simulate runs a schedule: once with a trace and without jitter, at the middle of the unknown inputs, and at
// sampled points.
func (p *plan) simulate(ctx context.Context, s *schedule) (*result, error) {
	j, err := p.job(s)
	if err != nil {
		return nil, err
	}
	t := newTrace()
	one, err := cluster.Run(j.Hardware, j.Job, j.Layout, j.Workload,
		cluster.Options{Observer: t, Measured: p.Steps})
	if err != nil {
		return nil, err
	}
	r := &result{schedule: *s, Throughput: one.Throughput, Step: one.StepTime, stages: one.StageTimes,
		Stages: map[string]unit.Tick{}, Spans: t.spans}
	overlaps, averages := s.Overlap == string(pace.HybridDS), s.Mode == job.AsyncAverage
	if r.Checked, err = t.checkOrder(overlaps, averages); err != nil {
		return nil, err
	}
	r.prediction, err = predict.Run(ctx, j, predict.Options{Samples: p.Samples, WithoutEnds: true,
		Steps: p.Steps})
	for stage := pace.GE; stage <= pace.PEG; stage++ {
		r.Stages[stage.String()] = r.stages[stage]
	}
	return r, err
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

// cut keeps the spans of rank 0 in the time that the figure shows, and has them begin at 0: with a step in
// the middle of the run.
func (p *plan) cut(list []*result) {
	length := unit.Tick(p.Shown) * list[fullySync].Step
	for i, r := range list {
		var begin unit.Tick
		first, last := pace.FC, int32(0)
		if i == fullySync {
			first = pace.GE
		}
		for _, s := range r.Spans {
			last = max(last, s.Step)
		}
		for _, s := range r.Spans {
			if s.Rank == 0 && s.Step == last/2 && s.Stage == first {
				begin = s.From
			}
		}
		var kept []stageSpan
		for _, s := range r.Spans {
			if s.Rank == 0 && s.To > begin && s.From < begin+length {
				s.From, s.To = s.From-begin, s.To-begin
				kept = append(kept, s)
			}
		}
		r.Spans = kept
	}
}
