// Package gantt draws the four schedules of Persia's Gantt chart from simulated events.
//
// A batch passes five stages: GE (get embeddings), FC and BC (forward and backward pass), DS (dense
// synchronisation), PEG (put embedding gradients). The schedules differ in what overlaps.
//
// Source: Lian and others, Persia, KDD 2022 (arXiv 2111.05897), the Gantt chart of its section on the
// algorithm, which has no numbers.
package gantt

import (
	"context"
	"fmt"
	"time"

	"tandem/experiments/internal/report"
)

// Experiment draws the schedules.
type Experiment struct{}

// New returns the experiment.
func New() Experiment { return Experiment{} }

// Name returns "gantt".
func (Experiment) Name() string { return "gantt" }

// Question returns the question of the experiment.
func (Experiment) Question() string {
	return "What overlaps in sync, async and hybrid training, and for how long?"
}

// Help returns what the experiment measures and writes.
func (Experiment) Help() string {
	return `Simulates 8 V100s of the cluster persia-paper on Criteo, jitter left out, in the
four schedules of Persia's Gantt chart, and draws rank 0 from the events:

  sync              nothing overlaps
  async             everything does; replicas are averaged in the background
  hybrid, naive     GE and PEG overlap the dense work of other batches
  hybrid            so, and DS overlaps BC of the same batch

Every batch of every rank is checked for the order GE, FC, BC, DS, PEG. The time of
a step is compared with a closed form of the stages' durations in sync, where
they are alone:

  sync              GE + FC + BC + DS + PEG
  async             max(GE, PEG, FC + BC)
  hybrid, naive     max(GE, PEG, FC + BC + DS)
  hybrid            max(GE, PEG, FC + pipeline), where the pipeline of BC and DS ends
                    max(BC, DS) and a part of a bucket after BC begins

Intervals of ratios are from sampled unknown inputs.

Writes to a new folder:

  report.html           everything on one page
  schedules.png, .svg   the four schedules
  gantt.json            stages, steps, closed forms, and the spans of the figure
  settings.yaml         the resolved settings`
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (Experiment) QuickTime() time.Duration { return 10 * time.Second }

// Run simulates the four schedules.
func (Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	p := newPlan(o)
	r, err := p.measure(ctx, o.Progress)
	if err != nil {
		return nil, fmt.Errorf("gantt: %w", err)
	}
	return p.report(r), nil
}
