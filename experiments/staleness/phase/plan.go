package phase

import (
	"fmt"
	"slices"

	"tandem/algo/job"
	"tandem/algo/numeric/opt"
	"tandem/algo/protocol/delay"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
)

// plan is everything that is fixed before the first training.
type plan struct {
	Seed  uint64 `yaml:"seed"` // the first
	Seeds int    `yaml:"seeds"`
	// Job is the job of all trainings. An arm sets data, optimizer of rows, rates and delay.
	Job       job.Job `yaml:"job"`
	TrainRows int     `yaml:"train-rows"`
	TestRows  int     `yaml:"test-rows"`
	// Alphas are the shares of rows with the most frequent id, the same in every column; ascending.
	Alphas []float64 `yaml:"alphas"`
	Taus   []int     `yaml:"taus"` // delays in steps, above 0, ascending
	// Multiples are the rates of rows, as multiples of the tuned rate; ascending. All but 1 are trained at
	// RateAlphas and RateTaus only, some of Alphas and Taus.
	Multiples  []float64   `yaml:"rate-multiples"`
	RateAlphas []float64   `yaml:"rate-alphas"`
	RateTaus   []int       `yaml:"rate-taus"`
	Optimizers []optimizer `yaml:"optimizers"`
	Tuning     tuning      `yaml:"tuning"`
	Retuned    retuning    `yaml:"retuned"`
	// BoundarySeeds is the number of seeds behind a predicted boundary.
	BoundarySeeds int `yaml:"boundary-seeds"`
}

// optimizer is an optimizer of rows with the rates that it is tuned over.
type optimizer struct {
	Kind string    `yaml:"kind"`
	Rows []float64 `yaml:"row-rates"`
}

// tuning is how rates are tuned: first both rates of an optimizer at one α, then the rate of rows at every α.
type tuning struct {
	Alpha float64   `yaml:"alpha"`
	Dense []float64 `yaml:"dense-rates"`
	Seeds int       `yaml:"seeds"`
}

// retuning is the cells that are tuned a second time, with late rows.
type retuning struct {
	Alphas []float64 `yaml:"alphas"` // some of plan.Alphas
	Tau    int       `yaml:"tau"`    // one of plan.Taus; 0: none
}

// restrict sets the delays and the shares of the most frequent id. What is trained at some of them only keeps
// those that are left. A delay of 0 is that of the fresh rows, which are always trained.
func (p *plan) restrict(taus []int, alphas []float64) {
	p.Taus = slices.DeleteFunc(taus, func(tau int) bool { return tau == 0 })
	p.Alphas = alphas
	p.RateTaus = slices.DeleteFunc(p.RateTaus, func(tau int) bool { return !slices.Contains(p.Taus, tau) })
	other := func(alpha float64) bool { return !slices.Contains(alphas, alpha) }
	p.RateAlphas = slices.DeleteFunc(p.RateAlphas, other)
	p.Retuned.Alphas = slices.DeleteFunc(p.Retuned.Alphas, other)
	if len(p.RateTaus) == 0 || len(p.RateAlphas) == 0 {
		p.Multiples = []float64{tuned}
	}
}

// quickPlan takes the time that QuickTime returns.
func quickPlan() plan {
	return plan{
		Job: commonJob(), TrainRows: 20_000, TestRows: 20_000,
		Alphas: []float64{0.01, 0.1, 0.5}, Taus: []int{7, 31}, Multiples: []float64{1},
		Optimizers:    optimizers(2),
		Tuning:        tuning{Alpha: 0.1, Dense: []float64{0.005}, Seeds: tune.SeedsMin},
		BoundarySeeds: 1,
	}
}

// fullPlan takes about half an hour on two slow cores: 1,920 trainings and 900 more for the rates.
func fullPlan() plan {
	return plan{
		Job: commonJob(), TrainRows: 60_000, TestRows: 30_000,
		Alphas: []float64{0.004, 0.01, 0.03, 0.1, 0.3, 0.5}, Taus: []int{1, 3, 7, 15, 31, 63},
		Multiples: []float64{0.25, 1, 4}, RateAlphas: []float64{0.01, 0.1, 0.5}, RateTaus: []int{7, 31},
		Optimizers:    optimizers(3),
		Tuning:        tuning{Alpha: 0.1, Dense: tune.Grid(0.005, 2.5, 1), Seeds: tune.SeedsMin},
		Retuned:       retuning{Alphas: []float64{0.03, 0.5}, Tau: 31},
		BoundarySeeds: 3,
	}
}

