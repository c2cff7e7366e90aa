package tuner

import (
	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/tune"
)

// plan is everything that is fixed before the first training.
type plan struct {
	Seed     uint64           `yaml:"seed"` // the first
	Seeds    int              `yaml:"seeds"`
	Job      job.Job          `yaml:"job"` // what all modes share
	DataSets []report.DataSet `yaml:"data"`
	Modes    []string         `yaml:"modes"` // with sync
	Rates    tune.Plan        `yaml:"candidates"`
	// ModeSettings are, by mode, the values of the settings that only this mode has.
	ModeSettings map[string]map[string]int `yaml:"mode-settings"`
}

// baseline is the name of the arm that is no mode.
const baseline = "logistic"

// nominal are the rates that the grid is centred on.
var nominal = tune.Rates{Rows: 0.1, Dense: 0.01}

func quickPlan() plan {
	p := newPlan(20_000, 20_000, []string{job.Sync, job.Hybrid, job.AsyncPS})
	p.Rates = tune.Plan{Rows: tune.Grid(nominal.Rows, 4, 2), Dense: tune.Grid(nominal.Dense, 4, 2),
		Seeds: tune.SeedsMin}
	return p
}

func fullPlan() plan {
	p := newPlan(100_000, 100_000, job.Modes()[1:])
	p.Rates = tune.Plan{Rows: tune.Grid(nominal.Rows, 4, 2), Dense: tune.Grid(nominal.Dense, 4, 2),
		Seeds: tune.SeedsWanted}
	return p
}

func newPlan(trainRows, testRows int, modes []string) plan {
	j := job.Default()
	j.Model.EmbeddingDim, j.Model.Top = 8, []int{32, 16}
	j.Training.GlobalBatch, j.Training.Prefetch = 256, 4
	j.Cluster = job.PersiaCluster()
	p := plan{
		Job: j, Modes: modes,
		DataSets: []report.DataSet{report.Generated(0.1, trainRows, testRows), report.AdultIncome()},
	}
	p.ModeSettings = report.ModeSettings(j, p.Modes)
	return p
}

// setModes adds the mode settings of a command line.
func (p *plan) setModes(flag *report.ModeSet) error {
	if err := flag.Apply(&p.Job, p.Modes); err != nil {
		return err
	}
	p.ModeSettings = report.ModeSettings(p.Job, p.Modes)
	return nil
}

// job returns the job of an arm under a seed. All arms merge gradients by rank, which asynchronous modes
// require, so that they differ in nothing else.
func (p *plan) job(w report.DataSet, name string, seed uint64) job.Job {
	mode := name
	if !simulated(name) {
		mode = job.Sequential
	}
	j := p.Job.InMode(mode)
	if name == baseline {
		j.Model.Spec = model.Spec{Kind: model.LogisticRegression, EmbeddingDim: 1}
	}
	j.Data = w.WithSeed(seed)
	j.Training.Merge, j.Training.Seed = job.MergeRank, seed
	return j
}

// simulated reports whether an arm is trained on the simulated cluster. Sync has the bits of sequential
// training with its merging, which takes less time.
func simulated(name string) bool { return name != baseline && name != job.Sync }

// arms returns the names of all arms: the modes, then the baseline.
func (p *plan) arms() []string { return append(append([]string{}, p.Modes...), baseline) }

// trainings returns how many trainings there are: of the tuner, and at the rates of sync and the own ones.
func (p *plan) trainings() (n int) {
	for _, w := range p.DataSets {
		n += p.set(w).Trainings()
	}
	return n
}

// arm returns an arm for the tuner.
func (p *plan) arm(w report.DataSet, name string) tune.Arm {
	return tune.Arm{
		Name: name, Nominal: nominal, Simulated: simulated(name),
		Job: func(seed uint64) job.Job { return p.job(w, name, seed) },
	}
}
