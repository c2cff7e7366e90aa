package staleness

import (
	"cmp"
	"context"
	"slices"

	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
)

// lab runs trainings, as *trial.Lab does.
type lab interface {
	tune.Lab
	RowDeviation(treated, reference []trial.Spec) (float64, error)
}

// dataSetResult holds the results of all trainings on one data set.
type dataSetResult struct {
	DataSet  string  `json:"data"`
	Alpha    float64 `json:"alpha,omitempty"`
	TestRows int     `json:"test_rows"`
	// Oracle is the quality of the probabilities that the labels were drawn with; nil for real data.
	Oracle  *judge.Quality `json:"oracle,omitempty"`
	Tuning  []tune.Choice  `json:"tuning,omitempty"`
	Arms    []*armResult   `json:"arms"`
	Effects []effect       `json:"effects"`
}

// armResult holds the results of one arm under all seeds.
type armResult struct {
	Arm      arm                 `json:"arm"`
	AUC      []float64           `json:"auc"`      // by seed; a constant guess's if it diverged
	LogLoss  []float64           `json:"log_loss"` // by seed, nats
	Diverged int                 `json:"diverged"` // trainings
	Steps    int                 `json:"steps"`
	Own      histogram.Histogram `json:"own_staleness"`
	Cross    histogram.Histogram `json:"cross_staleness"`
	Missed   histogram.Histogram `json:"missed_updates"`

	specs []trial.Spec
	of    []*trial.Result // by seed
}

// effect is the difference of two arms: treated − reference.
type effect struct {
	Name string `json:"effect"`
	Tau  int    `json:"tau"`
	*judge.Comparison
}

// measure trains and compares all arms on every data set.
func (p *plan) measure(ctx context.Context, l lab) (results []*dataSetResult, err error) {
	for i := range p.DataSets {
		d := &p.DataSets[i]
		r := &dataSetResult{DataSet: d.Name, Alpha: d.Alpha}
		pairs := p.pairs(d)
		if d.Alpha > 0 {
			for _, o := range p.Optimizers {
				choices, err := tune.Tune(ctx, l, p.tuningArms(d, o), p.tuning(o))
				if err != nil {
					return nil, err
				}
				r.Tuning = append(r.Tuning, choices...)
				pairs = append(pairs, p.optimizerPairs(o, choices[0].Rows, choices[1].Rows)...)
			}
		}
		if err := p.train(ctx, l, d, r, pairs); err != nil {
			return nil, err
		}
		for _, one := range pairs {
			if err := p.compare(l, r, one); err != nil {
				return nil, err
			}
		}
		oracle, err := d.Oracle(p.Seed, p.Seeds)
		if err != nil {
			return nil, err
		}
		if oracle.AUC != nil {
			r.Oracle = &oracle
		}
		results = append(results, r)
	}
	return results, nil
}

// train trains the arms of all pairs under all seeds: first those that need no other.
func (p *plan) train(ctx context.Context, l lab, d *report.DataSet, r *dataSetResult, pairs []pair) error {
	var needy []*armResult
	for _, one := range pairs {
		for _, a := range []arm{one.reference, one.treated} {
			if r.find(a) == nil {
				r.Arms = append(r.Arms, &armResult{Arm: a})
			}
		}
	}
	var ready []*armResult
	for _, a := range r.Arms {
		if a.Arm.measured() {
			needy = append(needy, a)
		} else {
			ready = append(ready, a)
		}
	}
	if err := p.trainArms(ctx, l, d, r, ready); err != nil {
		return err
	}
	return p.trainArms(ctx, l, d, r, needy)
}

// trainArms trains arms under all seeds, those with the same rows after each other.
func (p *plan) trainArms(
	ctx context.Context, l lab, d *report.DataSet, r *dataSetResult, arms []*armResult,
) error {
	type training struct {
		to   *armResult
		seed int
		spec trial.Spec
	}
	var trainings []training
	for _, a := range arms {
		for i := range p.Seeds {
			var from *trial.Result
			if a.Arm.measured() {
				from = r.find(hybridOf(a.Arm)).of[i]
			}
			s, err := p.spec(d, a.Arm, p.Seed+uint64(i), from)
			if err != nil {
				return err
			}
			trainings = append(trainings, training{a, i, s})
		}
	}
	slices.SortStableFunc(trainings, func(a, b training) int {
		return cmp.Or(cmp.Compare(a.to.Arm.Length, b.to.Arm.Length), cmp.Compare(a.seed, b.seed))
	})
	specs := make([]trial.Spec, len(trainings))
	for i, t := range trainings {
		specs[i] = t.spec
	}
	results, err := l.Run(ctx, specs)
	if err != nil {
		return err
	}
	for i, t := range trainings {
		t.to.add(t.spec, &results[i])
		r.TestRows = results[i].TestRows
	}
	return nil
}

// hybridOf returns the arm of hybrid that has measured the delays of an arm.
func hybridOf(a arm) arm {
	a.Mode, a.Delay = job.Hybrid, ""
	return a
}

// find returns the results of an arm, or nil.
func (r *dataSetResult) find(a arm) *armResult {
	for _, one := range r.Arms {
		if one.Arm == a {
			return one
		}
	}
	return nil
}

// add adds one training.
func (a *armResult) add(s trial.Spec, r *trial.Result) {
	auc, logLoss := r.Scores()
	if r.Diverged != "" {
		a.Diverged++
	} else {
		a.Steps = r.Steps
	}
	a.AUC, a.LogLoss = append(a.AUC, auc), append(a.LogLoss, logLoss)
	a.specs, a.of = append(a.specs, s), append(a.of, r)
	a.Own.Merge(&r.Staleness.Own)
	a.Cross.Merge(&r.Staleness.Cross)
	a.Missed.Merge(&r.Missed)
}

// compare adds an effect, without verdict.
func (p *plan) compare(l lab, r *dataSetResult, one pair) error {
	treated, reference := r.find(one.treated), r.find(one.reference)
	c := judge.Pair(r.DataSet, one.treated.String(), one.reference.String(), p.Seed,
		judge.Quality{AUC: treated.AUC, LogLoss: treated.LogLoss},
		judge.Quality{AUC: reference.AUC, LogLoss: reference.LogLoss})
	if treated.Diverged+reference.Diverged == 0 {
		var err error
		if c.RowDeviation, err = l.RowDeviation(treated.specs, reference.specs); err != nil {
			return err
		}
	}
	r.Effects = append(r.Effects, effect{one.effect, one.tau, c})
	return nil
}

// comparisons returns the comparisons of all effects, judged.
func comparisons(results []*dataSetResult) []*judge.Comparison {
	var list []*judge.Comparison
	for _, r := range results {
		for _, e := range r.Effects {
			list = append(list, e.Comparison)
		}
	}
	judge.Judge(list)
	return list
}
