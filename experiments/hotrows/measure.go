package hotrows

import (
	"context"

	"tandem/algo/metric"
	"tandem/experiments/report"
	"tandem/experiments/trial"
	"tandem/experiments/tune"
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
	Variant  variant    `json:"variant"`
	Rates    tune.Rates `json:"rates"`
	AtEdge   bool       `json:"at_edge,omitempty"` // the best rate is at an end of the candidates
	Diverged int        `json:"diverged,omitempty"`
	AUC      []float64  `json:"auc"`      // by seed; a guess where it diverged
	LogLoss  []float64  `json:"log_loss"` // by seed
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
	lab.Expect(len(p.DataSets) * (p.trainings() + trials(p.Tuning) +
		len(p.delayed())*trials(p.around(tune.Rates{Rows: 1, Dense: 1}))))
	for _, d := range p.DataSets {
		one, err := p.measureDataSet(ctx, lab, d)
		if err != nil {
			return nil, err
		}
		r.DataSets = append(r.DataSets, one)
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
	lab.Expect(-trials(p.Tuning))
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
	lab.Expect(-len(arms) * trials(around))
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
	lab.Expect(-len(specs))
	trained, err := lab.Run(ctx, specs)
	if err != nil {
		return nil, err
	}
	for i, v := range r.Variants {
		v.add(trained[i*p.Seeds : (i+1)*p.Seeds])
	}
	r.TestRows, r.Steps = trained[0].TestRows, trained[0].Steps
	r.compare()
	return r, nil
}

// add sets the results of the trainings, by seed.
func (v *variantResult) add(trained []trial.Result) {
	n := float64(len(trained))
	for _, t := range trained {
		if t.Diverged != "" {
			v.Diverged++
		}
		auc, logLoss := t.Scores()
		v.AUC, v.LogLoss = append(v.AUC, auc), append(v.LogLoss, logLoss)
		v.HotRows += float64(t.HotRows) / n
		if gradients := t.Missed.Count(); gradients > 0 {
			v.HotShare += float64(t.HotGradients) / float64(gradients) / n
			v.Missed += t.Missed.Mean() / n
		}
	}
}

// compare sets the losses.
func (r *dataSetResult) compare() {
	for _, v := range r.Variants {
		v.Loss = metric.MeanInterval(report.Differences(r.Variants[0].AUC, v.AUC))
	}
	for _, v := range r.Variants {
		if v.Variant.Tau > 0 {
			none := r.find(variant{Tau: v.Variant.Tau})
			v.Gain = metric.MeanInterval(report.Differences(v.AUC, none.AUC))
			if none.Loss.Estimate != 0 {
				v.Remaining = v.Loss.Estimate / none.Loss.Estimate
			}
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
