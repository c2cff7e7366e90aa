// Package modes compares all training modes: what they learn, how stale their reads are and how fast they
// train, on this machine and on a simulation of Persia's cluster.
package modes

import (
	"context"
	"fmt"
	"time"

	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
)

// New returns the experiment.
func New() *report.Experiment {
	flags := report.NewModeFlags()
	return trial.Study(report.Experiment{
		Name: "modes",
		Question: "What AUC and speed does each training mode reach, on this machine and on Persia's " +
			"cluster?",
		Help: `Trains in every mode on the same rows, in the same order, from the same initial
values, under every seed: on this machine, and in a simulation of Persia's cluster
that computes the parameters. All modes merge and scale gradients in the same way.

--modes chooses the modes; sync is always among them.

Measures AUC and log loss on the test rows, the difference of each mode to sync
with 95 % intervals, the staleness of reads and of the dense network,
and throughput, on generated data and on adult-income. The full version takes
about half an hour on two slow cores.

` + job.ModeSettingsHelp(),
		QuickTime: 25 * time.Second,
		AddFlags:  flags.AddFlags,
	}, func(o report.Options) (*plan, error) {
		p := newPlan(500_000, 1_000_000)
		if o.Quick {
			p = newPlan(50_000, 50_000)
		}
		p.Seed, p.Seeds = o.Seed, o.Seeds
		p.Modes = flags.With(job.Sync, p.Modes)
		return p, p.set(&flags.ModeSet)
	}, (*plan).measure, (*plan).report)
}

// plan is everything that is fixed before the first training.
type plan struct {
	Seed     uint64           `yaml:"seed"` // the first
	Seeds    int              `yaml:"seeds"`
	Job      job.Job          `yaml:"job"` // what all modes share
	DataSets []report.DataSet `yaml:"data"`
	Modes    []string         `yaml:"modes"`
	// ModeSettings are, by mode, the values of the settings that only this mode has.
	ModeSettings map[string]map[string]int `yaml:"mode-settings"`
}

// newPlan returns a plan for all modes. The learning rates are those of the staleness experiment, which were
// chosen by sequential training on data that no report contains.
func newPlan(trainRows, testRows int) *plan {
	j := job.Default()
	j.Model.EmbeddingDim, j.Model.Top = 8, []int{32, 16}
	j.Model.Optimizer.Rate, j.Rows.Optimizer.Rate = 0.01, 0.1
	j.Training.GlobalBatch, j.Training.Prefetch = 256, 4
	return &plan{
		Job: j, Modes: job.Modes(), ModeSettings: report.ModeSettings(j, job.Modes()),
		DataSets: []report.DataSet{report.Generated(0.1, trainRows, testRows), report.AdultIncome()},
	}
}

// set adds the mode settings of a command line.
func (p *plan) set(flag *report.ModeSet) error {
	if err := flag.Apply(&p.Job, p.Modes); err != nil {
		return err
	}
	p.ModeSettings = report.ModeSettings(p.Job, p.Modes)
	return nil
}

// Names of the clusters.
const (
	thisMachine    = "this machine"
	persiasCluster = "Persia's cluster" // simulated
)

// spec returns the training of a mode on a cluster. All modes merge gradients by rank, which asynchronous
// modes require, so that they differ in nothing else.
func (p *plan) spec(w report.DataSet, mode, cluster string, seed uint64) trial.Spec {
	j := p.Job.InMode(mode)
	j.Data, j.Training.Seed, j.Training.Merge = w.WithSeed(seed), seed, job.MergeRank
	simulated := cluster == persiasCluster
	if simulated {
		j.Cluster = job.PersiaCluster()
	}
	return trial.Spec{Job: j, Part: trial.Test, Simulated: simulated,
		Name: fmt.Sprintf("%s, %s, seed %d, %s", w.Name, mode, seed, cluster)}
}

