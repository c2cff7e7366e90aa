// Package modes compares all training modes: what they learn, how stale their reads are and how fast they
// train, on this machine and on a simulation of Persia's cluster.
package modes

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/experiments/internal/trial"
	"tandem/internal/cli"
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
		var err error
		p.ModeSettings, err = flags.Settle(&p.Job, p.Modes)
		return p, err
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
		Job: j, Modes: job.Modes(),
		DataSets: []report.DataSet{report.Generated(0.1, trainRows, testRows), report.AdultIncome()},
	}
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

func (c *cell) values(quantity func(r *run) float64) (list []float64) {
	for i := range c.Runs {
		list = append(list, quantity(&c.Runs[i]))
	}
	return list
}

func (c *cell) quality() judge.Quality {
	return judge.Quality{
		AUC:     c.values(func(r *run) float64 { return r.AUC }),
		LogLoss: c.values(func(r *run) float64 { return r.LogLoss }),
	}
}

func find(cells []*cell, data, mode, cluster string) *cell {
	for _, c := range cells {
		if c.DataSet == data && c.Mode == mode && c.Cluster == cluster {
			return c
		}
	}
	return nil
}

func comparisons(cells []*cell) (list []*judge.Comparison) {
	for _, c := range cells {
		if c.ToSync != nil {
			list = append(list, c.ToSync)
		}
	}
	return list
}

func (p *plan) report(cells []*cell) *report.Report {
	r := &report.Report{
		Findings: p.findings(cells), Notes: p.notes(), Comparisons: comparisons(cells),
		Figures: p.figures(cells),
	}
	r.Tables = append(report.ComparisonTables(r.Comparisons), qualityTable(cells), speedTable(cells),
		stalenessTable(cells))
	return r
}

func qualityTable(cells []*cell) cli.Table {
	t := cli.Table{
		Caption: "Quality on the test rows, mean over seeds",
		Header:  []string{"data", "mode", "cluster", "AUC ± 95 %", "log loss ± 95 % (nats)"}, Words: 3,
	}
	for _, c := range cells {
		q := c.quality()
		t.Rows = append(t.Rows, []string{c.DataSet, c.Mode, c.Cluster, report.Level(q.AUC),
			report.Level(q.LogLoss)})
	}
	return t
}

func (c *cell) throughput() metric.Interval {
	return metric.MeanInterval(c.values(func(r *run) float64 { return r.Throughput }))
}

// overSync returns the throughput ÷ that of sync on the same data and cluster. The simulator is
// deterministic: its spread over seeds says nothing about its error.
func overSync(cells []*cell, c *cell) metric.Interval {
	sync := find(cells, c.DataSet, job.Sync, c.Cluster).throughput().Estimate
	v := c.throughput()
	if c.Cluster == persiasCluster {
		v.Low, v.High = v.Estimate, v.Estimate
	}
	return metric.Interval{Estimate: v.Estimate / sync, Low: v.Low / sync, High: v.High / sync}
}

func speedTable(cells []*cell) cli.Table {
	t := cli.Table{
		Caption: "Throughput in samples per second, mean over seeds; the simulator is deterministic: " +
			"its spread over seeds says nothing about its error",
		Header: []string{"data", "mode", "cluster", "samples/s ± 95 %", "÷ sync"}, Words: 3,
	}
	for _, c := range cells {
		v := c.throughput()
		speed := fmt.Sprintf("%.0f", v.Estimate)
		if c.Cluster == thisMachine {
			speed += fmt.Sprintf(" ± %.0f", (v.High-v.Low)/2)
		}
		t.Rows = append(t.Rows, []string{c.DataSet, c.Mode, c.Cluster, speed,
			fmt.Sprintf("×%.2f", overSync(cells, c).Estimate)})
	}
	return t
}

func stalenessTable(cells []*cell) cli.Table {
	t := cli.Table{
		Caption: "Staleness over all seeds, mean/max: own and cross in steps per read, dense in " +
			"updates per push; – sequential training has no roles",
		Header: []string{"data", "mode", "cluster", "own", "cross", "dense"}, Words: 3,
	}
	for _, c := range cells {
		t.Rows = append(t.Rows, []string{c.DataSet, c.Mode, c.Cluster,
			c.meanMax(func(r *run) histogram.Summary { return r.Own }),
			c.meanMax(func(r *run) histogram.Summary { return r.Cross }),
			c.meanMax(func(r *run) histogram.Summary { return r.Dense })})
	}
	return t
}

