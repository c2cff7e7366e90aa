// Package processes compares one training in this process with the same training in several processes of
// this machine: one process for all PSs and one for the other roles, and a process for every role.
//
// The three take turns within one run, because the speed of a machine drifts; a share is taken in every
// round.
package processes

import (
	"context"
	"errors"
	"time"

	"tandem/algo/job"
	"tandem/datasets"
	"tandem/experiments/internal/report"
	"tandem/runtime/process"
)

// Experiment is the comparison.
type Experiment struct{}

// New returns the experiment.
func New() Experiment { return Experiment{} }

// Name returns "processes".
func (Experiment) Name() string { return "processes" }

// Question returns the question of the experiment.
func (Experiment) Question() string {
	return "How much of its rate does a training keep in processes of this machine?"
}

// Help returns what the experiment measures and writes.
func (Experiment) Help() string {
	return `The same training runs in turns

  in-process    with all roles in this process
  colocated     in one process for all PSs and one for all other roles
  apart         in a process for every role, as cmd/train --processes starts it

in modes hybrid and sync, with 2 and 4 ranks and batches of 1,024 and 8,192 of
400,000 generated rows of Criteo's shape; network 64-32. In sync, the trained bits
must be the same in all three; in hybrid, the losses on test rows must agree.

A case has at least 10 rounds, more if --seeds is more; the quick version has 3 and
fewer cases and rows. The share of the in-process rate is taken in every round, and
the median counts. Goals: 85 % colocated, 50 % apart, and at most 40 context
switches a step with 4 ranks. The machine should be idle.

Context switches and CPU time are those of all threads of all processes, between a
tenth and nine tenths of the steps. They are read in /proc, and left out on systems
without it. The full version takes about half an hour on two cores.

Writes to a new folder:

  report.html           everything on one page
  processes.csv         a line per training, written at its end
  cases.jsonl           a line per case, written at its end, from which an
                        interrupted run continues
  processes.json        rates, switches and CPU time by round
  settings.yaml         the resolved settings
  shares.png, .svg      the shares of the in-process rate`
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (Experiment) QuickTime() time.Duration { return 120 * time.Second }

// Run measures every case.
func (Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	node, err := process.FindNode()
	if err != nil {
		return nil, err
	}
	return newPlan(o).execute(ctx, o, node)
}

// execute measures a plan. Node is the program that is a process of a run.
func (p *plan) execute(ctx context.Context, o report.Options, node string) (*report.Report, error) {
	data, err := datasets.Open(job.Data{Kind: job.KindSynthetic, Synthetic: &p.Rows}, "")
	if err != nil {
		return nil, err
	}
	log, err := o.NewLog("processes.csv", "mode", "ranks", "batch", "round", "processes", "samples_per_s",
		"switches_per_step", "cpu_ms_per_step")
	if err != nil {
		return nil, err
	}
	m := &measurement{plan: p, options: o, node: node, data: data, log: log,
		meter: report.Meter{Total: len(p.Cases) * p.Rounds * len(ways()), Report: o.Progress}}
	var names []string
	for _, c := range p.Cases {
		names = append(names, c.String())
	}
	results, err := report.MeasureCases(o, log, &m.meter, names, func(i int) (*result, error) {
		return m.compare(ctx, p.Cases[i])
	})
	if err := errors.Join(err, log.Close()); err != nil {
		return nil, err
	}
	return p.report(results), nil
}
