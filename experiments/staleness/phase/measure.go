package phase

import (
	"context"
	"fmt"
	"slices"

	"tandem/algo/metric"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
)

// result is everything that was measured.
type result struct {
	Setup      setup      `json:"setup"`
	Choices    []choice   `json:"rates"`
	Cells      []cell     `json:"cells"` // by optimizer, multiple, α and τ, each in the order of the plan
	Retuned    []retuned  `json:"retuned,omitempty"`
	Boundaries []boundary `json:"boundaries,omitempty"`
	Lateness   *lateness  `json:"clusters"`
	Columns    []column   `json:"columns"`
}

// setup is what a reader must know about the trainings.
type setup struct {
	TrainRows int `json:"train_rows"`
	TestRows  int `json:"test_rows"`
	Batch     int `json:"batch"`
	Seeds     int `json:"seeds"`
}

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
	// AUC by seed, of the trainings of plan.specs. A training that diverged counts as a guess.
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

// train tunes the rates and trains every cell under every seed.
func (p *plan) train(ctx context.Context, lab tune.Lab) (*result, error) {
	r := &result{Setup: setup{p.TrainRows, p.TestRows, p.Job.Training.GlobalBatch, p.Seeds}}
	if err := p.tune(ctx, lab, r); err != nil {
		return nil, err
	}
	if err := p.trainCells(ctx, lab, r); err != nil {
		return nil, err
	}
	return r, p.retune(ctx, lab, r)
}

// tune sets the rates of every optimizer at every α.
func (p *plan) tune(ctx context.Context, lab tune.Lab, r *result) error {
	for _, o := range p.Optimizers {
		middle := tune.Rates{Rows: o.Rows[len(o.Rows)/2], Dense: p.Dense[len(p.Dense)/2]}
		if len(p.Dense) > 1 {
			both, err := tune.Tune(ctx, lab, []tune.Arm{p.arm(o.Kind, p.TuningAlpha, 0, middle)},
				p.candidates(o, p.Dense...))
			if err != nil {
				return err
			}
			middle = both[0].Rates
		}
		arms := make([]tune.Arm, len(p.Alphas))
		for i, alpha := range p.Alphas {
			arms[i] = p.arm(o.Kind, alpha, 0, middle)
		}
		tuned, err := tune.Tune(ctx, lab, arms, p.candidates(o, middle.Dense))
		if err != nil {
			return err
		}
		for i, t := range tuned {
			r.Choices = append(r.Choices, choice{o.Kind, p.Alphas[i], t.Rates, t.AtEdge, t.Trials, t})
		}
	}
	return nil
}

// choice returns the choice of an optimizer at an α, or nil.
func (r *result) choice(kind string, alpha float64) *choice {
	at := slices.IndexFunc(r.Choices, func(c choice) bool { return c.Optimizer == kind && c.Alpha == alpha })
	if at < 0 {
		return nil
	}
	return &r.Choices[at]
}

// trainCells trains all cells. Trainings on the same rows follow each other.
func (p *plan) trainCells(ctx context.Context, lab tune.Lab, r *result) error {
	for _, o := range p.Optimizers {
		for _, multiple := range p.Multiples {
			alphas, taus := p.at(multiple)
			for _, alpha := range alphas {
				rates := r.choice(o.Kind, alpha).Rates
				rates.Rows *= multiple
				for _, tau := range taus {
					r.Cells = append(r.Cells,
						cell{Optimizer: o.Kind, Alpha: alpha, Multiple: multiple, Tau: tau, Rates: rates})
				}
			}
		}
	}
	var specs []trial.Spec
	var of []*cell
	for _, alpha := range p.Alphas {
		for i := range p.Seeds {
			for k := range r.Cells {
				if c := &r.Cells[k]; c.Alpha == alpha {
					specs, of = append(specs, p.specs(c, p.Seed+uint64(i))...), append(of, c)
				}
			}
		}
	}
	results, err := lab.Run(ctx, specs)
	if err != nil {
		return err
	}
	for _, c := range of {
		results = c.add(results)
	}
	for k := range r.Cells {
		c := &r.Cells[k]
		c.Loss = metric.MeanInterval(report.Differences(c.Fresh, c.Late))
		if c.Lag != nil {
			beyond := metric.MeanInterval(report.Differences(c.Lag, c.Late))
			c.BeyondLag = &beyond
		}
		c.Missed /= float64(p.Seeds)
	}
	return nil
}

// add adds the trainings of a seed, the first of a list, and returns the others.
func (c *cell) add(results []trial.Result) []trial.Result {
	late := &results[1]
	c.Fresh, c.Late = append(c.Fresh, results[0].AUCOrGuess()), append(c.Late, late.AUCOrGuess())
	c.Missed += late.Missed.Mean()
	if late.Diverged != "" {
		c.Diverged++
	}
	if c.Multiple != tuned {
		return results[2:]
	}
	c.Lag = append(c.Lag, results[2].AUCOrGuess())
	return results[3:]
}

// retune tunes some cells with delay, and measures what that wins.
func (p *plan) retune(ctx context.Context, lab tune.Lab, r *result) error {
	tau := p.RetunedTau
	for _, o := range p.Optimizers {
		for _, alpha := range p.RetunedAlphas {
			fresh := r.choice(o.Kind, alpha)
			late, err := tune.Tune(ctx, lab, []tune.Arm{p.arm(o.Kind, alpha, tau, fresh.Rates)},
				p.candidates(o, fresh.Rates.Dense))
			if err != nil {
				return err
			}
			var specs []trial.Spec
			for i := range p.Seeds {
				before := cell{Optimizer: o.Kind, Alpha: alpha, Tau: tau, Rates: fresh.Rates}
				after := before
				after.Rates = late[0].Rates
				specs = append(specs, p.specs(&before, p.Seed+uint64(i))...)
				specs = append(specs, p.specs(&after, p.Seed+uint64(i))[1])
			}
			results, err := lab.Run(ctx, specs)
			if err != nil {
				return fmt.Errorf("tuned with delay: %w", err)
			}
			var before, after []float64
			for ; len(results) > 0; results = results[3:] {
				best := results[0].AUCOrGuess()
				before = append(before, best-results[1].AUCOrGuess())
				after = append(after, best-results[2].AUCOrGuess())
			}
			r.Retuned = append(r.Retuned, retuned{
				Optimizer: o.Kind, Alpha: alpha, Tau: tau, Fresh: fresh.Rates, Late: late[0].Rates,
				Ratio: tune.RowRatio(late[0], fresh.tuned), AtEdge: late[0].AtEdge,
				Before: metric.MeanInterval(before), After: metric.MeanInterval(after),
			})
		}
	}
	return nil
}
