// Package links compares predictions with trainings over links that are slow for real: cmd/node in network
// namespaces of this machine, whose links a token bucket of the kernel slows down.
//
// Most of the time of a step is then on wires, which take the same time on a busy machine, and modes and
// numbers of ranks differ by more than repetitions do. No prediction is fitted to a step over links: links
// are measured by plain TCP, and forward and backward by trainings in one process.
package links

import (
	"context"
	"fmt"
	"time"

	"tandem/algo/job"
	"tandem/algo/unit"
	"tandem/experiments/internal/report"
)

// New returns the experiment.
func New() *report.Experiment {
	return report.Study(report.Experiment{
		Name:     "links",
		Question: "How well does the simulator predict training over slow links?",
		Help: `Trains with cmd/node in network namespaces of this machine, one for the host
and the data loader, one each for an embedding worker, an embedding PS, all
ranks and the dense PSs of async-ps. tc slows the link of each to 100, 200 or
400 Mbit/s, both ways. Each cell is a rate, a mode and 1 or 4 ranks.

The time of a step is the difference of two runs, divided by the difference of
their steps: start and end of a run cancel. The prediction is for a cluster with
these hosts. Of this machine it has the rate of a link by plain TCP, and the time
of forward and backward, measured by trainings in one process.

Null models: the bytes of the busiest link, as the kernel counts them, divided
by its rate; and the time of sync at the same rate and number of ranks.

Needs Linux with root in user namespaces, and ip, tc, unshare and nsenter
(Debian: iproute2, util-linux); without them the experiment is skipped.`,
		QuickTime: 3 * time.Minute,
		Missing:   func() error { return missing(context.Background()) },
	}, newPlan, (*plan).measure, (*plan).report)
}

// plan is everything that is fixed before the first run.
type plan struct {
	Seed  uint64             `yaml:"seed"`
	Job   job.Job            `yaml:"job"` // what all cells share
	Rates []unit.BytesPerSec `yaml:"rates"`
	Modes []string           `yaml:"modes"` // sync first
	Ranks []int              `yaml:"ranks"`
	// Short and Long are the steps of the two runs of a cell.
	Short int `yaml:"short-steps"`
	Long  int `yaml:"long-steps"`
	// Samples is the number of points of the box behind an interval.
	Samples int `yaml:"samples"`
	// repetitions is how often the machine is measured. The median counts, because other programs slow
	// trainings over links down, too.
	repetitions int
}

// Goals, set before the first run: of the median error, and of the null models'.
const (
	errorMost = 0.05
	nullLeast = 0.25
)

// megabit is a rate of 1 Mbit/s.
const megabit = unit.BytesPerSec(1e6 / 8)

// newPlan returns the plan of the quick or the full version.
func newPlan(o report.Options) (*plan, error) {
	p := &plan{
		Seed: o.Seed, Rates: []unit.BytesPerSec{100 * megabit, 200 * megabit, 400 * megabit},
		Modes: []string{job.Sync, job.Hybrid, job.AsyncPS, job.AsyncAverage}, Ranks: []int{1, 4},
		Short: 16, Long: 64, Samples: 64, repetitions: 5,
	}
	if o.Quick {
		p.Rates, p.Modes = []unit.BytesPerSec{200 * megabit}, []string{job.Sync, job.Hybrid, job.AsyncAverage}
	}
	spec := job.Synthetic{TestRows: 1000, Numeric: 13, PositiveRate: 0.3}
	for i := range 26 {
		column := job.SyntheticColumn{Name: fmt.Sprintf("c%d", i+1), Cardinality: 100_000, Exponent: 1}
		if i >= 20 {
			column.Cardinality = 1000
		}
		spec.Columns = append(spec.Columns, column)
	}
	j := job.Default()
	j.Name = "links"
	j.Data = job.Data{Kind: job.KindSynthetic, Synthetic: &spec}
	j.Model.EmbeddingDim, j.Model.Top = 16, []int{256, 128}
	j.Training.GlobalBatch = 1024
	j.Roles.EmbeddingWorkers, j.Roles.EmbeddingPSs, j.Roles.DensePSs = 1, 1, 1
	// Processes of one machine would otherwise share memory, and ask again for what is on a slow wire.
	j.Wire.Local, j.Wire.Retry = job.TCP, unit.Minute
	p.Job = j
	return p, nil
}