// cell holds the trainings of a mode on a cluster and a data set, by seed.
type cell struct {
	DataSet string `json:"data"`
	Mode    string `json:"mode"`
	Cluster string `json:"cluster"`
	Runs    []run  `json:"runs"`
	// ToSync is the difference to sync on this machine; nil for that itself.
	ToSync *judge.Comparison `json:"to_sync,omitempty"`

	specs []trial.Spec
}

// run is a training with its speed and the staleness of its reads: own and cross in steps, dense in updates.
type run struct {
	trial.Result
	Throughput float64           `json:"samples_per_s"`
	Own        histogram.Summary `json:"own_staleness"`
	Cross      histogram.Summary `json:"cross_staleness"`
	Dense      histogram.Summary `json:"dense_staleness"`
}

// measure trains in every mode on every cluster and data set under every seed. Sequential training has no
// roles to simulate.
func (p *plan) measure(ctx context.Context, lab *trial.Lab) (all []*cell, err error) {
	lab.Expect(len(p.DataSets) * 2 * len(p.Modes) * p.Seeds)
	for _, w := range p.DataSets {
		var cells []*cell
		for _, cluster := range []string{thisMachine, persiasCluster} {
			for _, mode := range p.Modes {
				if mode != job.Sequential || cluster == thisMachine {
					cells = append(cells, &cell{DataSet: w.Name, Mode: mode, Cluster: cluster})
				}
			}
		}
		if err := p.train(ctx, lab, w, cells); err != nil {
			return nil, err
		}
		sync := find(cells, w.Name, job.Sync, thisMachine)
		for _, c := range cells {
			if c == sync {
				continue
			}
			c.ToSync = judge.Pair(w.Name, c.Mode+", "+c.Cluster, job.Sync, p.Seed, c.quality(),
				sync.quality())
			if c.ToSync.RowDeviation, err = lab.RowDeviation(c.specs, sync.specs); err != nil {
				return nil, err
			}
		}
		all = append(all, cells...)
	}
	judge.Judge(comparisons(all))
	return all, nil
}

// train trains the cells of a data set. The order of the real trainings rotates from seed to seed, so that a
// drift of the machine favours no mode.
func (p *plan) train(ctx context.Context, lab *trial.Lab, w report.DataSet, cells []*cell) error {
	var specs []trial.Spec
	var to []*cell
	for i := range p.Seeds {
		for at := range cells {
			c := cells[(at+i)%len(cells)]
			spec := p.spec(w, c.Mode, c.Cluster, p.Seed+uint64(i))
			c.specs = append(c.specs, spec)
			specs, to = append(specs, spec), append(to, c)
		}
	}
	trained, err := lab.Run(ctx, specs)
	if err != nil {
		return err
	}
	for i, one := range trained {
		if one.Diverged != "" {
			return fmt.Errorf("%s: %s", specs[i].Name, one.Diverged)
		}
		s := &one.Staleness
		to[i].Runs = append(to[i].Runs, run{one, float64(p.Job.Training.GlobalBatch) / one.StepSeconds,
			s.Own.Summary(), s.Cross.Summary(), s.Dense.Summary()})
	}
	return nil
}

// values returns a quantity of the runs, by seed.
func (c *cell) values(quantity func(r *run) float64) (list []float64) {
	for i := range c.Runs {
		list = append(list, quantity(&c.Runs[i]))
	}
	return list
}

// quality returns the quality of the runs, by seed.
func (c *cell) quality() judge.Quality {
	return judge.Quality{
		AUC:     c.values(func(r *run) float64 { return r.AUC }),
		LogLoss: c.values(func(r *run) float64 { return r.LogLoss }),
	}
}

// find returns a cell.
func find(cells []*cell, data, mode, cluster string) *cell {
	for _, c := range cells {
		if c.DataSet == data && c.Mode == mode && c.Cluster == cluster {
			return c
		}
	}
	return nil
}

// comparisons returns the comparisons with sync.
func comparisons(cells []*cell) (list []*judge.Comparison) {
	for _, c := range cells {
		if c.ToSync != nil {
			list = append(list, c.ToSync)
		}
	}
	return list
}
