package hotrows

import (
	"fmt"
	"slices"

	"tandem/algo/job"
	"tandem/algo/protocol/delay"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/experiments/internal/tune"
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

	absent []string // notes on data sets that are not in the data folder
}

// dataSet is a data set with the passes over its rows.
type dataSet struct {
	report.DataSet `yaml:",inline"`
	Epochs         int `yaml:"epochs"`
}

// Candidates of the rate of rows: their middle, and the ratio of neighbours.
const (
	rateMiddle = 0.1
	rateFactor = 3
)

// quick sets what the quick version has, which takes the time that QuickTime returns.
func (p *plan) quick(alphas []float64) {
	p.add(alphas, 30_000, 30_000)
	p.Tuning.Rows = tune.Grid(rateMiddle, rateFactor, 1)
	p.Thresholds = []float64{0.1, 0.01, 0.001}
	p.Speed.GPUs, p.Speed.Thresholds, p.Speed.Samples = []int{8}, p.Thresholds, 8
}

// full sets what the full version has, which takes about 10 minutes on two slow cores. Small real data sets
// have as many passes as make 250 steps or more.
func (p *plan) full(alphas []float64, dataFolder string) {
	p.add(alphas, 100_000, 100_000)
	present, absent := report.Present(
		[]dataSet{{report.Frappe(), 1}, {report.Avazu(), 3}, {report.CriteoHead(), 4}}, dataFolder)
	p.DataSets, p.absent = append(p.DataSets, present...), absent
	p.Tuning.Rows = tune.Grid(rateMiddle, rateFactor, 2)
	p.Thresholds = []float64{0.1, 0.03, 0.01, 0.003, 0.001}
	p.Speed.GPUs, p.Speed.Thresholds = []int{8, 64}, []float64{0.1, 0.01, 0.001, 0.0001, 0.00001}
	p.Speed.Samples = 16
}

// newPlan returns what the quick and the full version share.
func newPlan(taus []int) plan {
	j := job.Default()
	j.Training.Mode, j.Training.GlobalBatch = job.Sequential, 128
	j.Model.EmbeddingDim, j.Model.Top = 8, []int{32, 16}
	return plan{
		Job: j, Taus: taus,
		Tuning: tune.Plan{Dense: tune.Grid(0.01, rateFactor, 1), Seeds: tune.SeedsMin},
		Speed:  speedPlan{Preset: "persia-paper", Tau: 15, Steps: 16},
	}
}

// add adds generated data and adult-income.
func (p *plan) add(alphas []float64, trainRows, testRows int) {
	for _, alpha := range slices.Backward(alphas) {
		p.DataSets = append(p.DataSets, dataSet{report.Generated(alpha, trainRows, testRows), 1})
	}
	p.DataSets = append(p.DataSets, dataSet{report.AdultIncome(), 1})
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

// String returns the name of a variant.
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

// trainings returns how many trainings there are on all data sets: of the tuner, and of all variants.
func (p *plan) trainings() int {
	around := p.around(tune.Rates{Rows: 1, Dense: 1})
	return len(p.DataSets) *
		(p.Tuning.Trials() + len(p.delayed())*around.Trials() + len(p.variants())*p.Seeds)
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
