package main

import (
	"cmp"
	"context"
	"fmt"
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
}

// answer is a prediction of roles: the figures at the middle of what is not known, and the interval of the
// throughput.
type answer struct {
	cluster.Result
	Low, High float64 // samples a second
}

// result is everything that is reported.
type result struct {
	predictions   []prediction
	sensitivities []predict.Sensitivity // of the last prediction
	// plain is sync without overlap on the largest number of GPUs, which Persia's paper calls
	// fully sync; nil unless sync is among the modes.
	plain *cluster.Result
}

// coarse is the number of points of the box of unknowns behind an interval of the table.
const coarse = 16

// question returns what is predicted in a mode on a number of GPUs.
func (q *request) question(mode string, gpus int) *predict.Job {
	return &predict.Job{Job: q.jobFor(mode, gpus), Hardware: q.hardware, Workload: q.workload,
		Layout: q.layout}
}

// jobFor returns the job in a mode on a number of GPUs, with groups for all of them.
func (q *request) jobFor(mode string, gpus int) job.Job {
	j := q.job.InMode(mode)
	j.Roles.Ranks, j.Training.GlobalBatch = gpus, gpus*q.batch
	for j.Training.Groups < gpus {
		j.Training.Groups *= 2
	}
	return j
}

// options returns the options of a run. With jitter, more steps are measured.
func (q *request) options() cluster.Options {
	const jitterSteps = 64
	o := cluster.Options{Jitter: q.jitter, Seed: q.seed}
	if q.jitter > 0 {
		o.Measured = jitterSteps
	}
	return o
}

// run simulates every mode on every number of GPUs.
func (q *request) run(progress *cli.Progress) (*result, error) {
	r := &result{}
	const sensitivities = 10 // runs that they count as, on the progress bar
	total := len(q.modes)*len(q.gpus) + sensitivities
	if slices.Contains(q.modes, job.Sync) {
		total++
	}
	done := 0
	show := func(what string) {
		progress.Show(done, total, what)
		done++
	}
	for _, mode := range q.modes {
		first := len(r.predictions)
		for _, n := range q.gpus {
			show(fmt.Sprintf("%s on %d", mode, n))
			a, err := predict.Run(context.Background(), q.question(mode, n),
				predict.Options{Samples: coarse, Cluster: q.options(), Seed: q.seed})
			if err != nil {
				return nil, err
			}
			o := prediction{mode: mode, gpus: n, answer: answer{*a.Mid.Roles, a.Interval.Low,
				a.Interval.High}}
			r.predictions = append(r.predictions, o)
			base := r.predictions[first]
			r.predictions[len(r.predictions)-1].efficiency =
				a.Mid.Throughput / float64(n) / (base.answer.Throughput / float64(base.gpus))
		}
		if mode == job.Sync {
			j := q.jobFor(job.Sync, q.gpus[len(q.gpus)-1])
			j.Training.Overlap = "none"
			show("sync without overlap")
			a, err := cluster.Run(q.hardware, j, q.layout, q.workload, q.options())
			if err != nil {
				return nil, err
			}
			r.plain = &a
		}
	}
	last := r.last(q.modes[len(q.modes)-1])
	var err error
	show("sensitivities")
	r.sensitivities, err = predict.Sensitivities(context.Background(), q.question(last.mode, last.gpus),
		predict.Options{})
	return r, err
}

// last returns the prediction of a mode at the largest number of GPUs, or nil.
func (r *result) last(mode string) *prediction {
	for i := len(r.predictions) - 1; i >= 0; i-- {
		if r.predictions[i].mode == mode {
			return &r.predictions[i]
		}
	}
	return nil
}

// assumptions returns those of the prediction that has the most: all have the same, except for
// the hosts of dense PSs, which only some modes have.
func (r *result) assumptions() []cost.Assumption {
	return slices.MaxFunc(r.predictions, func(a, b prediction) int {
		return cmp.Compare(len(a.answer.Assumptions), len(b.answer.Assumptions))
	}).answer.Assumptions
}
