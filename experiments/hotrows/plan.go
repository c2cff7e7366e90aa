package hotrows

import (
	"fmt"
	"slices"

	"tandem/algo/job"
	"tandem/algo/protocol/delay"
	"tandem/experiments/report"
	"tandem/experiments/trial"
	"tandem/experiments/tune"
)

// plan is everything that is fixed before the first training.
type plan struct {
	Seed     uint64    `yaml:"seed"` // the first
	Seeds    int       `yaml:"seeds"`
	Job      job.Job   `yaml:"job"` // what all trainings share; rates are tuned
	DataSets []dataSet `yaml:"data"`
	Taus     []int     `yaml:"taus"` // steps by which rows are late
	// Thresholds are the least shares of the samples with which a row is hot, descending.
	Thresholds []float64 `yaml:"thresholds"`
	// Tuning has the candidates for training without delay. Those for delayed trainings are as many row
	// rates around the one chosen there, with the dense rate chosen there.
	Tuning tune.Plan `yaml:"tuning"`
	Speed  speedPlan `yaml:"speed"`
}

// dataSet is a data set with the passes over its rows.
type dataSet struct {
	report.DataSet `yaml:",inline"`
	Epochs         int `yaml:"epochs"`
}

// rateFactor is the ratio of neighbouring candidates of a rate.
const rateFactor = 3

// quickPlan takes the time that QuickTime returns.
func quickPlan() plan {
	p := newPlan(30_000, 30_000, 1)
	p.Thresholds = []float64{0.1, 0.01, 0.001}
	p.Speed.GPUs, p.Speed.Thresholds, p.Speed.Samples = []int{8}, p.Thresholds, 8
	return p
}

// fullPlan takes about 20 minutes on two slow cores.
func fullPlan() plan {
	p := newPlan(200_000, 200_000, 2)
	p.Thresholds = []float64{0.3, 0.1, 0.03, 0.01, 0.003, 0.001}
	p.Speed.GPUs, p.Speed.Thresholds = []int{8, 64}, []float64{0.1, 0.01, 0.001, 0.0001, 0.00001}
	p.Speed.Samples = 32
	return p
}

func newPlan(trainRows, testRows, candidates int) plan {
	j := job.Default()
	j.Training.Mode, j.Training.GlobalBatch = job.Sequential, 128
	j.Model.EmbeddingDim, j.Model.Top = 8, []int{32, 16}
	return plan{
		Job: j, Taus: []int{15, 63},
		DataSets: []dataSet{
			{report.Generated(0.5, trainRows, testRows), 1}, {report.Generated(0.01, trainRows, testRows), 1},
			{report.AdultIncome(), 1},
		},
		Tuning: tune.Plan{
			Rows: tune.Grid(0.1, rateFactor, candidates), Dense: tune.Grid(0.01, rateFactor, 1),
			Seeds: tune.SeedsMin,
		},
		Speed: speedPlan{Preset: "persia-paper", Tau: 15, Steps: 16},
	}
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

// delayed returns the variants with late rows: for every τ first that without hot rows, then by threshold.
func (p *plan) delayed() (list []variant) {
	for _, tau := range p.Taus {
		list = append(list, variant{Tau: tau})
		for i := range p.Thresholds {
			list = append(list, variant{Tau: tau, Threshold: &p.Thresholds[i]})
		}
	}
	return list
}

// shortened returns the variants that only train less.
func (p *plan) shortened() (list []variant) {
	for _, tau := range p.Taus {
		list = append(list, variant{Drop: tau})
	}
	return list
}

// String returns the name of a variant in progress and errors.
func (v variant) String() string {
	switch {
	case v.Drop > 0:
		return fmt.Sprintf("%d steps less", v.Drop)
	case v.Tau == 0:
		return "fresh"
	case v.Threshold == nil:
		return fmt.Sprintf("late by %d", v.Tau)
	}
	return fmt.Sprintf("late by %d below %v", v.Tau, *v.Threshold)
}

// job returns the training of a variant under a seed, with the rates of the plan's job.
func (p *plan) job(d dataSet, v variant, seed uint64) job.Job {
	j := p.Job
	j.Data, j.Training.Seed, j.Training.Epochs = d.WithSeed(seed), seed, d.Epochs
	if v.Tau > 0 {
		j.Training.Delay = delay.Spec{Kind: delay.Exactly, Steps: v.Tau}
		j.Training.HotRows = v.Threshold
	}
	return j
}

// arm returns a variant for the tuner.
func (p *plan) arm(d dataSet, v variant, nominal tune.Rates) tune.Arm {
	return tune.Arm{
		Name: d.Name + ", " + v.String(), Nominal: nominal,
		Job: func(seed uint64) job.Job { return p.job(d, v, seed) },
	}
}

// around returns the candidates for delayed trainings around the rates of training without delay.
func (p *plan) around(r tune.Rates) tune.Plan {
	return tune.Plan{
		Rows:  tune.Grid(r.Rows, rateFactor, len(p.Tuning.Rows)/2),
		Dense: []float64{r.Dense}, Seeds: p.Tuning.Seeds,
	}
}

// specs returns the trainings of a variant at some rates, by seed.
func (p *plan) specs(d dataSet, v variant, r tune.Rates) []trial.Spec {
	var specs []trial.Spec
	for i := range p.Seeds {
		seed := p.Seed + uint64(i)
		s := trial.Spec{
			Job: p.job(d, v, seed), Part: trial.Test, Drop: v.Drop,
			Name: fmt.Sprintf("%s, %v, seed %d", d.Name, v, seed),
		}
		r.Apply(&s.Job)
		specs = append(specs, s)
	}
	return specs
}

// variants returns all variants in the order of the results: fresh, shortened, delayed.
func (p *plan) variants() []variant {
	return slices.Concat([]variant{fresh}, p.shortened(), p.delayed())
}
