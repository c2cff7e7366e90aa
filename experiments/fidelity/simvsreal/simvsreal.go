// Package simvsreal measures how well the simulator predicts this machine.
//
// One sync run measures the time of every piece of work. The means are the times of work of the simulated
// machine. The simulator then predicts every mode, and the same job runs for real. Nothing is fitted to the
// predicted modes: their step times, stages and staleness follow from the roles, the number of cores and the
// times of work in sync. A null model, by which every mode takes as long as sync, stands beside. Settings of
// the job make different resources bind.
package simvsreal

import (
	"slices"
	"time"

	"tandem/algo/job"
	"tandem/experiments/internal/report"
)

// New returns the experiment.
func New() *report.Experiment {
	flags := report.NewModeFlags()
	return report.Study(report.Experiment{
		Name:     "simvsreal",
		Question: "How well does the simulator predict training on this machine?",
		Help: `Each round has one seed. In every setting of the job, it measures the time of every
piece of work in one sync run, gives the means to the simulator and trains the same
job in every mode, real and simulated, on the same rows from the same initial
values. The order of the real runs rotates from round to round. Compares

  step time and throughput   within max(10 %, 2 × the spread of the real runs),
                             and beside a null model: every mode takes the time
                             of sync
  stage times                medians of GE, FC, BC, DS and PEG
  staleness                  histograms, by their Wasserstein distance
  AUC and log loss           on the test rows

The settings change the network, the batch, the rows, the ranks and the servers.
The stages of a batch are GE (get embeddings), FC (forward), BC (backward), DS
(dense synchronisation) and PEG (put embedding gradients). The same code measures
real and simulated runs, from the events that the roles record. The simulator uses
the times of work and the CPU time of sync, but not its step time, and nothing of
the other modes.

The machine should be idle. --modes chooses the modes; sync is always among them,
and sequential, which has no roles, never. The quick version has two settings, four
modes and at most three rounds. A run takes at least 2 s, the full version about
half an hour.

` + job.ModeSettingsHelp(),
		QuickTime: 110 * time.Second,
		AddFlags:  flags.AddFlags,
	}, func(o report.Options) (*plan, error) {
		p := newPlan(50_000, 50_000)
		p.Seed, p.Rounds = o.Seed, o.Seeds
		if o.Quick {
			p.DataSet, p.Rounds = report.Generated(0.1, 50_000, 20_000), min(o.Seeds, 3)
			p.Settings = p.Settings[:2]
			p.Modes = []string{job.Sync, job.Hybrid, job.AsyncPS, job.AsyncAverage} // which differ most
		}
		p.RunSeconds = runSeconds
		p.Modes = slices.DeleteFunc(flags.With(job.Sync, p.Modes), sequential)
		var err error
		p.ModeSettings, err = flags.Settle(&p.Job, p.Modes)
		return p, err
	}, (*plan).measure, (*plan).report)
}

// plan is everything that is fixed before the first run.
type plan struct {
	Seed     uint64         `yaml:"seed"` // of the first round
	Rounds   int            `yaml:"rounds"`
	Job      job.Job        `yaml:"job"`  // what all settings and modes share
	DataSet  report.DataSet `yaml:"data"` // with the least number of training rows
	Settings []setting      `yaml:"settings"`
	Modes    []string       `yaml:"modes"` // sync first
	// ModeSettings are, by mode, the values of the settings that only this mode has.
	ModeSettings map[string]map[string]int `yaml:"mode-settings"`
	// RunSeconds is the least time of a sync run; the number of rows follows from it, for all modes.
	RunSeconds float64 `yaml:"run-s"`
}

// runSeconds is the least time of a sync run, of which the pauses of the garbage collector and of a busy
// machine are a small part.
const runSeconds = 2

// newPlan returns a plan for all settings, and for all modes except sequential, which has no roles.
func newPlan(trainRows, testRows int) *plan {
	j := job.Default()
	j.Model.EmbeddingDim, j.Model.Top = 16, []int{64, 32}
	j.Model.Optimizer.Rate, j.Rows.Optimizer.Rate = 0.003, 0.1
	j.Training.Prefetch = 4
	return &plan{
		Job: j, DataSet: report.Generated(0.1, trainRows, testRows), Settings: settings(),
		Modes: slices.DeleteFunc(job.Modes(), sequential),
	}
}

func sequential(mode string) bool { return mode == job.Sequential }

// setting is a change of the job that makes another resource bind. Zero fields keep those of the job.
type setting struct {
	Name             string `yaml:"name" json:"name"`
	Top              []int  `yaml:"top,omitempty" json:"top,omitempty"`
	Dim              int    `yaml:"embedding-dim,omitempty" json:"embedding_dim,omitempty"`
	Batch            int    `yaml:"global-batch,omitempty" json:"global_batch,omitempty"`
	Ranks            int    `yaml:"ranks,omitempty" json:"ranks,omitempty"`
	EmbeddingWorkers int    `yaml:"embedding-workers,omitempty" json:"embedding_workers,omitempty"`
	EmbeddingPSs     int    `yaml:"embedding-pss,omitempty" json:"embedding_pss,omitempty"`
}

// settings returns all settings, the job itself first and the one that differs most from it next.
func settings() []setting {
	return []setting{
		{Name: "as it is"},
		{Name: "large network", Top: []int{512, 256, 128}},
		{Name: "small batches", Batch: 128},
		{Name: "wide rows", Dim: 128},
		{Name: "many servers", EmbeddingWorkers: 4, EmbeddingPSs: 8},
		{Name: "many ranks", Ranks: 8},
	}
}

// job returns the job of a setting and a mode under a seed. All modes merge gradients by rank, which
// asynchronous modes require, so that sync does the same work.
func (p *plan) job(s *setting, mode string, seed uint64) job.Job {
	j := p.Job.InMode(mode)
	j.Training.Merge, j.Training.Seed = job.MergeRank, seed
	if s.Top != nil {
		j.Model.Top = s.Top
	}
	for _, one := range []struct {
		field *int
		value int
	}{
		{&j.Model.EmbeddingDim, s.Dim}, {&j.Training.GlobalBatch, s.Batch}, {&j.Roles.Ranks, s.Ranks},
		{&j.Roles.EmbeddingWorkers, s.EmbeddingWorkers}, {&j.Roles.EmbeddingPSs, s.EmbeddingPSs},
	} {
		if one.value != 0 {
			*one.field = one.value
		}
	}
	return j
}
