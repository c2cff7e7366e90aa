package phase

import (
	"fmt"
	"slices"
	"strings"

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
	// Both rates of an optimizer are tuned at TuningAlpha, then that of rows at every α.
	TuningAlpha float64   `yaml:"tuning-alpha"`
	Dense       []float64 `yaml:"dense-rates"`
	// Cells at RetunedTau, one of Taus, and RetunedAlphas, some of Alphas, are tuned again, with late rows.
	RetunedTau    int       `yaml:"retuned-tau"`
	RetunedAlphas []float64 `yaml:"retuned-alphas"`
	// BoundarySeeds is the number of seeds behind a predicted boundary.
	BoundarySeeds int `yaml:"boundary-seeds"`
	// ClusterGPUs are the sizes of the clusters whose delays are simulated.
	ClusterGPUs []int `yaml:"cluster-gpus"`
}

// optimizer is an optimizer of rows with the rates that it is tuned over.
type optimizer struct {
	Kind string    `yaml:"kind"`
	Rows []float64 `yaml:"row-rates"`
}

// tuned is the multiple of the tuned rate.
const tuned = 1.0

// plan returns the plan of the full version, which takes about half an hour on two slow cores: 1,920
// trainings and 900 more for the rates. The quick one has fewer of everything.
func (f *flags) plan(o report.Options) (*plan, error) {
	p := &plan{
		Seed: o.Seed, Seeds: o.Seeds, ClusterGPUs: []int{8, 64, 512},
		Job: job.Default(), TrainRows: 60_000, TestRows: 30_000,
		Alphas: []float64{0.004, 0.01, 0.03, 0.1, 0.3, 0.5}, Taus: []int{1, 3, 7, 15, 31, 63},
		Multiples: []float64{0.25, tuned, 4}, RateAlphas: []float64{0.01, 0.1, 0.5}, RateTaus: []int{7, 31},
		TuningAlpha: 0.1, Dense: tune.Grid(0.005, 2.5, 1),
		RetunedTau: 31, RetunedAlphas: []float64{0.03, 0.5}, BoundarySeeds: 3,
	}
	// The batch is small, so that a run of a second has a thousand steps, many more than the longest delay.
	p.Job.Model.EmbeddingDim, p.Job.Model.Top = 8, []int{32, 16}
	p.Job.Training.Mode, p.Job.Training.GlobalBatch = job.Sequential, 64
	candidates := 3 // on both sides of the middle
	if o.Quick {
		p.TrainRows, p.TestRows, p.BoundarySeeds, candidates = 20_000, 20_000, 1, 2
		p.Alphas, p.Taus, p.RateTaus = []float64{0.01, 0.1, 0.5}, []int{7, 31}, nil
		p.Dense, p.RetunedAlphas, p.ClusterGPUs = []float64{0.005}, nil, []int{8, 64}
	}
	// A factor of 3 apart, around the rate of one training with rare ids that did well.
	p.Optimizers = []optimizer{
		{opt.SGD, tune.Grid(10, 3, candidates)}, {opt.Adagrad, tune.Grid(0.1, 3, candidates)},
		{opt.Adam, tune.Grid(0.01, 3, candidates)}, {opt.FTRL, tune.Grid(1, 3, candidates)},
	}
	p.restrict(f.Taus(p.Taus...), f.Alphas(p.Alphas...))
	return p, nil
}

// restrict sets the delays and the shares of the most frequent id. What is trained at some of them only keeps
// those that are left. A delay of 0 is that of the fresh rows, which are always trained.
func (p *plan) restrict(taus []int, alphas []float64) {
	p.Taus = slices.DeleteFunc(taus, func(tau int) bool { return tau == 0 })
	p.Alphas = alphas
	p.RateTaus = slices.DeleteFunc(p.RateTaus, func(tau int) bool { return !slices.Contains(p.Taus, tau) })
	other := func(alpha float64) bool { return !slices.Contains(alphas, alpha) }
	p.RateAlphas = slices.DeleteFunc(p.RateAlphas, other)
	p.RetunedAlphas = slices.DeleteFunc(p.RetunedAlphas, other)
	if len(p.RateTaus) == 0 || len(p.RateAlphas) == 0 {
		p.Multiples = []float64{tuned}
	}
}

// title returns the name of an optimizer in figures: SGD, Adagrad, Adam, FTRL.
func title(kind string) string {
	if kind == opt.SGD || kind == opt.FTRL {
		return strings.ToUpper(kind)
	}
	return strings.ToUpper(kind[:1]) + kind[1:]
}

// at returns the shares of the most frequent id, and the delays, that are trained at a multiple of the tuned
// rate.
func (p *plan) at(multiple float64) (alphas []float64, taus []int) {
	if multiple == tuned {
		return p.Alphas, p.Taus
	}
	return p.RateAlphas, p.RateTaus
}

// candidates returns what the tuner tries for an optimizer.
func (p *plan) candidates(o optimizer, dense ...float64) tune.Plan {
	return tune.Plan{Rows: o.Rows, Dense: dense, Seeds: tune.SeedsMin}
}

// trainings returns how many trainings the lab is asked for, equal ones included: those of the tuner, of the
// cells and of the retuned ones.
func (p *plan) trainings() (n int) {
	for _, o := range p.Optimizers {
		rows, both := p.candidates(o, p.Dense[0]), p.candidates(o, p.Dense...)
		n += len(p.Alphas)*rows.Trials() + len(p.RetunedAlphas)*(rows.Trials()+3*p.Seeds)
		if len(p.Dense) > 1 {
			n += both.Trials()
		}
		for _, multiple := range p.Multiples {
			alphas, taus := p.at(multiple)
			each := 2 // fresh and late
			if multiple == tuned {
				each = 3 // and the lag control
			}
			n += p.Seeds * len(alphas) * len(taus) * each
		}
	}
	return n
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

// specs returns the trainings of a cell under a seed: of fresh rows, of late rows, and of fresh rows with τ
// steps less training, which only cells at the tuned rate have.
func (p *plan) specs(c *cell, seed uint64) []trial.Spec {
	spec := func(tau, drop int, what string) trial.Spec {
		return trial.Spec{Job: p.job(c.Optimizer, c.Alpha, tau, c.Rates, seed), Part: trial.Test, Drop: drop,
			Name: fmt.Sprintf("%s, α = %g, row rate %.3g, %s, seed %d", title(c.Optimizer), c.Alpha,
				c.Rates.Rows, what, seed)}
	}
	list := []trial.Spec{spec(0, 0, "fresh"), spec(c.Tau, 0, fmt.Sprintf("τ = %d", c.Tau))}
	if c.Multiple == tuned {
		list = append(list, spec(0, c.Tau, fmt.Sprintf("%d steps fewer", c.Tau)))
	}
	return list
}
