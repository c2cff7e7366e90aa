// Package hotrows measures how many frequent rows must be synchronised to get back what stale rows cost.
//
// Rows that at least a share of the samples contain are hot. The algorithm keeps hot rows on every rank and
// reduces their gradients with those of the dense network in every step; the other rows stay asynchronous.
// What it learns is measured in sequential training, where hot rows are updated at once and the others late
// by exactly τ steps (training.hot-rows, training.delay). What it costs in speed is simulated: package cost
// has the prices of hot rows.
//
// Roles run the algorithm as mode hybrid of a job with rows.hot. The trainings of the part hot-rows have no
// roles, so that the delay of all other rows is the same. The parts hot-ranks and hot-length train with roles
// in simulated time, and compare hybrid with and without hot rows with sync.
package hotrows

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/protocol/delay"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
	"tandem/internal/cli"
)

// New returns the experiment.
func New() *report.Experiment {
	grid := report.NewGrid(report.Taus, report.Alphas)
	return report.Study(report.Experiment{
		Name:     "hot-rows",
		Question: "How many hot rows must be synchronised to get back what staleness costs?",
		Help: `Trains sequentially with row gradients that are late by exactly τ steps, except
those of hot rows, which at least a share of the samples contain. At several
thresholds, compares the AUC with training without delay, under the same seeds,
on generated data, adult-income and the real data sets that are in the data
folder. Learning rates are tuned for every variant, on other rows.

Then simulates the speed of hybrid, sync and hot-rows on the cluster
persia-paper. In hot-rows every rank holds the hot rows of the model, and their
gradients join the all-reduce of the dense network. The full version takes about
10 minutes on two slow cores.`,
		QuickTime: 30 * time.Second,
		AddFlags:  grid.AddFlags,
	}, func(o report.Options) (*plan, error) {
		taus, alphas := grid.Taus(15, 63), grid.Alphas(0.01, 0.5)
		if taus[0] == 0 {
			return nil, cli.UsageError("0 steps late is the training that all are compared with: leave 0 "+
				"out", "--taus: 0 steps")
		}
		p := newPlan(o.Quick, taus, alphas)
		p.Seed, p.Seeds, p.folder = o.Seed, o.Seeds, o.DataFolder
		return p, nil
	}, (*plan).measure, (*plan).report)
}

// plan is everything that is fixed before the first training.
type plan struct {
	Seed     uint64    `yaml:"seed"` // the first
	Seeds    int       `yaml:"seeds"`
	Job      job.Job   `yaml:"job"`  // what all trainings share; rates are tuned
	DataSets []dataSet `yaml:"data"` // those that the data folder has are measured
	Taus     []int     `yaml:"taus"` // steps by which rows are late
	// Thresholds are the least shares of the samples with which a row is hot, descending.
	Thresholds []float64 `yaml:"thresholds"`
	// Tuning has the candidates for training without delay. Those for delayed trainings are as many row
	// rates around the one chosen there, with the dense rate chosen there.
	Tuning tune.Plan `yaml:"tuning"`
	Speed  speedPlan `yaml:"speed"`

	folder string // of real data
}

// dataSet is a data set with the passes over its rows.
type dataSet struct {
	report.DataSet `yaml:",inline"`
	Epochs         int `yaml:"epochs"`
}

// rateFactor is the ratio of neighbouring candidates of a rate.
const rateFactor = 3

