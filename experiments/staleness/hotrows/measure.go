package hotrows

import (
	"context"

	"tandem/algo/metric"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
)

// results are everything that was measured.
type results struct {
	DataSets []*dataSetResult `json:"data_sets"`
	Speeds   []*speed         `json:"simulated"`
}

// dataSetResult has the results of all variants on one data set.
type dataSetResult struct {
	DataSet  string           `json:"data"`
	TestRows int              `json:"test_rows"` // for each seed
	Steps    int              `json:"steps"`
	Variants []*variantResult `json:"variants"` // in the order of plan.variants
}

// variantResult has the trainings of one variant.
type variantResult struct {
	Variant       variant    `json:"variant"`
	Rates         tune.Rates `json:"rates"`
	AtEdge        bool       `json:"at_edge,omitempty"` // the best rate is at an end of the candidates
	Diverged      int        `json:"diverged,omitempty"`
	judge.Quality            // by seed; that of a guess where it diverged
	// Loss is the AUC of training without delay less that of the variant, and Remaining is Loss ÷ the Loss of
	// the same delay without hot rows.
	Loss      metric.Interval `json:"loss"`
	Remaining float64         `json:"remaining,omitempty"`
	// Gain is the AUC of the variant less that of the same delay without hot rows.
	Gain metric.Interval `json:"gain,omitzero"`
	// HotRows is the number of rows that were never late, HotShare their share of all row gradients, means
	// over seeds, and Missed the mean number of updates that a gradient missed.
	HotRows  float64 `json:"hot_rows"`
	HotShare float64 `json:"hot_share_of_gradients"`
	Missed   float64 `json:"missed_updates"`
	// ToFresh and ToLate are the differences to training without delay, and to the same delay without hot
	// rows. They are nil where both sides are the same training, as where no row is hot.
	ToFresh *judge.Comparison `json:"to_fresh,omitempty"`
	ToLate  *judge.Comparison `json:"to_late,omitempty"`

	specs []trial.Spec
}

// find returns the results of a variant without hot rows.
func (r *dataSetResult) find(want variant) *variantResult {
	for _, v := range r.Variants {
		if v.Variant == want {
			return v
		}
	}
	return nil
}

// late returns the results with rows late by τ: first that without hot rows, then by threshold.
func (r *dataSetResult) late(tau int) (list []*variantResult) {
	for _, v := range r.Variants {
		if v.Variant.Tau == tau {
			list = append(list, v)
		}
	}
	return list
}

// comparisons returns the comparisons of all data sets.
func (r *results) comparisons() (list []*judge.Comparison) {
	for _, d := range r.DataSets {
		for _, v := range d.Variants {
			for _, c := range []*judge.Comparison{v.ToFresh, v.ToLate} {
				if c != nil {
					list = append(list, c)
				}
			}
		}
	}
	return list
}

// measure tunes and trains every variant on every data set, and simulates the modes.
func (p *plan) measure(ctx context.Context, o report.Options) (*results, error) {
	present, _ := report.Present(p.DataSets, p.folder)
	around := p.around(tune.Rates{Rows: 1, Dense: 1})
	each := p.Tuning.Trials() + len(p.delayed())*around.Trials() + len(p.variants())*p.Seeds
	r, err := trial.Measure(o, "hot-rows", len(present)*each, func(lab *trial.Lab) (*results, error) {
		r := &results{}
		for _, d := range present {
			one, err := p.measureDataSet(ctx, lab, d)
			if err != nil {
				return nil, err
			}
			r.DataSets = append(r.DataSets, one)
		}
		return r, nil
	})
	if err != nil {
		return nil, err
	}
	judge.Judge(r.comparisons())
	for _, d := range r.DataSets {
		d.conclude()
	}
	r.Speeds, err = p.Speed.measure(ctx, p.Seed, func(done, all int) {
		if o.Progress != nil {
			o.Progress(done, all, "simulating "+p.Speed.Preset)
		}
	})
	return r, err
}

