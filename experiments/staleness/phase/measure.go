package phase

import (
	"context"
	"fmt"

	"tandem/algo/metric"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
)

// result is everything that was measured.
type result struct {
	Setup      setup          `json:"setup"`
	Choices    []choice       `json:"rates"`
	Cells      []cell         `json:"cells"` // by optimizer, multiple, α and τ, each in the order of the plan
	Retuned    []retuned      `json:"retuned,omitempty"`
	Boundaries []boundary     `json:"boundaries,omitempty"`
	Lateness   *lateness      `json:"clusters"`
	Columns    []placedColumn `json:"columns"`
}

// setup is what a reader must know about the trainings.
type setup struct {
	TrainRows int `json:"train_rows"`
	TestRows  int `json:"test_rows"`
	Batch     int `json:"batch"`
	Seeds     int `json:"seeds"`
}

// steps returns the number of steps of a training.
func (s setup) steps() int { return (s.TrainRows-1)/s.Batch + 1 }

// choice is the rates of an optimizer at an α, tuned without delay.
type choice struct {
	Optimizer string     `json:"optimizer"`
	Alpha     float64    `json:"alpha"`
	Rates     tune.Rates `json:"rates"`
	AtEdge    bool       `json:"at_edge"`
	Trials    int        `json:"trials"`

	tuned tune.Choice
}

// cell is a place of the diagram.
type cell struct {
	Optimizer string     `json:"optimizer"`
	Alpha     float64    `json:"alpha"`
	Multiple  float64    `json:"rate_multiple"`
	Tau       int        `json:"tau"`
	Rates     tune.Rates `json:"rates"`
	// AUC by seed: of fresh rows, of rows that are τ steps late, and of fresh rows with τ steps less
	// training, which only cells at the tuned rate have. A training that diverged counts as a guess.
	Fresh []float64 `json:"auc_fresh"`
	Late  []float64 `json:"auc_late"`
	Lag   []float64 `json:"auc_lag,omitempty"`
	// Loss is fresh − late, and BeyondLag is lag − late, with intervals over seeds.
	Loss      metric.Interval  `json:"loss"`
	BeyondLag *metric.Interval `json:"loss_beyond_lag,omitempty"`
	// Missed is the mean number of updates of a row between read and update, over the row gradients.
	Missed   float64 `json:"missed_updates"`
	Diverged int     `json:"diverged"` // trainings with late rows
}

// retuned is a cell at two rates: tuned without and with delay.
type retuned struct {
	Optimizer string     `json:"optimizer"`
	Alpha     float64    `json:"alpha"`
	Tau       int        `json:"tau"`
	Fresh     tune.Rates `json:"rates_tuned_fresh"`
	Late      tune.Rates `json:"rates_tuned_late"`
	// Ratio is the best row rate of late rows, relative to that of fresh rows, with an interval over seeds.
	Ratio metric.Interval `json:"row_rate_ratio"`
	// Before and After are the losses against fresh rows at their own rate.
	Before metric.Interval `json:"loss_before"`
	After  metric.Interval `json:"loss_after"`
	AtEdge bool            `json:"at_edge"`
}

// measure tunes the rates and trains every cell under every seed.
func (p *plan) measure(ctx context.Context, lab tune.Lab) (*result, error) {
	choices, err := p.tune(ctx, lab)
	if err != nil {
		return nil, err
	}
	r := &result{
		Setup:   setup{p.TrainRows, p.TestRows, p.Job.Training.GlobalBatch, p.Seeds},
		Choices: choices,
	}
	if r.Cells, err = p.measureCells(ctx, lab, choices); err != nil {
		return nil, err
	}
	r.Retuned, err = p.retune(ctx, lab, choices)
	return r, err
}

// tune returns the rates of every optimizer at every α.
func (p *plan) tune(ctx context.Context, lab tune.Lab) (choices []choice, err error) {
	for _, o := range p.Optimizers {
		middle := tune.Rates{Rows: o.Rows[len(o.Rows)/2], Dense: p.Tuning.Dense[len(p.Tuning.Dense)/2]}
		if len(p.Tuning.Dense) > 1 {
			both, err := tune.Tune(ctx, lab, []tune.Arm{p.arm(o.Kind, p.Tuning.Alpha, 0, middle)},
				tune.Plan{Rows: o.Rows, Dense: p.Tuning.Dense, Seeds: p.Tuning.Seeds})
			if err != nil {
				return nil, err
			}
			middle = both[0].Rates
		}
		arms := make([]tune.Arm, len(p.Alphas))
		for i, alpha := range p.Alphas {
			arms[i] = p.arm(o.Kind, alpha, 0, middle)
		}
		tuned, err := tune.Tune(ctx, lab, arms,
			tune.Plan{Rows: o.Rows, Dense: []float64{middle.Dense}, Seeds: p.Tuning.Seeds})
		if err != nil {
			return nil, err
		}
		for i, t := range tuned {
			choices = append(choices, choice{
				Optimizer: o.Kind, Alpha: p.Alphas[i], Rates: t.Rates, AtEdge: t.AtEdge, Trials: t.Trials,
				tuned: t,
			})
		}
	}
	return choices, nil
}

// find returns the choice of an optimizer at an α.
func find(choices []choice, kind string, alpha float64) *choice {
	for i := range choices {
		if choices[i].Optimizer == kind && choices[i].Alpha == alpha {
			return &choices[i]
		}
	}
	return nil
}

// scaled returns rates with another rate of rows.
func scaled(r tune.Rates, multiple float64) tune.Rates {
	return tune.Rates{Rows: r.Rows * multiple, Dense: r.Dense}
}

// key says what is trained.
type key struct {
	kind      string
	alpha     float64
	rows      float64
	tau, drop int
	seed      uint64
}