// optimizers returns the optimizers of rows, each with candidates a factor of 3 apart around the rate of one
// training with rare ids that did well.
func optimizers(steps int) []optimizer {
	return []optimizer{
		{opt.SGD, tune.Grid(10, 3, steps)}, {opt.Adagrad, tune.Grid(0.1, 3, steps)},
		{opt.Adam, tune.Grid(0.01, 3, steps)}, {opt.FTRL, tune.Grid(1, 3, steps)},
	}
}

// commonJob returns the job of all trainings. Its batch is small, so that a run of a second has a thousand
// steps and the longest delay is a small part of it.
func commonJob() job.Job {
	j := job.Default()
	j.Model.EmbeddingDim, j.Model.Top = 8, []int{32, 16}
	j.Training.Mode, j.Training.GlobalBatch = job.Sequential, 64
	return j
}

// titles are the names of the optimizers in figures.
func title(kind string) string {
	switch kind {
	case opt.SGD:
		return "SGD"
	case opt.Adagrad:
		return "Adagrad"
	case opt.Adam:
		return "Adam"
	case opt.FTRL:
		return "FTRL"
	}
	return kind
}

// job returns the job of an optimizer at an α, whose rows are tau steps late, under a seed.
func (p *plan) job(kind string, alpha float64, tau int, rates tune.Rates, seed uint64) job.Job {
	j := p.Job
	j.Data = report.Generated(alpha, p.TrainRows, p.TestRows).WithSeed(seed)
	j.Rows.Optimizer.Kind, j.Training.Seed = kind, seed
	if tau > 0 {
		j.Training.Delay = delay.Spec{Kind: delay.Exactly, Steps: tau}
	}
	rates.Apply(&j)
	return j
}

// at returns the shares of the most frequent id, and the delays, that are trained at a multiple of the tuned
// rate.
func (p *plan) at(multiple float64) (alphas []float64, taus []int) {
	if multiple == tuned {
		return p.Alphas, p.Taus
	}
	return p.RateAlphas, p.RateTaus
}

// trainings returns how many trainings there are: of the tuner, of the cells and of the retuned ones.
func (p *plan) trainings() (n int) {
	for _, o := range p.Optimizers {
		rows := tune.Plan{Rows: o.Rows, Dense: p.Tuning.Dense[:1], Seeds: p.Tuning.Seeds}
		n += len(p.Alphas)*rows.Trials() + len(p.Retuned.Alphas)*(rows.Trials()+3*p.Seeds)
		if len(p.Tuning.Dense) > 1 {
			both := tune.Plan{Rows: o.Rows, Dense: p.Tuning.Dense, Seeds: p.Tuning.Seeds}
			n += both.Trials()
		}
		for _, multiple := range p.Multiples {
			alphas, taus := p.at(multiple)
			each := 1 + len(taus)
			if multiple == tuned {
				each += len(taus) // the lag control
			}
			n += p.Seeds * len(alphas) * each
		}
	}
	return n
}

// arm returns a way to train for the tuner.
func (p *plan) arm(kind string, alpha float64, tau int, nominal tune.Rates) tune.Arm {
	name := fmt.Sprintf("%s, α = %g", title(kind), alpha)
	if tau > 0 {
		name += fmt.Sprintf(", τ = %d", tau)
	}
	return tune.Arm{
		Name: name, Nominal: nominal,
		Job: func(seed uint64) job.Job { return p.job(kind, alpha, tau, nominal, seed) },
	}
}

// spec returns a training on the test rows.
func (p *plan) spec(kind string, alpha float64, tau, drop int, rates tune.Rates, seed uint64) trial.Spec {
	what := "fresh"
	switch {
	case tau > 0:
		what = fmt.Sprintf("τ = %d", tau)
	case drop > 0:
		what = fmt.Sprintf("%d steps fewer", drop)
	}
	return trial.Spec{
		Job: p.job(kind, alpha, tau, rates, seed), Part: trial.Test, Drop: drop,
		Name: fmt.Sprintf("%s, α = %g, row rate %.3g, %s, seed %d", title(kind), alpha, rates.Rows, what,
			seed),
	}
}
