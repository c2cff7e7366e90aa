package main

import (
	"fmt"
	"io"

	"tandem/algo/job"
	"tandem/algo/protocol/fault"
	"tandem/internal/cli"
	"tandem/sim/cluster"
	"tandem/sim/predict"
)

// setFaults replaces the faults, the slow roles and the retry of the job by those of the command line.
func (q *request) setFaults(given func(string) bool) (err error) {
	j := &q.job
	if given("faults") {
		if j.Faults, err = fault.Parse(q.faults); err != nil {
			return cli.UsageError("see --help", "--faults: %v", err)
		}
	}
	if given("slow") {
		if j.Slow, err = fault.ParseSlow(q.slow); err != nil {
			return cli.UsageError("see --help", "--slow: %v", err)
		}
	}
	if !given("retry") {
		return nil
	}
	if j.Wire.Retry, err = job.ParseRetry(q.retry); err != nil {
		return cli.UsageError("write a time from 0s to 1m, as 100ms", "--retry: %v", err)
	}
	return nil
}

// checkFaults refuses faults that some run cannot have.
func (q *request) checkFaults(given func(string) bool) error {
	what := fmt.Sprintf("job %s: faults", q.job.Name)
	if given("faults") {
		what = "--faults"
	}
	v := q.hardware.Parameters()
	for _, mode := range q.modes {
		for _, position := range q.positions() {
			h, j := q.hardware.At(v.Everywhere(position)), q.jobFor(mode, q.gpus[0])
			if err := cluster.CheckFaults(h, j, q.kind == trained); err != nil {
				return cli.UsageError("crash a role that every mode and every end of the ranges has, "+
					"or choose modes with "+q.modesFlag(), "%s: %s: %v", what, mode, err)
			}
		}
	}
	return nil
}

// checkSlow refuses slow roles that some run does not have.
func (q *request) checkSlow(given func(string) bool) error {
	what := fmt.Sprintf("job %s", q.job.Name)
	if given("slow") {
		what = "--slow"
	}
	if len(q.job.Slow) == 0 {
		return nil
	}
	v := q.hardware.Parameters()
	for _, mode := range q.modes {
		for _, gpus := range q.gpus {
			for _, position := range q.positions() {
				j := &predict.Job{Job: q.jobFor(mode, gpus), Hardware: q.hardware.At(v.Everywhere(position))}
				if err := j.CheckSlow(); err != nil {
					return cli.UsageError("slow down a role that every mode, every number of GPUs and every "+
						"end of the ranges has", "%s: %s on %d: %v", what, mode, gpus, err)
				}
			}
		}
	}
	return nil
}

// writeSlow prints which roles are slow.
func (q *request) writeSlow(w io.Writer, _ *result) error {
	if len(q.job.Slow) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "\nSlow, times as long for each piece of work: %s\n", q.job.Slow)
	return err
}

// writeFaults prints what faults have done, in each mode on most GPUs.
func (q *request) writeFaults(w io.Writer, r *result) error {
	p := &q.job.Faults
	if !p.Any() {
		return nil
	}
	fmt.Fprintf(w, "\nFaults: %s\nOn %d %s they came to:\n", p, q.gpus[len(q.gpus)-1], q.unitName())
	for _, mode := range q.modes {
		if o := r.last(mode); o != nil {
			fmt.Fprintf(w, "  %s: %v\n", mode, o.answer.Faults)
		}
	}
	if q.kind != trained {
		fmt.Fprintln(w, "With faults at least 100 steps are measured, and every step is simulated; the "+
			"changes by a tenth are without faults.")
	}
	return nil
}

// writeDropped prints the gradients that modes dropped on most GPUs.
func (q *request) writeDropped(w io.Writer, r *result) error {
	begun := false
	for _, mode := range q.modes {
		o := r.last(mode)
		if o == nil || o.answer.Staleness.Dropped == 0 {
			continue
		}
		dropped := o.answer.Staleness.Dropped
		if !begun {
			fmt.Fprintf(w, "\nGradients that came too late to count, on %d %s; parts of a batch count one "+
				"by one:\n",
				q.gpus[len(q.gpus)-1], q.unitName())
			begun = true
		}
		fmt.Fprintf(w, "  %s: %d\n", mode, dropped)
	}
	return nil
}

// counts returns what faults have done to a run; nil if there are none.
func (q *request) counts(a *cluster.Result) *fault.Counts {
	if !q.job.Faults.Any() {
		return nil
	}
	return &a.Faults
}
