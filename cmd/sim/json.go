package main

import (
	"io"

	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/pace"
	"tandem/sim/cost"
	"tandem/sim/predict"
	"tandem/sim/station"
)

// document is the JSON object of predictions.
type document struct {
	Job           string                `json:"job"`
	Command       string                `json:"command"`
	BatchPerGPU   int                   `json:"batch_per_gpu"`
	Runs          []runRecord           `json:"runs"`
	Sensitivities []predict.Sensitivity `json:"sensitivities"` // of hybrid or the last run, to a tenth better
	Ratios        []ratio               `json:"ratios"`        // on the most GPUs
	Published     []reference           `json:"published,omitempty"`
	Assumptions   []cost.Assumption     `json:"assumptions"`
}

// runRecord is one prediction.
type runRecord struct {
	Mode string `json:"mode"`
	// ModeSettings are those of the mode alone, defaults included.
	ModeSettings      map[string]int     `json:"mode_settings,omitempty"`
	GPUs              int                `json:"gpus"`
	Throughput        float64            `json:"throughput_samples_per_s"`
	Low               float64            `json:"throughput_low"`
	High              float64            `json:"throughput_high"`
	ScalingEfficiency float64            `json:"scaling_efficiency"`
	Depth             int                `json:"depth"` // batches that a rank may have outstanding
	StepSeconds       float64            `json:"step_seconds"`
	Stages            map[string]float64 `json:"stage_seconds"` // medians; they overlap
	// Bottlenecks are the resources on the critical path, the largest share first.
	Bottlenecks []predict.Bottleneck `json:"bottlenecks"`
	Stations    []station.Use        `json:"stations"` // the busiest first
	Staleness   pace.Staleness       `json:"staleness"`
	Messages    int64                `json:"messages_per_step"`
	Bytes       int64                `json:"bytes_per_step"`
	Drift       float64              `json:"drift"`
	Unsettled   bool                 `json:"unsettled"`        // the steps never settled
	Faults      *fault.Counts        `json:"faults,omitempty"` // what the faults of the job have done
	Dollars     *float64             `json:"dollars_per_1e9_samples,omitempty"`
}

func (q *request) writeJSON(w io.Writer, r *result) error {
	d := document{
		Job: q.job.Name, Command: q.command, BatchPerGPU: q.batchFor(q.gpus[0]) / q.gpus[0],
		Sensitivities: r.sensitivities,
		Ratios:        r.ratios(), Published: q.published(r), Assumptions: q.assumptions(),
	}
	for i := range r.predictions {
		o := &r.predictions[i]
		a := &o.answer
		j := q.jobFor(o.mode, o.gpus)
		record := runRecord{
			Mode: o.mode, ModeSettings: j.ModeValues(), GPUs: o.gpus, Throughput: a.Throughput, Low: a.Low,
			High: a.High, ScalingEfficiency: o.efficiency,
			StepSeconds: a.StepTime.Seconds(), Depth: a.Depth, Bottlenecks: o.whole.Mid.Bottlenecks,
			Stations: a.Stations, Staleness: a.Staleness,
			Messages: a.Messages, Bytes: int64(a.Bytes), Drift: a.Drift, Unsettled: a.Unsettled,
			Faults: q.counts(&a.Result),
			Stages: map[string]float64{},
		}
		for stage, time := range a.StageTimes {
			record.Stages[pace.Stage(stage).String()] = time.Seconds()
		}
		if q.dollars > 0 {
			cost := q.cost(*o)
			record.Dollars = &cost
		}
		d.Runs = append(d.Runs, record)
	}
	return printJSON(w, d)
}