// collection is the trainings of all cells, each once.
type collection struct {
	plan  *plan
	specs []trial.Spec
	at    map[key]int
}

func (c *collection) add(kind string, alpha float64, tau, drop int, rates tune.Rates, seed uint64) {
	k := key{kind, alpha, rates.Rows, tau, drop, seed}
	if _, ok := c.at[k]; !ok {
		c.at[k] = len(c.specs)
		c.specs = append(c.specs, c.plan.spec(kind, alpha, tau, drop, rates, seed))
	}
}

// addAll adds the trainings of a column of cells under a seed, with or without those of the lag control.
func (c *collection) addAll(
	kind string, alpha float64, taus []int, rates tune.Rates, seed uint64, control bool,
) {
	c.add(kind, alpha, 0, 0, rates, seed)
	for _, tau := range taus {
		c.add(kind, alpha, tau, 0, rates, seed)
		if control {
			c.add(kind, alpha, 0, tau, rates, seed)
		}
	}
}

// measureCells trains all cells. Trainings on the same rows follow each other.
func (p *plan) measureCells(ctx context.Context, lab tune.Lab, choices []choice) ([]cell, error) {
	c := collection{plan: p, at: map[key]int{}}
	for _, multiple := range p.Multiples {
		alphas, taus := p.at(multiple)
		for _, alpha := range alphas {
			for i := range p.Seeds {
				for _, o := range p.Optimizers {
					rates := scaled(find(choices, o.Kind, alpha).Rates, multiple)
					c.addAll(o.Kind, alpha, taus, rates, p.Seed+uint64(i), multiple == tuned)
				}
			}
		}
	}
	results, err := lab.Run(ctx, c.specs)
	if err != nil {
		return nil, err
	}
	var cells []cell
	for _, o := range p.Optimizers {
		for _, multiple := range p.Multiples {
			alphas, taus := p.at(multiple)
			for _, alpha := range alphas {
				rates := scaled(find(choices, o.Kind, alpha).Rates, multiple)
				for _, tau := range taus {
					one := cell{Optimizer: o.Kind, Alpha: alpha, Multiple: multiple, Tau: tau, Rates: rates}
					for i := range p.Seeds {
						seed := p.Seed + uint64(i)
						at := func(tau, drop int) *trial.Result {
							if at, ok := c.at[key{o.Kind, alpha, rates.Rows, tau, drop, seed}]; ok {
								return &results[at]
							}
							return nil
						}
						one.add(at(0, 0), at(tau, 0), at(0, tau))
					}
					one.finish(p.Seeds)
					cells = append(cells, one)
				}
			}
		}
	}
	return cells, nil
}

// add adds the trainings of a seed. There may be no lag control.
func (c *cell) add(fresh, late, lag *trial.Result) {
	c.Fresh, c.Late = append(c.Fresh, fresh.AUCOrGuess()), append(c.Late, late.AUCOrGuess())
	if lag != nil {
		c.Lag = append(c.Lag, lag.AUCOrGuess())
	}
	c.Missed += late.Missed.Mean()
	if late.Diverged != "" {
		c.Diverged++
	}
}

// finish sets the intervals.
func (c *cell) finish(seeds int) {
	c.Loss = metric.MeanInterval(report.Differences(c.Fresh, c.Late))
	if c.Lag != nil {
		beyond := metric.MeanInterval(report.Differences(c.Lag, c.Late))
		c.BeyondLag = &beyond
	}
	c.Missed /= float64(seeds)
}

// judged returns the loss that counts: the smaller one of the whole loss and that beyond the lag control,
// where there is one.
func (c *cell) judged() metric.Interval {
	if c.BeyondLag != nil && c.BeyondLag.Estimate < c.Loss.Estimate {
		return *c.BeyondLag
	}
	return c.Loss
}

// retune tunes some cells with delay, and measures what that wins.
func (p *plan) retune(ctx context.Context, lab tune.Lab, choices []choice) (list []retuned, err error) {
	tau := p.Retuned.Tau
	for _, o := range p.Optimizers {
		for _, alpha := range p.Retuned.Alphas {
			fresh := find(choices, o.Kind, alpha)
			tuned, err := tune.Tune(ctx, lab, []tune.Arm{p.arm(o.Kind, alpha, tau, fresh.Rates)},
				tune.Plan{Rows: o.Rows, Dense: []float64{fresh.Rates.Dense}, Seeds: p.Tuning.Seeds})
			if err != nil {
				return nil, err
			}
			one := retuned{
				Optimizer: o.Kind, Alpha: alpha, Tau: tau, Fresh: fresh.Rates, Late: tuned[0].Rates,
				Ratio: tune.RowRatio(tuned[0], fresh.tuned), AtEdge: tuned[0].AtEdge,
			}
			var specs []trial.Spec
			for i := range p.Seeds {
				seed := p.Seed + uint64(i)
				specs = append(specs, p.spec(o.Kind, alpha, 0, 0, one.Fresh, seed),
					p.spec(o.Kind, alpha, tau, 0, one.Fresh, seed),
					p.spec(o.Kind, alpha, tau, 0, one.Late, seed))
			}
			results, err := lab.Run(ctx, specs)
			if err != nil {
				return nil, fmt.Errorf("tuned with delay: %w", err)
			}
			var before, after []float64
			for i := range p.Seeds {
				best := results[3*i].AUCOrGuess()
				before, after = append(before, best-results[3*i+1].AUCOrGuess()),
					append(after, best-results[3*i+2].AUCOrGuess())
			}
			one.Before, one.After = metric.MeanInterval(before), metric.MeanInterval(after)
			list = append(list, one)
		}
	}
	return list, nil
}
