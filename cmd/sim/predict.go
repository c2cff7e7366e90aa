package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"tandem/algo/job"
	"tandem/internal/cli"
	"tandem/sim/cluster"
	"tandem/sim/cost"
	"tandem/sim/predict"
)

// prediction is what is predicted for one mode and number of GPUs.
type prediction struct {
	mode   string
	gpus   int
	answer answer
	// efficiency is the throughput per GPU, relative to that on the smallest number of GPUs.
	efficiency float64
	whole      *predict.Prediction // nil for a training
}

// answer is what is reported of a prediction: the figures at the middle of what is not known, and the
// interval of the throughput.
type answer struct {
	cluster.Result
	Low, High float64 // samples a second
}

// result is everything that is reported.
type result struct {
	predictions   []prediction
	sensitivities []predict.Sensitivity // of the prediction of detail
	// plain is sync without overlap on the largest number of GPUs, which Persia's paper calls
	// fully sync; nil unless both sync and hybrid are among the modes.
	plain *predict.Prediction
}

// coarse is the number of points of the box of unknowns behind an interval of a table. They are few, because
// a table has many rows.
const coarse = 8

// question returns what is predicted in a mode on a number of GPUs.
func (q *request) question(mode string, gpus int) *predict.Job {
	return &predict.Job{Job: q.jobFor(mode, gpus), Hardware: q.hardware, Workload: q.workload,
		Layout: q.layout, Model: q.net, Rows: q.format, Placement: q.rules}
}

// jobFor returns the job in a mode on a number of GPUs, with groups for all of them.
func (q *request) jobFor(mode string, gpus int) job.Job {
	return predict.Sized(q.job, mode, gpus, q.batchFor(gpus))
}

// batchFor returns the samples of a step on a number of GPUs.
func (q *request) batchFor(gpus int) int {
	switch {
	case q.globalBatch > 0:
		return q.globalBatch
	case q.batch > 0 || q.net == nil:
		return q.batch * gpus
	}
	return q.net.GlobalBatch(gpus)
}

// options returns the options of a run.
func (q *request) options() cluster.Options { return cluster.Options{Jitter: q.jitter, Seed: q.seed} }

// predictions returns the options of the predictions of a table, which measure the same steps as those of a
// single prediction.
func (q *request) predictions() predict.Options {
	return predict.Options{Samples: q.samples, WithoutEnds: true, Steps: q.steps, Seed: q.seed,
		Cluster: q.options()}
}

// answerOf returns what is reported of a prediction.
func answerOf(p *predict.Prediction) answer {
	a := answer{Low: p.Mid.Throughput, High: p.Mid.Throughput}
	if p.Interval != nil {
		a.Low, a.High = p.Interval.Low, p.Interval.High
	}
	if p.Mid.Roles != nil {
		a.Result = *p.Mid.Roles
		return a
	}
	a.Result = cluster.Result{Throughput: p.Mid.Throughput, StepTime: p.Mid.StepTime, Depth: 1,
		Stations: p.Mid.Stations}
	return a
}

// predictAll simulates every mode on every number of GPUs, and calls row after each. A number of GPUs that
// was not chosen may be too small for the job: it is left out, with a note.
func (q *request) predictAll(chosen bool, progress *cli.Progress, say io.Writer,
	row func(*prediction) error) (*result, error) {
	r := &result{}
	total := len(q.modes)*len(q.gpus) + 2
	done := 0
	show := func(what string) {
		progress.Show(done, total, what)
		done++
	}
	var refused error
	for _, mode := range q.modes {
		first := -1
		for _, n := range q.gpus {
			show(fmt.Sprintf("%s on %d", mode, n))
			p, err := predict.Run(context.Background(), q.question(mode, n), q.predictions())
			if err != nil && !chosen && predict.DoesNotFit(err) {
				progress.Close()
				cli.PrintNotes(say, "sim", []string{fmt.Sprintf("%s on %d %s is left out: %v", mode, n,
					q.unitName(), err)})
				refused = err
				continue
			}
			if err != nil {
				err = predict.WithDivision(context.Background(), q.question(mode, n), q.predictions(), err)
				return nil, fmt.Errorf("%s on %d %s: %w", mode, n, q.unitName(), err)
			}
			o := prediction{mode: mode, gpus: n, answer: answerOf(p), whole: p, efficiency: 1}
			if first < 0 {
				first = len(r.predictions)
			} else {
				base := &r.predictions[first]
				o.efficiency = p.Mid.Throughput / float64(n) / (base.answer.Throughput / float64(base.gpus))
			}
			r.predictions = append(r.predictions, o)
			progress.Close()
			if err := row(&o); err != nil {
				return nil, err
			}
		}
	}
	if len(r.predictions) == 0 {
		last := q.question(q.modes[len(q.modes)-1], q.gpus[len(q.gpus)-1])
		return nil, predict.WithDivision(context.Background(), last, q.predictions(), refused)
	}
	var err error
	if sync, hybrid := r.last(job.Sync), r.last(job.Hybrid); sync != nil && hybrid != nil {
		show("sync without overlap")
		j := q.question(job.Sync, sync.gpus)
		j.Training.Overlap = "none"
		if r.plain, err = predict.Run(context.Background(), j, q.predictions()); err != nil {
			return nil, err
		}
	}
	detail := r.detail()
	show("sensitivities")
	o := q.predictions()
	o.Samples = 0
	r.sensitivities, err = predict.Sensitivities(context.Background(), q.question(detail.mode, detail.gpus),
		o)
	progress.Close()
	return r, err
}

// detail returns the prediction of which a table shows more than a row: hybrid, or else the last mode, on
// most GPUs.
func (r *result) detail() *prediction {
	if o := r.last(job.Hybrid); o != nil {
		return o
	}
	return &r.predictions[len(r.predictions)-1]
}

// last returns the prediction of a mode at the largest number of GPUs, or nil.
func (r *result) last(mode string) *prediction {
	for i := range slices.Backward(r.predictions) {
		if r.predictions[i].mode == mode {
			return &r.predictions[i]
		}
	}
	return nil
}

// assumptions returns what the predictions rest on. Only some modes have hosts of dense PSs.
func (q *request) assumptions() []cost.Assumption {
	dense := 0
	for _, mode := range q.modes {
		j := q.jobFor(mode, q.gpus[len(q.gpus)-1])
		dense = max(dense, len(j.DenseShards(q.layout)))
	}
	j := q.question(q.modes[0], q.gpus[0])
	all, hardware := cost.Assume(j.Parameters()), len(j.HardwareParameters())
	hosts := q.hardware.Assumptions(dense)[len(q.hardware.Parameters()):]
	return slices.Concat(all[:hardware], hosts, all[hardware:])
}
