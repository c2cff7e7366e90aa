// Package neo divides the lead of Neo on ZionEX over a system of CPUs and parameter servers into factors,
// each the ratio of two simulated clusters that differ in one thing.
package neo

import (
	"context"
	"time"

	"tandem/experiments/internal/report"
)

// Experiment is the division.
type Experiment struct{}

// New returns the experiment.
func New() Experiment { return Experiment{} }

// Name returns "neo".
func (Experiment) Name() string { return "neo" }

// Question returns the question of the experiment.
func (Experiment) Question() string {
	return "Of what does Neo's lead of 40 × over CPUs and parameter servers consist?"
}

// Help returns what the experiment measures and writes.
func (Experiment) Help() string {
	return `Predicts the throughput of Neo's model of 12 T parameters on the way from CPUs with
parameter servers (PSs) to Neo, one change after the other:

  cpu-ps        8, 24 or 64 trainers without accelerators, PSs, async-ps
  accelerators  128 A100s as trainers, same PSs
  algorithm     mode sync in place of async-ps
  placement     tables in the memories of the 16 GPU servers, no PSs
  network       8 cards of 200 Gbit/s a server in place of one of 100

Ratios of neighbours are factors of the lead, taken point by point over all unknown
inputs, trainers included. Compared with what is published: up to 40 × in time to
solution, and about 1.7 million samples/s. Of the system of CPUs nothing is
published but its kind; it has the system software of Persia here.

The quick version has fewer points of the box of inputs. The full version takes a
quarter of an hour.

Writes to a new folder:

  report.html               everything on one page
  neo.csv                   a line per simulated case, written at its end
  neo.json                  inputs with sources and hash, predictions, factors
  settings.yaml             the resolved settings
  factors.png, .svg         factors, their product, and 40 ×
  comparison.png, .svg      prediction ÷ what is published`
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (Experiment) QuickTime() time.Duration { return 2 * time.Minute }

// Run predicts all cases and divides the lead.
func (e Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	p := newPlan(o)
	r, err := p.Measure(ctx, o, e.Name())
	if err != nil {
		return nil, err
	}
	return newReport(p, divide(r)), nil
}
