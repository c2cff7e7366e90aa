package auctable

import (
	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/pace"
	"tandem/experiments/internal/arms"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/tune"
)

// plan is everything that is fixed before the first training.
type plan struct {
	Seed  uint64    `yaml:"seed"` // the first
	Seeds int       `yaml:"seeds"`
	Job   job.Job   `yaml:"job"` // of all arms
	Modes []string  `yaml:"modes"`
	Rates tune.Plan `yaml:"candidates"`
	Sets  []set     `yaml:"data"`
	// ModeSettings are, by mode, the values of the settings that only this mode has.
	ModeSettings map[string]map[string]int `yaml:"mode-settings"`
}

// set is a data set with what depends on its size.
type set struct {
	report.DataSet `yaml:",inline"`
	// Batch is the global batch: a power of two, at most 128, with which the epoch has some hundred steps.
	// The smallest one has two samples for each rank.
	Batch int `yaml:"batch"`
	// Judged says that the test rows are enough for a verdict. Of small samples, only the resolution is
	// reported.
	Judged bool `yaml:"judged"`
}

// Arms that are no modes.
const (
	byRank   = "sync by rank" // sync with an optimizer step of a row for every rank, as hybrid has
	logistic = "logistic"
)

// nominal are the rates that the candidates are centred on.
var nominal = tune.Rates{Rows: 0.1, Dense: 0.003}

// sets returns all data sets, chosen before any training.
func sets() []set {
	return []set{
		{report.AdultIncome(), 128, true},
		{report.Frappe(), 128, true},
		{report.MovieLens1M(), 128, true},
		{report.MovieLens100K(), 128, true},
		{report.Generated(0.1, 40_000, 30_000), 128, true},
		{report.Like("criteo", 40_000, 30_000), 128, true},
		{report.Like("avazu", 40_000, 30_000), 128, true},
		{report.Avazu(), 32, false},
		{report.CriteoHead(), 32, false},
		{report.IJCAI18(), 128, false},
		{report.TaobaoAd(), 8, false},
	}
}

// quickPlan takes the time that QuickTime returns.
func quickPlan() plan {
	p := newPlan([]string{job.Sync, job.Hybrid, job.AsyncPS, pace.GBA{}.Name()}, []set{
		{report.AdultIncome(), 128, true},
		{report.Generated(0.1, 12_000, 12_000), 128, true},
		{report.Like("criteo", 8_000, 12_000), 64, true},
	})
	p.Rates.Dense = tune.Grid(nominal.Dense, 4, 1)
	return p
}

func fullPlan() plan { return newPlan(job.Modes()[1:], sets()) }

func newPlan(modes []string, data []set) plan {
	j := job.Default()
	j.Model.EmbeddingDim, j.Model.Top = 8, []int{32, 16}
	j.Training.Prefetch = 4
	j.Cluster = job.PersiaCluster()
	return plan{
		Job: j, Modes: modes, Sets: data, ModeSettings: report.ModeSettings(j, modes),
		Rates: tune.Plan{
			Rows: tune.Grid(nominal.Rows, 4, 1), Dense: tune.Grid(nominal.Dense, 4, 2), Seeds: tune.SeedsMin,
		},
	}
}

// setModes adds the mode settings of a command line.
func (p *plan) setModes(flag *report.ModeSet) error {
	if err := flag.Apply(&p.Job, p.Modes); err != nil {
		return err
	}
	p.ModeSettings = report.ModeSettings(p.Job, p.Modes)
	return nil
}

// arms returns the arms of a data set: the modes, sync by rank, and the baseline.
func (p *plan) arms(s set) *arms.Set {
	a := &arms.Set{Data: s.DataSet, Common: job.Sync, Rates: p.Rates, Seed: p.Seed, Seeds: p.Seeds}
	for _, name := range append(append([]string{}, p.Modes...), byRank, logistic) {
		a.Arms = append(a.Arms, tune.Arm{
			Name: name, Nominal: nominal, Simulated: simulated(name),
			Job: func(seed uint64) job.Job { return p.job(s, name, seed) },
		})
	}
	return a
}

// simulated reports whether an arm is trained on the simulated cluster. Sync has the bits of sequential
// training with its merging, which takes less time.
func simulated(name string) bool { return name != job.Sync && name != byRank && name != logistic }

// job returns the job of an arm under a seed. Every mode merges row gradients as it does by default.
func (p *plan) job(s set, name string, seed uint64) job.Job {
	mode := name
	if !simulated(name) {
		mode = job.Sequential
	}
	j := p.Job.InMode(mode)
	j.Data = s.WithSeed(seed)
	j.Training.GlobalBatch, j.Training.Seed = s.Batch, seed
	switch name {
	case byRank:
		j.Training.Merge = job.MergeRank
	case logistic:
		j.Model.Spec = model.Spec{Kind: model.LogisticRegression, EmbeddingDim: 1}
	}
	return j
}

// trainings returns how many trainings there are, equal ones included.
func (p *plan) trainings() (n int) {
	for _, s := range p.Sets {
		n += p.arms(s).Trainings()
	}
	return n
}
