package modes

import (
	"tandem/algo/job"
	"tandem/experiments/internal/report"
)

// plan is everything that is fixed before the first training.
type plan struct {
	Seed     uint64           `yaml:"seed"` // the first
	Seeds    int              `yaml:"seeds"`
	Job      job.Job          `yaml:"job"` // what all modes share
	DataSets []report.DataSet `yaml:"data"`
	Modes    []string         `yaml:"modes"`
	// ModeSettings are, by mode, the values of the settings that only this mode has.
	ModeSettings map[string]map[string]int `yaml:"mode-settings"`
}

// newPlan returns a plan for all modes. The learning rates are those of the staleness experiment, which were
// chosen by sequential training on data that no report contains.
func newPlan(trainRows, testRows int) plan {
	t := job.Default()
	t.Model.EmbeddingDim, t.Model.Top = 8, []int{32, 16}
	t.Model.Optimizer.Rate, t.Rows.Optimizer.Rate = 0.01, 0.1
	t.Training.GlobalBatch, t.Training.Prefetch = 256, 4
	p := plan{
		Job: t, Modes: job.Modes(),
		DataSets: []report.DataSet{report.Generated(0.1, trainRows, testRows), report.AdultIncome()},
	}
	p.ModeSettings = report.ModeSettings(t, p.Modes)
	return p
}

// set adds the mode settings of a command line.
func (p *plan) set(flag *report.ModeSet) error {
	if err := flag.Apply(&p.Job, p.Modes); err != nil {
		return err
	}
	p.ModeSettings = report.ModeSettings(p.Job, p.Modes)
	return nil
}

// job returns the job of a mode under a seed. All modes merge gradients by rank, which asynchronous modes
// require, so that they differ in nothing else.
func (p *plan) job(mode string, seed uint64) job.Job {
	t := p.Job.InMode(mode)
	t.Training.Merge, t.Training.Seed = job.MergeRank, seed
	return t
}