// cell is a training at one rate.
type cell struct {
	Rate  unit.BytesPerSec
	Mode  string
	Ranks int
}

// String returns the name of the cell.
func (c cell) String() string { return fmt.Sprintf("%s, %s, %d ranks", c.Mode, c.rate(), c.Ranks) }

// rate returns the rate as text.
func (c cell) rate() string { return fmt.Sprintf("%.0f Mbit/s", float64(c.Rate/megabit)) }

// cells returns all cells of the plan.
func (p *plan) cells() (list []cell) {
	for _, rate := range p.Rates {
		for _, ranks := range p.Ranks {
			for _, mode := range p.Modes {
				list = append(list, cell{rate, mode, ranks})
			}
		}
	}
	return list
}

// job returns the job of a cell with a number of steps.
func (p *plan) job(c cell, steps int) job.Job {
	j := p.Job
	spec := *j.Data.Synthetic
	spec.Seed, spec.TrainRows = p.Seed, steps*j.Training.GlobalBatch
	j.Data.Synthetic = &spec
	j.Roles.Ranks = c.Ranks
	j = j.InMode(c.Mode)
	j.Training.Seed = p.Seed
	return j
}

// result is a cell with what was measured and predicted.
type result struct {
	Mode  string           `json:"mode"`
	Ranks int              `json:"ranks"`
	Rate  unit.BytesPerSec `json:"rate"`
	Link  link             `json:"link"`
	// RunSeconds are the times of the short and the long run, and StepSeconds that of a step.
	RunSeconds  [2]float64 `json:"run_s"`
	StepSeconds float64    `json:"step_s"`
	// BusiestBytes are the bytes of a step on the busiest link, of the long run.
	BusiestBytes float64    `json:"busiest_link_bytes_per_step"`
	Simulated    float64    `json:"simulated_s"`
	Interval     [2]float64 `json:"simulated_interval_s"`
}

// results are all cells, with a hash of the inputs of the predictions beside what was measured.
type results struct {
	Inputs  string    `json:"hash"`
	Machine machine   `json:"machine"`
	Cells   []*result `json:"cells"`
}

// measure runs every cell and then predicts all of them. Cells that an interrupted run has ended are kept.
func (p *plan) measure(ctx context.Context, o report.Options) (*results, error) {
	if err := missing(ctx); err != nil {
		return nil, err
	}
	s, err := newTestbed(ctx)
	if err != nil {
		return nil, err
	}
	defer s.remove()
	all := p.cells()
	meter := &report.Meter{Total: len(all) + 1, Unit: "cells", Report: o.Progress}
	r := &results{}
	r.Cells, err = report.MeasureCases(o, meter, all, cell.String, func(c cell) (*result, error) {
		meter.Show(0, 1, c.String())
		return p.run(ctx, s, c)
	})
	if err != nil {
		return nil, err
	}
	meter.Show(0, 1, "predictions")
	return r, p.predictAll(ctx, r)
}

// run measures one cell.
func (p *plan) run(ctx context.Context, s *testbed, c cell) (*result, error) {
	r := &result{Mode: c.Mode, Ranks: c.Ranks, Rate: c.Rate}
	var err error
	if r.Link, err = s.probe(ctx, c.Rate); err != nil {
		return nil, err
	}
	for i, steps := range []int{p.Short, p.Long} {
		t, err := s.train(ctx, c.Rate, p.job(c, steps))
		if err != nil {
			return nil, err
		}
		r.RunSeconds[i], r.BusiestBytes = t.seconds, t.busiest/float64(steps)
	}
	r.StepSeconds = (r.RunSeconds[1] - r.RunSeconds[0]) / float64(p.Long-p.Short)
	return r, nil
}
