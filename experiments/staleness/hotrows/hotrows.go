// Package hotrows measures how many frequent rows must be synchronised to get back what stale rows cost.
//
// Rows that at least a share of the samples contain are hot. The algorithm keeps hot rows on every rank and
// reduces their gradients with those of the dense network in every step; the other rows stay asynchronous.
// What it learns is measured in sequential training, where hot rows are updated at once and the others late
// by exactly τ steps (training.hot-rows, training.delay). What it costs in speed is simulated (price.go).
//
// The roles cannot run it. A pace.Rule answers for a whole lookup: whether a rank may issue it, and whether a
// PS holds it back. No rule sees the rows in it. To read some rows fresh and others not, Split (of
// algo/protocol/role) must make two lists of signs for a batch: those of PSs, and those of rows that every
// rank holds. For the second list the contract lacks handles of sparse gradients that an all-reduce can sum,
// a stage of the NN worker that gathers and updates rows, and a way for all roles to agree on the list, which
// changes with the data.
package hotrows

import (
	"fmt"
	"slices"
	"time"

	"tandem/algo/job"
	"tandem/algo/protocol/delay"
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
		p := fullPlan(taus, alphas)
		if o.Quick {
			p = quickPlan(taus, alphas)
		}
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

// newPlan returns what the quick and the full version share: generated data and adult-income, and candidates,
// steps on each side of the middle.
func newPlan(taus []int, alphas []float64, rows, steps int) *plan {
	j := job.Default()
	j.Training.Mode, j.Training.GlobalBatch = job.Sequential, 128
	j.Model.EmbeddingDim, j.Model.Top = 8, []int{32, 16}
	p := &plan{
		Job: j, Taus: taus,
		Tuning: tune.Plan{
			Rows: tune.Grid(0.1, rateFactor, steps), Dense: tune.Grid(0.01, rateFactor, 1),
			Seeds: tune.SeedsMin,
		},
		Speed: speedPlan{Preset: "persia-paper", Tau: 15, Steps: 16},
	}
	for _, alpha := range slices.Backward(alphas) {
		p.DataSets = append(p.DataSets, dataSet{report.Generated(alpha, rows, rows), 1})
	}
	p.DataSets = append(p.DataSets, dataSet{report.AdultIncome(), 1})
	return p
}

func quickPlan(taus []int, alphas []float64) *plan {
	p := newPlan(taus, alphas, 30_000, 1)
	p.Thresholds = []float64{0.1, 0.01, 0.001}
	p.Speed.GPUs, p.Speed.Thresholds, p.Speed.Samples = []int{8}, p.Thresholds, 8
	return p
}

// fullPlan has real data, too. Small data sets have as many passes as make 250 steps or more.
func fullPlan(taus []int, alphas []float64) *plan {
	p := newPlan(taus, alphas, 100_000, 2)
	p.DataSets = append(p.DataSets, dataSet{report.Frappe(), 1}, dataSet{report.Avazu(), 3},
		dataSet{report.CriteoHead(), 4})
	p.Thresholds = []float64{0.1, 0.03, 0.01, 0.003, 0.001}
	p.Speed.GPUs, p.Speed.Thresholds = []int{8, 64}, []float64{0.1, 0.01, 0.001, 0.0001, 0.00001}
	p.Speed.Samples = 16
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

// arm returns a variant for the tuner.
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

// specs returns the trainings of a variant at some rates, by seed.
func (p *plan) specs(d dataSet, v variant, r tune.Rates) (specs []trial.Spec) {
	a := p.arm(d, v, r)
	for i := range p.Seeds {
		seed := p.Seed + uint64(i)
		specs = append(specs, trial.Spec{Job: a.JobAt(r, seed), Part: trial.Test, Drop: v.Drop,
			Name: fmt.Sprintf("%s, seed %d", a.Name, seed)})
	}
	return specs
}
