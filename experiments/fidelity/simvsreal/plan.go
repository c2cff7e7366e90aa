package simvsreal

import (
	"slices"

	"tandem/algo/job"
	"tandem/experiments/internal/report"
)

// plan is everything that is fixed before the first run.
type plan struct {
	Seed     uint64         `yaml:"seed"` // of the first round
	Rounds   int            `yaml:"rounds"`
	Job      job.Job        `yaml:"job"`  // what all settings and modes share
	DataSet  report.DataSet `yaml:"data"` // with the least number of training rows
	Settings []setting      `yaml:"settings"`
	Modes    []string       `yaml:"modes"`
	// ModeSettings are, by mode, the values of the settings that only this mode has.
	ModeSettings map[string]map[string]int `yaml:"mode-settings"`
	// RunSeconds is the least time of a sync run; the number of rows follows from it, for all modes.
	RunSeconds float64 `yaml:"run-s"`
}

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

// The numbers of settings and rounds of the quick version.
const (
	quickSettings = 2
	quickRounds   = 3
)

// quickModes returns the modes of the quick version, which differ most from each other.
func quickModes() []string {
	return []string{job.Sync, job.Hybrid, job.AsyncPS, job.AsyncAverage}
}

// runSeconds is the least time of a sync run, of which the pauses of the garbage collector and of a busy
// machine are a small part.
const runSeconds = 2

// apply returns the job of a setting.
func (s *setting) apply(j job.Job) job.Job {
	if s.Top != nil {
		j.Model.Top = s.Top
	}
	set := func(field *int, value int) {
		if value != 0 {
			*field = value
		}
	}
	set(&j.Model.EmbeddingDim, s.Dim)
	set(&j.Training.GlobalBatch, s.Batch)
	set(&j.Roles.Ranks, s.Ranks)
	set(&j.Roles.EmbeddingWorkers, s.EmbeddingWorkers)
	set(&j.Roles.EmbeddingPSs, s.EmbeddingPSs)
	return j
}

// newPlan returns a plan for all settings, and for all modes except sequential, which has no roles.
func newPlan(trainRows, testRows int) plan {
	t := job.Default()
	t.Model.EmbeddingDim, t.Model.Top = 16, []int{64, 32}
	t.Model.Optimizer.Rate, t.Rows.Optimizer.Rate = 0.003, 0.1
	t.Training.Prefetch = 4
	p := plan{
		Job: t, DataSet: report.Generated(0.1, trainRows, testRows), Settings: settings(),
		Modes: slices.DeleteFunc(job.Modes(), sequential),
	}
	p.ModeSettings = report.ModeSettings(t, p.Modes)
	return p
}

func sequential(mode string) bool { return mode == job.Sequential }

// set adds the mode settings of a command line.
func (p *plan) set(flag *report.ModeSet) error {
	if err := flag.Apply(&p.Job, p.Modes); err != nil {
		return err
	}
	p.ModeSettings = report.ModeSettings(p.Job, p.Modes)
	return nil
}

// job returns the job of a setting and a mode under a seed. All modes merge gradients by rank, which
// asynchronous modes require, so that sync does the same work.
func (p *plan) job(s *setting, mode string, seed uint64) job.Job {
	t := s.apply(p.Job).InMode(mode)
	t.Training.Merge, t.Training.Seed = job.MergeRank, seed
	return t
}
