package source

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
)

// result holds what was measured on one data set.
type result struct {
	DataSet  string  `json:"data"`
	Alpha    float64 `json:"alpha,omitempty"` // generated data
	TestRows int     `json:"test_rows"`
	// Oracle is the AUC of the probabilities that labels were drawn with, by seed; nil for real data.
	Oracle      []float64     `json:"oracle_auc,omitempty"`
	Logistic    []float64     `json:"logistic_regression_auc"` // at its tuned rates, by seed
	Tuning      []tune.Choice `json:"tuning"`
	Comparisons []*comparison `json:"comparisons"`

	set *set
}

// Kinds of rates that arms are compared at.
const (
	ownRates    = "own"     // each arm at its own tuned rates
	freshRates  = "fresh"   // all arms at the tuned rates of fresh
	defaultRate = "default" // all arms at the defaults of a job
)

// comparison is the arms of one data set, length, kind of rates and delay.
type comparison struct {
	Length float64 `json:"length"` // see set.Lengths
	Steps  int     `json:"steps"`
	Rates  string  `json:"rates"`
	Delay  int     `json:"delay_steps"`
	// Quality by seed; that of a constant guess where a training diverged.
	Fresh    judge.Quality `json:"fresh"`
	Lag      judge.Quality `json:"lag"`
	Rows     judge.Quality `json:"rows_late"`
	Network  judge.Quality `json:"network_late"`
	Diverged int           `json:"diverged"` // trainings
	// The losses, fresh less late, with intervals over seeds.
	LagLoss     metric.Interval `json:"lag_loss"`
	RowLoss     metric.Interval `json:"row_loss"`
	NetworkLoss metric.Interval `json:"network_loss"`
	Ratio       ratio           `json:"network_over_row_loss"`
	// Difference is AUC(rows late) − AUC(network late): the network's loss less the rows'.
	Difference *judge.Comparison `json:"network_less_row_loss"`
	Verdict    verdict           `json:"thesis"`

	rows, network []trial.Spec
}

// verdict is what a comparison says of the thesis.
type verdict string

// The verdicts.
const (
	holds    verdict = "holds"
	reversed verdict = "reversed"
	unclear  verdict = "not distinguishable"
)

// verdictOf returns the verdict on the network's loss less the rows', by its interval alone.
func verdictOf(difference metric.Interval) verdict {
	switch {
	case difference.Low > 0:
		return holds
	case difference.High < 0:
		return reversed
	}
	return unclear
}

// isSure reports whether the difference stands among all comparisons of the report.
func (c *comparison) isSure() bool { return c.Difference.Verdict == metric.Different }

// lab runs trainings, as *trial.Lab does.
type lab interface {
	tune.Lab
	RowDeviation(treated, reference []trial.Spec) (float64, error)
}

// measure tunes the arms of every data set and compares them under every seed.
func (p *plan) measure(ctx context.Context, l lab) (results []*result, err error) {
	for i := range p.Sets {
		s := &p.Sets[i]
		r := &result{DataSet: s.Name, Alpha: s.Alpha, set: s}
		var arms []tune.Arm
		for _, a := range p.tunedArms(s) {
			arms = append(arms, tune.Arm{
				Name: s.Name + ", " + a.String(), Nominal: nominalRates(),
				Job: func(seed uint64) job.Job { return p.spec(s, a, 1, nominalRates(), seed).Job },
			})
		}
		if r.Tuning, err = tune.Tune(ctx, l, arms, p.tuning(s)); err != nil {
			return nil, err
		}
		if err := p.train(ctx, l, p.runs(r)); err != nil {
			return nil, err
		}
		if err := p.compare(l, r); err != nil {
			return nil, err
		}
		oracle, err := r.set.Oracle(p.Seed, p.Seeds)
		if err != nil {
			return nil, err
		}
		r.Oracle = oracle.AUC
		results = append(results, r)
	}
	judge.Judge(comparisons(results))
	for _, r := range results {
		for _, c := range r.Comparisons {
			c.Verdict = verdictOf(c.Difference.AUC)
		}
	}
	return results, nil
}

// comparisons returns the differences of all data sets.
func comparisons(results []*result) (list []*judge.Comparison) {
	for _, r := range results {
		for _, c := range r.Comparisons {
			list = append(list, c.Difference)
		}
	}
	return list
}

// run is the trainings of one arm under all seeds, and where their results go.
type run struct {
	set    *set
	arm    arm
	length float64
	rates  tune.Rates
	keep   func(s trial.Spec, r *trial.Result)
}

