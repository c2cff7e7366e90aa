package staleness

import (
	"cmp"
	"context"
	"slices"

	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/experiments/internal/arms"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
)

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
	Arm arm `json:"arm"`
	judge.Quality
	Diverged int               `json:"diverged"` // trainings, which count as a constant guess
	Steps    int               `json:"steps"`
	Own      histogram.Summary `json:"own_staleness"`
	Cross    histogram.Summary `json:"cross_staleness"`
	Missed   histogram.Summary `json:"missed_updates"`

	specs     []trial.Spec
	trainings []trial.Result // by seed
}

// effect is the difference of two arms: treated − reference.
type effect struct {
	Name string `json:"effect"`
	Tau  int    `json:"tau"`
	*judge.Comparison
}

// measure trains and compares all arms on every data set.
func (p *plan) measure(ctx context.Context, lab arms.Lab) (results []*dataSetResult, err error) {
	for i := range p.DataSets {
		d := &p.DataSets[i]
		r := &dataSetResult{DataSet: d.Name, Alpha: d.Alpha}
		pairs := p.pairs(d)
		if d.Alpha > 0 {
			for _, o := range p.Optimizers {
				choices, err := tune.Tune(ctx, lab, p.tuningArms(d, o), p.tuning(o))
				if err != nil {
					return nil, err
				}
				r.Tuning = append(r.Tuning, choices...)
				pairs = append(pairs, p.optimizerPairs(o, choices[0].Rows, choices[1].Rows)...)
			}
		}
		for _, a := range armsOf(pairs) {
			r.Arms = append(r.Arms, &armResult{Arm: a})
		}
		for _, measured := range []bool{false, true} { // arms with the delays of hybrid need its results
			if err := p.train(ctx, lab, d, r, measured); err != nil {
				return nil, err
			}
		}
		for _, one := range pairs {
			if err := p.compare(lab, r, one); err != nil {
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

// train trains the arms with delays that hybrid has measured, or the others, under all seeds. Trainings on
// the same rows follow each other.
func (p *plan) train(
	ctx context.Context, lab arms.Lab, d *report.DataSet, r *dataSetResult, measured bool,
) error {
	wave := slices.DeleteFunc(slices.Clone(r.Arms), func(a *armResult) bool {
		return a.Arm.measured() != measured
	})
	slices.SortStableFunc(wave, func(a, b *armResult) int { return cmp.Compare(a.Arm.Length, b.Arm.Length) })
	var specs []trial.Spec
	for i := range p.Seeds {
		for _, a := range wave {
			var from *trial.Result
			if measured {
				from = &r.find(hybridOf(a.Arm)).trainings[i]
			}
			s, err := p.spec(d, a.Arm, p.Seed+uint64(i), from)
			if err != nil {
				return err
			}
			specs, a.specs = append(specs, s), append(a.specs, s)
		}
	}
	results, err := lab.Run(ctx, specs)
	if err != nil {
		return err
	}
	for i, one := range results {
		a := wave[i%len(wave)]
		a.trainings, r.TestRows = append(a.trainings, one), one.TestRows
	}
	for _, a := range wave {
		a.sum()
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
	at := slices.IndexFunc(r.Arms, func(one *armResult) bool { return one.Arm == a })
	if at < 0 {
		return nil
	}
	return r.Arms[at]
}

// sum sets what follows from the trainings.
func (a *armResult) sum() {
	a.Quality, a.Diverged = trial.Quality(a.trainings)
	var own, cross, missed histogram.Histogram
	for i := range a.trainings {
		one := &a.trainings[i]
		a.Steps = max(a.Steps, one.Steps) // a training that diverged has none
		own.Merge(&one.Staleness.Own)
		cross.Merge(&one.Staleness.Cross)
		missed.Merge(&one.Missed)
	}
	a.Own, a.Cross, a.Missed = own.Summary(), cross.Summary(), missed.Summary()
}

// compare adds an effect, without verdict.
func (p *plan) compare(lab arms.Lab, r *dataSetResult, one pair) (err error) {
	treated, reference := r.find(one.treated), r.find(one.reference)
	c := judge.Pair(r.DataSet, one.treated.String(), one.reference.String(), p.Seed, treated.Quality,
		reference.Quality)
	if treated.Diverged+reference.Diverged == 0 {
		c.RowDeviation, err = lab.RowDeviation(treated.specs, reference.specs)
	}
	r.Effects = append(r.Effects, effect{one.effect, one.tau, c})
	return err
}
