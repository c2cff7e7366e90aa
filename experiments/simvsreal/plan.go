package simvsreal

import (
	"slices"

	"tandem/algo/job"
	"tandem/experiments/report"
)

// plan is everything that is fixed before the first run.
type plan struct {
	Seed    uint64         `yaml:"seed"` // of the first round
	Rounds  int            `yaml:"rounds"`
	Job     job.Job        `yaml:"job"` // what all modes share
	DataSet report.DataSet `yaml:"data"`
	Modes   []string       `yaml:"modes"`
	// ModeSettings are, by mode, the values of the settings that only this mode has.
	ModeSettings map[string]map[string]int `yaml:"mode-settings"`
}

// newPlan returns a plan for all modes except sequential, which has no roles.
func newPlan(trainRows, testRows int) plan {
	t := job.Default()
	t.Model.EmbeddingDim, t.Model.Top = 16, []int{64, 32}
	t.Model.Optimizer.Rate, t.Rows.Optimizer.Rate = 0.003, 0.1
	t.Training.Prefetch = 4
	p := plan{
		Job: t, DataSet: report.Generated(0.1, trainRows, testRows),
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

// job returns the job of a mode under a seed. All modes merge gradients by
// rank, which asynchronous modes require, so that sync does the same work.
func (p *plan) job(mode string, seed uint64) job.Job {
	t := p.Job.InMode(mode)
	t.Training.Merge, t.Training.Seed = job.MergeRank, seed
	return t
}