// measureDataSet tunes and trains every variant on one data set.
func (p *plan) measureDataSet(ctx context.Context, lab *trial.Lab, d dataSet) (*dataSetResult, error) {
	nominal := tune.Rates{
		Rows: p.Tuning.Rows[len(p.Tuning.Rows)/2], Dense: p.Tuning.Dense[len(p.Tuning.Dense)/2],
	}
	chosen, err := tune.Tune(ctx, lab, []tune.Arm{p.arm(d, fresh, nominal)}, p.Tuning)
	if err != nil {
		return nil, err
	}
	first := chosen[0]
	var arms []tune.Arm
	for _, v := range p.delayed() {
		arms = append(arms, p.arm(d, v, first.Rates))
	}
	late, err := tune.Tune(ctx, lab, arms, p.around(first.Rates))
	if err != nil {
		return nil, err
	}
	r := &dataSetResult{DataSet: d.Name}
	var specs []trial.Spec
	for i, v := range p.variants() {
		choice := first
		if at := i - 1 - len(p.Taus); at >= 0 {
			choice = late[at]
		}
		one := &variantResult{Variant: v, Rates: choice.Rates, AtEdge: choice.AtEdge,
			specs: p.specs(d, v, choice.Rates)}
		r.Variants, specs = append(r.Variants, one), append(specs, one.specs...)
	}
	trained, err := lab.Run(ctx, specs)
	if err != nil {
		return nil, err
	}
	for i, v := range r.Variants {
		v.add(trained[i*p.Seeds:][:p.Seeds])
	}
	r.TestRows, r.Steps = trained[0].TestRows, trained[0].Steps
	return r, r.pair(p.Seed, lab.RowDeviation)
}

// add sets the results of the trainings, by seed.
func (v *variantResult) add(trained []trial.Result) {
	n := float64(len(trained))
	v.Quality, v.Diverged = trial.Quality(trained)
	for _, t := range trained {
		v.HotRows += float64(t.HotRows) / n
		if gradients := t.Missed.Count(); gradients > 0 {
			v.HotShare += float64(t.HotGradients) / float64(gradients) / n
			v.Missed += t.Missed.Mean() / n
		}
	}
}

// pair sets the comparisons of all variants, without verdicts. first is the first seed. The comparisons have
// the luck of the test rows where all trainings have predicted them.
func (r *dataSetResult) pair(
	first uint64, rowDeviation func(treated, reference []trial.Spec) (float64, error),
) error {
	pair := func(v, reference *variantResult) (c *judge.Comparison, err error) {
		c = judge.Pair(r.DataSet, v.Variant.String(), reference.Variant.String(), first, v.Quality,
			reference.Quality)
		if v.Diverged+reference.Diverged == 0 {
			c.RowDeviation, err = rowDeviation(v.specs, reference.specs)
		}
		return c, err
	}
	for _, v := range r.Variants[1:] {
		if v.Variant.Threshold != nil && v.HotRows == 0 {
			continue
		}
		var err error
		if v.ToFresh, err = pair(v, r.Variants[0]); err != nil {
			return err
		}
		if v.Variant.Threshold != nil {
			if v.ToLate, err = pair(v, r.find(variant{Tau: v.Variant.Tau})); err != nil {
				return err
			}
		}
	}
	return nil
}

// conclude sets losses and gains from the judged comparisons. A variant without hot rows at its threshold has
// the loss of its delay.
func (r *dataSetResult) conclude() {
	for _, v := range r.Variants[1:] {
		none := r.find(variant{Tau: v.Variant.Tau})
		v.Loss = none.Loss
		if v.ToFresh != nil {
			v.Loss = report.Negated(v.ToFresh.AUC)
		}
		if v.ToLate != nil {
			v.Gain = v.ToLate.AUC
		}
		if v.Variant.Tau > 0 && none.Loss.Estimate != 0 {
			v.Remaining = v.Loss.Estimate / none.Loss.Estimate
		}
	}
}
