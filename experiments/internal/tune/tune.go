// Package tune chooses learning rates for arms that are to be compared: ways to train, such as modes or
// optimizers. Every arm has the same candidates and the same number of trainings, so none is favoured.
//
// It is successive halving, with seeds as the resource: all candidates under one seed, the best third under
// three, the finalists under all. A parabola in the logarithm of each rate, through the best
// finalist and its neighbours, gives one more candidate between those of the grid.
//
//	choices, err := tune.Tune(ctx, lab, arms, tune.Plan{Rows: tune.Grid(0.1, 3, 2), …})
//	ratio := tune.RowRatio(choices[0], choices[1])
//
// Rates are chosen on rows that no comparison uses: on generated data, on the test rows of seeds from
// FirstSeed; on real data, on the last tenth of the training rows.
//
// Sources: Jamieson, Talwalkar, AISTATS 2016 (successive halving).
package tune

import (
	"context"
	"errors"
	"fmt"
	"math"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/internal/cli"
)

// FirstSeed is the first seed of tuning, far from the seeds of comparisons.
const FirstSeed = 100_000

// SeedsMin is the smallest number of seeds that finalists have. SeedsWanted suits generated data, where every
// seed is another world with another best rate: what is best on three of them is often not best on the next.
const (
	SeedsMin    = 3
	SeedsWanted = 8
)

// Rates are the learning rates of a job: of its embedding rows and of its dense network.
type Rates struct {
	Rows  float64 `json:"rows" yaml:"rows"`
	Dense float64 `json:"dense" yaml:"dense"`
}

// Apply sets the rates of a job.
func (r Rates) Apply(j *job.Job) { j.Rows.Optimizer.Rate, j.Model.Optimizer.Rate = r.Rows, r.Dense }

// Arm is a way to train.
type Arm struct {
	Name string
	// Job returns the job under a seed. The tuner sets its rates.
	Job func(seed uint64) job.Job
	// Simulated is that of trial.Spec.
	Simulated bool
	// Nominal are the rates that a user would try first. They stay in the comparison to its end and are
	// chosen unless others are better by more than two standard errors.
	Nominal Rates
	// DenseSteps divides the rate of the network, for an arm that takes this many of its steps where others
	// take one; 0: 1.
	DenseSteps int
}

// JobAt returns the job under a seed at some rates.
func (a *Arm) JobAt(r Rates, seed uint64) job.Job {
	j := a.Job(seed)
	r.Apply(&j)
	if a.DenseSteps > 0 {
		j.Model.Optimizer.Rate /= float64(a.DenseSteps)
	}
	return j
}

// Plan is what is tried.
type Plan struct {
	// Rows and Dense are the candidates, ascending, in equal ratios. A rate with one candidate is fixed; an
	// arm's nominal rate should be among several.
	Rows  []float64 `yaml:"rows"`
	Dense []float64 `yaml:"dense"`
	Seeds int       `yaml:"seeds"` // of the finalists, at least SeedsMin
}

// Validate returns an error unless the candidates are ascending in equal ratios, to within 1 %.
func (p *Plan) Validate() error {
	for _, rates := range [][]float64{p.Rows, p.Dense} {
		if len(rates) == 0 {
			return errors.New("no candidates")
		}
		for i := 1; i < len(rates); i++ {
			step, first := rates[i]/rates[i-1], rates[1]/rates[0]
			if !(step > 1) || math.Abs(step/first-1) > 0.01 {
				return fmt.Errorf("%v: want ascending rates in equal ratios", rates)
			}
		}
	}
	return nil
}

// Grid returns rates around a middle, which is one of them: steps on each side, each a factor apart.
func Grid(middle, factor float64, steps int) (rates []float64) {
	for i := -steps; i <= steps; i++ {
		rates = append(rates, middle*math.Pow(factor, float64(i)))
	}
	return rates
}

// Candidate is a pair of rates with its results.
type Candidate struct {
	Rates
	// AUC has a value for each seed that it was trained under, from FirstSeed; 0 where it diverged.
	AUC []float64 `json:"auc"`
}

// Choice is what was chosen for an arm.
type Choice struct {
	Arm   string `json:"arm"`
	Rates `json:"rates"`
	// AUC is the interval over seeds at the chosen rates, on the rows of tuning.
	AUC metric.Interval `json:"validation_auc"`
	// StandardError is that of the AUC difference between the chosen rates and the best of the others, over
	// seeds: how well the trials can tell them apart.
	StandardError float64 `json:"standard_error"`
	// AtEdge says that the best rate of rows or of the network is at an end of the grid, beyond which a
	// better one may lie.
	AtEdge bool `json:"at_edge"`
	// BestRows has, for every seed, the rate of rows that is best under that seed alone: of the best
	// finalist, or of the top of the parabola through it.
	BestRows   []float64   `json:"best_rows"`
	Trials     int         `json:"trials"`
	Candidates []Candidate `json:"candidates"` // all, the grid first
}