// newPlan returns a plan. Small real data sets have as many passes as make 250 steps or more.
func newPlan(quick bool, taus []int, alphas []float64) *plan {
	j := job.Default()
	j.Training.Mode, j.Training.GlobalBatch = job.Sequential, 128
	j.Model.EmbeddingDim, j.Model.Top = 8, []int{32, 16}
	p := &plan{
		Job: j, Taus: taus, Thresholds: []float64{0.1, 0.03, 0.01, 0.003, 0.001},
		Tuning: tune.Plan{
			Rows: tune.Grid(0.1, rateFactor, 2), Dense: tune.Grid(0.01, rateFactor, 1), Seeds: tune.SeedsMin,
		},
		Speed: speedPlan{
			Preset: "persia-paper", GPUs: []int{8, 64}, Tau: 15,
			Thresholds: []float64{0.1, 0.01, 0.001, 0.0001, 0.00001}, Samples: 16, Steps: 16,
		},
	}
	rows, more := 100_000, []dataSet{{report.Frappe(), 1}, {report.Avazu(), 3}, {report.CriteoHead(), 4}}
	if quick {
		rows, more = 30_000, nil
		p.Thresholds, p.Tuning.Rows = []float64{0.1, 0.01, 0.001}, tune.Grid(0.1, rateFactor, 1)
		p.Speed.GPUs, p.Speed.Thresholds, p.Speed.Samples = []int{8}, p.Thresholds, 8
	}
	for _, alpha := range slices.Backward(alphas) {
		p.DataSets = append(p.DataSets, dataSet{report.Generated(alpha, rows, rows), 1})
	}
	p.DataSets = append(append(p.DataSets, dataSet{report.AdultIncome(), 1}), more...)
	return p
}

// variant is one way to train.
type variant struct {
	// Tau is how many steps the gradients of rows are late. 0: training without delay.
	Tau int `json:"tau"`
	// Threshold is the least share of the samples with which a row is hot; nil: all rows are late.
	Threshold *float64 `json:"threshold"`
	// Drop trains that many steps less, without delay: the delay of a run's last gradients alone.
	Drop int `json:"drop,omitempty"`
}

// fresh is training without delay.
var fresh = variant{}

func (v variant) String() string {
	switch {
	case v.Drop > 0:
		return fmt.Sprintf("%d steps fewer", v.Drop)
	case v.Tau == 0:
		return "fresh"
	case v.Threshold == nil:
		return fmt.Sprintf("%d steps late", v.Tau)
	}
	return fmt.Sprintf("%d steps late, hot from %s", v.Tau, percent(*v.Threshold))
}

// variants returns all variants in the order of the results: fresh; those that only train less; for every τ
// that without hot rows, then by threshold.
func (p *plan) variants() []variant {
	list := []variant{fresh}
	for _, tau := range p.Taus {
		list = append(list, variant{Drop: tau})
	}
	for _, tau := range p.Taus {
		list = append(list, variant{Tau: tau})
		for i := range p.Thresholds {
			list = append(list, variant{Tau: tau, Threshold: &p.Thresholds[i]})
		}
	}
	return list
}

// delayed returns the variants with late rows.
func (p *plan) delayed() []variant { return p.variants()[1+len(p.Taus):] }

func (p *plan) arm(d dataSet, v variant, nominal tune.Rates) tune.Arm {
	return tune.Arm{
		Name: d.Name + ", " + v.String(), Nominal: nominal,
		Job: func(seed uint64) job.Job {
			j := p.Job
			j.Data, j.Training.Seed, j.Training.Epochs = d.WithSeed(seed), seed, d.Epochs
			if v.Tau > 0 {
				j.Training.Delay = delay.Spec{Kind: delay.Exactly, Steps: v.Tau}
				j.Training.HotRows = v.Threshold
			}
			return j
		},
	}
}

// around returns the candidates for delayed trainings around the rates of training without delay.
func (p *plan) around(r tune.Rates) tune.Plan {
	return tune.Plan{
		Rows:  tune.Grid(r.Rows, rateFactor, len(p.Tuning.Rows)/2),
		Dense: []float64{r.Dense}, Seeds: p.Tuning.Seeds,
	}
}

func (p *plan) specs(d dataSet, v variant, r tune.Rates) (specs []trial.Spec) {
	a := p.arm(d, v, r)
	for i := range p.Seeds {
		seed := p.Seed + uint64(i)
		specs = append(specs, trial.Spec{Job: a.JobAt(r, seed), Part: trial.Test, Drop: v.Drop,
			Name: fmt.Sprintf("%s, seed %d", a.Name, seed)})
	}
	return specs
}

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
