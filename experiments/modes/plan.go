package modes

import (
	"tandem/algo/job"
	"tandem/experiments/report"
)

// plan is everything that is fixed before the first training.
type plan struct {
	Seed     uint64           `yaml:"seed"` // the first
	Seeds    int              `yaml:"seeds"`
	Job      job.Job          `yaml:"job"` // what all modes share
	DataSets []report.DataSet `yaml:"data"`
	Modes    []string         `yaml:"modes"`
	// ModeSettings are the values that single modes have of settings of their own.
	ModeSettings map[string]map[string]int `yaml:"mode-settings"`
}

// newPlan returns a plan over all modes. The rates are those that the staleness
// experiment has chosen by sequential training alone, on data of no report.
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

// set gives the modes the settings of a command line.
func (p *plan) set(flag *report.ModeSet) error {
	if err := flag.Apply(&p.Job, p.Modes); err != nil {
		return err
	}
	p.ModeSettings = report.ModeSettings(p.Job, p.Modes)
	return nil
}

// training returns the job of a mode under a seed. All merge gradients by rank,
// as modes that never wait must, so that modes differ in nothing else.
func (p *plan) training(mode string, seed uint64) job.Job {
	t := p.Job.InMode(mode)
	t.Training.Merge, t.Training.Seed = job.MergeRank, seed
	return t
}
