package hotrows

import (
	"context"

	"tandem/algo/metric"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
)

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

	specs []trial.Spec
	// toFresh and toLate are the differences to training without delay, and to the same delay without hot
	// rows. They are nil where both sides are the same training, as where no row is hot.
	toFresh, toLate *judge.Comparison
}

// results are everything that was measured.
type results struct {
	DataSets []*dataSetResult `json:"data_sets"`
	Speeds   []*speed         `json:"simulated"`
}

// measure tunes and trains every variant on every data set, and simulates the modes.
func (p *plan) measure(ctx context.Context, o report.Options) (*results, error) {
	lab, err := trial.Open(o)
	if err != nil {
		return nil, err
	}
	defer lab.Close()
	r := &results{}
	lab.Expect(p.trainings())
	for _, d := range p.DataSets {
		one, err := p.measureDataSet(ctx, lab, d)
		if err != nil {
			return nil, err
		}
		r.DataSets = append(r.DataSets, one)
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
	around := p.around(first.Rates)
	late, err := tune.Tune(ctx, lab, arms, around)
	if err != nil {
		return nil, err
	}
	var specs []trial.Spec
	r := &dataSetResult{DataSet: d.Name}
	for i, v := range p.variants() {
		choice := first
		if at := i - 1 - len(p.Taus); at >= 0 {
			choice = late[at]
		}
		r.Variants = append(r.Variants, &variantResult{Variant: v, Rates: choice.Rates,
			AtEdge: choice.AtEdge})
		specs = append(specs, p.specs(d, v, choice.Rates)...)
	}
	trained, err := lab.Run(ctx, specs)
	if err != nil {
		return nil, err
	}
	for i, v := range r.Variants {
		from, to := i*p.Seeds, (i+1)*p.Seeds
		v.specs = specs[from:to]
		v.add(trained[from:to])
	}
	r.TestRows, r.Steps = trained[0].TestRows, trained[0].Steps
	r.pair(p.Seed)
	return r, r.addRowDeviations(lab)
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

// pair sets the comparisons of all variants, without verdicts. first is the first seed.
func (r *dataSetResult) pair(first uint64) {
	fresh := r.Variants[0]
	for _, v := range r.Variants[1:] {
		if v.Variant.Threshold != nil && v.HotRows == 0 {
			continue
		}
		v.toFresh = judge.Pair(r.DataSet, v.Variant.String(), fresh.Variant.String(), first, v.Quality,
			fresh.Quality)
		if v.Variant.Threshold != nil {
			none := r.find(variant{Tau: v.Variant.Tau})
			v.toLate = judge.Pair(r.DataSet, v.Variant.String(), none.Variant.String(), first, v.Quality,
				none.Quality)
		}
	}
}

// addRowDeviations adds the luck of the test rows, where they are real and all trainings have predicted them.
func (r *dataSetResult) addRowDeviations(lab *trial.Lab) (err error) {
	for _, v := range r.Variants {
		for _, one := range []struct {
			comparison *judge.Comparison
			reference  *variantResult
		}{{v.toFresh, r.Variants[0]}, {v.toLate, r.find(variant{Tau: v.Variant.Tau})}} {
			if one.comparison == nil || v.Diverged+one.reference.Diverged > 0 {
				continue
			}
			one.comparison.RowDeviation, err = lab.RowDeviation(v.specs, one.reference.specs)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// comparisons returns the comparisons of all data sets.
func (r *results) comparisons() (list []*judge.Comparison) {
	for _, d := range r.DataSets {
		for _, v := range d.Variants {
			for _, c := range []*judge.Comparison{v.toFresh, v.toLate} {
				if c != nil {
					list = append(list, c)
				}
			}
		}
	}
	return list
}

// conclude sets losses and gains from the judged comparisons. A variant without hot rows at its threshold has
// the loss of its delay.
func (r *dataSetResult) conclude() {
	for _, v := range r.Variants[1:] {
		none := r.find(variant{Tau: v.Variant.Tau})
		v.Loss = none.Loss
		if v.toFresh != nil {
			v.Loss = report.Negated(v.toFresh.AUC)
		}
		if v.toLate != nil {
			v.Gain = v.toLate.AUC
		}
		if v.Variant.Tau > 0 && none.Loss.Estimate != 0 {
			v.Remaining = v.Loss.Estimate / none.Loss.Estimate
		}
	}
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