// meanMax returns the mean and the maximum of a kind of staleness over all runs.
func (c *cell) meanMax(kind func(r *run) histogram.Summary) string {
	sum, count, most := 0.0, 0.0, 0
	for i := range c.Runs {
		s := kind(&c.Runs[i])
		sum, count, most = sum+s.Mean*float64(s.Count), count+float64(s.Count), max(most, s.Max)
	}
	if count == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f/%d", sum/count, most)
}

// lines returns a series for each data set and cluster, at the places of the modes, side by side.
func (p *plan) lines(cells []*cell, value func(c *cell) metric.Interval) (lines []report.Line) {
	for _, w := range p.DataSets {
		for _, cluster := range []string{thisMachine, persiasCluster} {
			color := len(lines)
			l := report.Line{Color: color, Scatter: true,
				Name: w.Name + ", " + strings.TrimSuffix(cluster, "'s cluster")}
			for i, mode := range p.Modes {
				if c := find(cells, w.Name, mode, cluster); c != nil {
					x := float64(i) + 0.06*(float64(color)-1.5)
					l.Points = append(l.Points, report.IntervalPoint(x, value(c)))
				}
			}
			lines = append(lines, l)
		}
	}
	return lines
}

// figures show the AUC differences, and throughput as a multiple of that of sync on the same cluster.
func (p *plan) figures(cells []*cell) []report.Figure {
	axis := report.Places(p.Modes...)
	axis.Label = "mode"
	differences := p.lines(cells, func(c *cell) (v metric.Interval) {
		if c.ToSync != nil {
			v = c.ToSync.AUC
		}
		return v
	})
	return []report.Figure{{
		Name: "auc-difference", Title: "AUC of each mode − AUC of sync, on the same rows",
		X: axis, Y: report.Axis{Label: "AUC difference (bars: 95 % over seeds)"},
		Lines: append(report.MarginLines(0, float64(len(p.Modes)-1)), differences...),
	}, {
		Name: "throughput", Title: "Throughput of each mode ÷ throughput of sync on the same cluster",
		X: axis, Y: report.Axis{Label: "throughput ÷ throughput of sync"},
		Lines: p.lines(cells, func(c *cell) metric.Interval { return overSync(cells, c) }),
	}}
}

// findings returns a sentence on speed for each data set. What is found about AUC follows from the
// comparisons.
func (p *plan) findings(cells []*cell) (sentences []string) {
	for _, w := range p.DataSets {
		var speeds []string
		for _, mode := range p.Modes {
			here, there := find(cells, w.Name, mode, thisMachine), find(cells, w.Name, mode, persiasCluster)
			if mode != job.Sync && here != nil && there != nil { // sequential has no roles to simulate
				speeds = append(speeds, fmt.Sprintf("%s ×%.2f and ×%.2f", mode,
					overSync(cells, here).Estimate, overSync(cells, there).Estimate))
			}
		}
		sentences = append(sentences,
			fmt.Sprintf("%s, throughput ÷ throughput of sync, on this machine and on Persia's cluster: %s.",
				w.Name, strings.Join(speeds, ", ")))
	}
	return sentences
}

func (p *plan) notes() []string {
	notes := []string{
		"Sequential and sync give the same bits on both clusters, so their differences are 0.",
		"In the other modes, the order of events and the staleness come from real threads on this " +
			"machine, and from simulated events on Persia's cluster: faster hosts make reads less " +
			"stale, so AUC may differ.",
		"Persia's cluster is simulated with the middle value of each unknown property. Its hosts do " +
			"the real arithmetic in simulated time. The network of this comparison is small, so hosts " +
			"and messages, not GPUs, determine its speed.",
		"The simulation has no jitter, so no rank falls behind, ssp never waits and equals async-ps.",
		"All modes have one learning rate, chosen by sequential training. A mode that needs another " +
			"rate is not shown at its best.",
		report.ModeSettingsNote(p.Job, p.Modes),
		"On this machine, all roles share the cores with any other program that was running.",
	}
	return append(notes, report.FewSeedsNote(p.Seeds, "seeds", "an interval")...)
}