// runs returns all trainings of a data set after tuning. It adds the comparisons to the result.
func (p *plan) runs(r *result) []*run {
	s, arms := r.set, p.tunedArms(r.set)
	tuned := func(a arm) tune.Rates { return r.Tuning[slices.Index(arms, a)].Rates }
	fresh, last := arm{late: nothing}, arms[len(arms)-1]
	runs := []*run{{s, last, 1, tuned(last), func(_ trial.Spec, one *trial.Result) {
		r.Logistic, r.TestRows = append(r.Logistic, one.AUCOrGuess()), one.TestRows
	}}}
	for _, length := range s.Lengths {
		for _, d := range s.Delays {
			if length != 1 && d != p.MainDelay {
				continue
			}
			for _, kind := range kinds() {
				if kind == defaultRate && d != p.MainDelay || kind == ownRates && length != 1 {
					continue // the rates of an arm are tuned for length 1
				}
				c := &comparison{Length: length, Rates: kind, Delay: d}
				r.Comparisons = append(r.Comparisons, c)
				var unused []trial.Spec
				for _, one := range []struct {
					arm   arm
					to    *judge.Quality
					specs *[]trial.Spec
				}{
					{arm{late: nothing, delay: d, lag: true}, &c.Lag, &unused},
					{arm{late: rows, delay: d}, &c.Rows, &c.rows},
					{arm{late: network, delay: d}, &c.Network, &c.network},
					{fresh, &c.Fresh, &unused},
				} {
					rates := tuned(fresh)
					if kind == defaultRate {
						rates = defaultRates()
					} else if kind == ownRates && one.arm.late != nothing {
						rates = tuned(one.arm)
					}
					runs = append(runs, &run{s, one.arm, length, rates, c.keep(one.to, one.specs)})
				}
			}
		}
	}
	return runs
}

// trainings returns how many trainings there are on all data sets.
func (p *plan) trainings() (n int) {
	for i := range p.Sets {
		s := &p.Sets[i]
		arms := p.tunedArms(s)
		grid := p.tuning(s)
		n += len(arms)*grid.Trials() +
			p.Seeds*len(p.runs(&result{set: s, Tuning: make([]tune.Choice, len(arms))}))
	}
	return n
}

// tuning returns the plan of the tuner on a data set.
func (p *plan) tuning(s *set) tune.Plan {
	t := p.Tuning
	t.Seeds = s.TuningSeeds
	return t
}

// keep returns a function that adds the result of an arm.
func (c *comparison) keep(q *judge.Quality, specs *[]trial.Spec) func(trial.Spec, *trial.Result) {
	return func(s trial.Spec, r *trial.Result) {
		*specs = append(*specs, s)
		auc, logLoss := r.Scores()
		q.AUC, q.LogLoss = append(q.AUC, auc), append(q.LogLoss, logLoss)
		if r.Diverged != "" {
			c.Diverged++
			return
		}
		c.Steps = r.Steps
	}
}

// train trains all runs under all seeds and keeps their results.
func (p *plan) train(ctx context.Context, l tune.Lab, runs []*run) error {
	type training struct {
		*run
		seed int
	}
	var order []training
	for seed := range p.Seeds {
		for _, r := range runs {
			order = append(order, training{r, seed})
		}
	}
	// Trainings on the same rows follow each other.
	slices.SortStableFunc(order, func(a, b training) int {
		return cmp.Or(cmp.Compare(a.length, b.length), cmp.Compare(a.seed, b.seed))
	})
	specs := make([]trial.Spec, len(order))
	for i, t := range order {
		specs[i] = p.spec(t.set, t.arm, t.length, t.rates, p.Seed+uint64(t.seed))
	}
	results, err := l.Run(ctx, specs)
	if err != nil {
		return err
	}
	for i, t := range order {
		t.keep(specs[i], &results[i])
	}
	return nil
}

// compare sets the losses and, without verdicts, the differences of a data set.
func (p *plan) compare(l lab, r *result) (err error) {
	for _, c := range r.Comparisons {
		loss := func(late judge.Quality) []float64 { return report.Differences(c.Fresh.AUC, late.AUC) }
		c.LagLoss = metric.MeanInterval(loss(c.Lag))
		c.RowLoss, c.NetworkLoss = metric.MeanInterval(loss(c.Rows)), metric.MeanInterval(loss(c.Network))
		c.Ratio = newRatio(loss(c.Network), loss(c.Rows))
		where := fmt.Sprintf("%s, %s rates, %s steps", r.DataSet, c.Rates, report.Thousands(c.Steps))
		c.Difference = judge.Pair(where, fmt.Sprintf("rows %d steps late", c.Delay),
			fmt.Sprintf("network %d steps late", c.Delay), p.Seed, c.Rows, c.Network)
		if c.Diverged == 0 {
			if c.Difference.RowDeviation, err = l.RowDeviation(c.rows, c.network); err != nil {
				return err
			}
		}
	}
	return nil
}