// Lab runs trainings, as *trial.Lab does.
type Lab interface {
	Run(ctx context.Context, specs []trial.Spec) ([]trial.Result, error)
}

// Tune tunes every arm. Results that the lab has are not trained again.
func Tune(ctx context.Context, lab Lab, arms []Arm, p Plan) ([]Choice, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("tune: %w", err)
	}
	searches := make([]*search, len(arms))
	for i, arm := range arms {
		searches[i] = newSearch(arm, &p)
	}
	for _, r := range p.rungs() {
		for _, s := range searches {
			s.keep(r.candidates)
		}
		if err := trainAll(ctx, lab, searches, r.seeds); err != nil {
			return nil, err
		}
	}
	for _, s := range searches {
		s.addVertex()
	}
	if err := trainAll(ctx, lab, searches, p.finalSeeds()); err != nil {
		return nil, err
	}
	choices := make([]Choice, len(arms))
	for i, s := range searches {
		choices[i] = s.choice(p.finalSeeds())
	}
	return choices, nil
}

// rung is a step of the halving: the candidates that stay in, and the seeds under which they are trained.
type rung struct{ candidates, seeds int }

// rungs returns the steps of the halving: all candidates, the best third, the finalists.
func (p *Plan) rungs() []rung {
	all := len(p.Rows) * len(p.Dense)
	finalists := 3 // the best, the nominal and one more …
	if len(p.Rows) > 1 {
		finalists += 2 // … and neighbours in each rate that is not fixed
	}
	if len(p.Dense) > 1 {
		finalists += 2
	}
	finalists = min(finalists, all)
	return []rung{{all, 1}, {max((all+2)/3, finalists), SeedsMin}, {finalists, p.finalSeeds()}}
}

// finalSeeds returns the number of seeds of the finalists.
func (p *Plan) finalSeeds() int { return max(p.Seeds, SeedsMin) }

// Trials returns the number of trainings of an arm, for trial.Lab.Expect.
func (p *Plan) Trials() int {
	trials, seeds := p.finalSeeds(), 0 // those of the candidate between those of the grid
	for _, r := range p.rungs() {
		trials += r.candidates * (r.seeds - seeds)
		seeds = r.seeds
	}
	return trials
}

// trainAll trains what is still in every search until it has results under a number of seeds.
func trainAll(ctx context.Context, lab Lab, searches []*search, seeds int) error {
	var specs []trial.Spec
	var to []*Candidate
	for _, s := range searches {
		for _, c := range s.in {
			for i := len(c.AUC); i < seeds; i++ {
				specs = append(specs, s.spec(c, FirstSeed+uint64(i)))
				to = append(to, c)
			}
		}
	}
	return score(ctx, lab, specs, to)
}

// score trains specs, and adds the AUC of each to its candidate.
func score(ctx context.Context, lab Lab, specs []trial.Spec, to []*Candidate) error {
	results, err := lab.Run(ctx, specs)
	if err != nil {
		return err
	}
	for i, c := range to {
		c.AUC = append(c.AUC, results[i].AUC)
	}
	return nil
}

// RowRatio returns the ratio of the best rates of rows of two arms, first ÷ second, with its interval over
// seeds.
func RowRatio(first, second Choice) metric.Interval {
	var logs []float64
	for i := range min(len(first.BestRows), len(second.BestRows)) {
		logs = append(logs, math.Log(first.BestRows[i]/second.BestRows[i]))
	}
	v := metric.MeanInterval(logs)
	return metric.Interval{Estimate: math.Exp(v.Estimate), Low: math.Exp(v.Low), High: math.Exp(v.High)}
}

// Table returns a table of tuned rates.
func Table(choices []Choice) cli.Table {
	t := cli.Table{
		Caption: "Tuned learning rates; ! if the best candidate is at an end of the grid",
		Header:  []string{"arm", "rows", "network", "trials"}, Words: 1,
	}
	for _, c := range choices {
		edge := ""
		if c.AtEdge {
			edge = "!"
		}
		t.Add(c.Arm, report.Digits(c.Rates.Rows, 2), report.Digits(c.Rates.Dense, 2)+edge,
			fmt.Sprint(c.Trials))
	}
	return t
}
