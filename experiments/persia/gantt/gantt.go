// Package gantt draws the four schedules of Persia's Gantt chart from simulated events.
//
// A batch passes five stages: GE (get embeddings), FC and BC (forward and backward pass), DS (dense
// synchronisation), PEG (put embedding gradients). The schedules differ in what overlaps.
//
// Source: Lian and others, Persia, KDD 2022 (arXiv 2111.05897), the Gantt chart of its section on the
// algorithm, which has no numbers.
package gantt

import (
	"time"

	"tandem/algo/job"
	"tandem/algo/protocol/pace"
	"tandem/experiments/internal/report"
	"tandem/sim/predict"
)

// New returns the experiment.
func New() *report.Experiment {
	return report.Study(report.Experiment{
		Name:     "gantt",
		Question: "What overlaps in sync, async and hybrid training, and for how long?",
		Help: `Simulates 8 V100s of the cluster persia-paper on Criteo, jitter left out, in the
four schedules of Persia's Gantt chart, and draws rank 0 from the events:

  sync              nothing overlaps
  async             everything does; replicas are averaged in the background
  hybrid, naive     GE and PEG overlap the dense work of other batches
  hybrid            so, and DS overlaps BC of the same batch

Every batch of every rank is checked for the order GE, FC, BC, DS, PEG. The time of
a step is compared with a closed form of the stages' durations in sync, where
they are alone. Intervals of ratios are from sampled unknown inputs.`,
		QuickTime: 10 * time.Second,
	}, newPlan, (*plan).measure, (*plan).report)
}

// plan is everything that is fixed before the first run.
type plan struct {
	Preset    string     `yaml:"preset"` // of the cluster
	Model     string     `yaml:"model"`
	GPUs      int        `yaml:"gpus"`
	Samples   int        `yaml:"samples"` // points of the box of unknown inputs behind an interval
	Steps     int        `yaml:"steps"`   // measured of a run
	Shown     int        `yaml:"shown"`   // steps of the figure, of the slowest schedule
	Schedules []schedule `yaml:"schedules"`
}

// schedule is a panel of the chart.
type schedule struct {
	ID      string `yaml:"id"` // in names of quantities
	Name    string `yaml:"name"`
	Mode    string `yaml:"mode"`
	Overlap string `yaml:"overlap,omitempty"` // of DS and BC; empty: the mode has no such setting
}

// The schedules, in the order of the chart.
const (
	fullySync = iota
	fullyAsync
	naiveHybrid
	hybrid
)

func newPlan(o report.Options) (*plan, error) {
	p := &plan{
		Preset: "persia-paper", Model: "criteo", GPUs: 8, Steps: 16, Shown: 3,
		Samples: predict.SamplesDefault,
		Schedules: []schedule{
			{"sync", "sync", job.Sync, string(pace.HybridNaive)},
			{"async", "async", job.AsyncAverage, ""},
			{"hybrid-naive", "hybrid, naive", job.Hybrid, string(pace.HybridNaive)},
			{"hybrid", "hybrid", job.Hybrid, string(pace.HybridDS)},
		},
	}
	if o.Quick {
		p.Samples = 48
	}
	return p, nil
}

func (p *plan) job(s *schedule) (*predict.Job, error) {
	j, _, err := predict.New(predict.Choice{Preset: p.Preset, Model: p.Model, Mode: s.Mode, GPUs: p.GPUs})
	if err == nil && s.Overlap != "" {
		j.Training.Overlap = s.Overlap
	}
	return j, err
}
