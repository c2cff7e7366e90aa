// Package source measures which part of a model may learn late: the embedding rows or the dense network.
//
// Persia's thesis is that stale rows are harmless and a stale network is not. The experiment imposes the same
// delay d on one part at a time, in sequential training on the same rows in the same order from the same
// initial values:
//
//	fresh    every gradient takes effect at once
//	rows     gradients of embedding rows take effect d steps later
//	network  gradients of the dense network take effect d steps later
//	lag      fresh, with the last d steps left out: what is late has learned from d steps less
//
//	loss(part) = AUC(fresh) − AUC(part late)
//
// The thesis holds on a data set if loss(network) − loss(rows) is above 0. Late gradients want lower rates,
// so every pair is compared at several rates: the best ones of every arm, the best ones of the fresh arm for
// all, and, for the main delay, the defaults of a job, which are not tuned.
//
// Sources: Lian and others, arXiv 2111.05897 (the thesis); Fieller, J. R. Stat. Soc. B 16 (1954) (the
// interval of a ratio).
package source

import (
	"context"
	"time"

	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
)

// Experiment is the comparison.
type Experiment struct{}

// New returns the experiment.
func New() Experiment { return Experiment{} }

// Name returns "source".
func (Experiment) Name() string { return "source" }

// Question returns the question of the experiment.
func (Experiment) Question() string {
	return "Which part may be late: the embedding rows or the dense network?"
}

// Help returns what the experiment measures and writes.
func (Experiment) Help() string {
	return `Trains in sequence on the same rows, in the same order, from the same initial
values, with one part of the model late:

  fresh    every gradient takes effect at once
  rows     gradients of embedding rows take effect d steps later
  network  gradients of the dense network take effect d steps later
  lag      fresh, with the last d steps left out

The loss of a part is the AUC of fresh less the AUC with that part late. The
thesis of Persia is that the network loses more. Every pair is compared at the
tuned rates of each arm (own), at those of fresh (fresh) and at the defaults of a
job, which are not tuned (default); and on shorter and longer runs.

Data are generated, with the most frequent id in shares α of the rows, and real:
what the data folder has. The full version takes about 20 minutes on two cores
for each 10 seeds.

Writes to a new folder:

  report.html                     everything on one page
  trials.jsonl                    a line per training, written at its end
  source.json                     AUC by seed, losses, ratios, tuned rates
  settings.yaml                   the resolved settings
  delay-own, delay-fresh          the losses by delay, generated data (.png, .svg)
  sets-own, sets-fresh            the losses on every data set (.png, .svg)`
}

// QuickTime returns the approximate time of the quick version on two slow cores.
func (Experiment) QuickTime() time.Duration { return 15 * time.Second }

// Run trains and compares all arms.
func (Experiment) Run(ctx context.Context, o report.Options) (*report.Report, error) {
	p := fullPlan()
	if o.Quick {
		p = quickPlan()
	}
	return execute(ctx, p, o)
}

// execute runs a plan on the data sets that are there.
func execute(ctx context.Context, p plan, o report.Options) (*report.Report, error) {
	p.Seed, p.Seeds = o.Seed, o.Seeds
	present, absent := report.Present(p.Sets, o.DataFolder)
	p.Sets = present
	results, err := trial.Measure(o, "source", p.trainings(), func(lab *trial.Lab) ([]*result, error) {
		return p.measure(ctx, lab)
	})
	if err != nil {
		return nil, err
	}
	r := p.report(results)
	r.Notes = append(r.Notes, absent...)
	return r, nil
}
