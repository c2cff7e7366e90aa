package modes

import (
	"fmt"
	"strings"

	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// report returns the results of a plan as tables, figures and sentences.
func (p *plan) report(cells []*cell) *report.Report {
	r := &report.Report{
		Findings: p.findings(cells), Notes: p.notes(), Comparisons: comparisons(cells),
		Figures: []report.Figure{p.aucFigure(cells), p.speedFigure(cells)},
	}
	r.Tables = append(report.ComparisonTables(r.Comparisons), qualityTable(cells), p.speedTable(cells),
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

// throughput returns the mean throughput of a cell with its interval over seeds.
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

func (p *plan) speedTable(cells []*cell) cli.Table {
	t := cli.Table{
		Caption: "Throughput in samples per second, mean over seeds; the simulator is deterministic: " +
			"its spread over seeds says nothing about its error",
		Header: []string{"data", "mode", "this machine ± 95 %", "÷ sync", "Persia's cluster, simulated",
			"÷ sync"},
		Words: 2,
	}
	for _, w := range p.DataSets {
		for _, mode := range p.Modes {
			row := []string{w.Name, mode, "–", "–", "–", "–"}
			for i, cluster := range []string{thisMachine, persiasCluster} {
				if c := find(cells, w.Name, mode, cluster); c != nil {
					v := c.throughput()
					row[2+2*i] = fmt.Sprintf("%.0f", v.Estimate)
					row[3+2*i] = fmt.Sprintf("×%.2f", overSync(cells, c).Estimate)
					if cluster == thisMachine {
						row[2] += fmt.Sprintf(" ± %.0f", (v.High-v.Low)/2)
					}
				}
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

func stalenessTable(cells []*cell) cli.Table {
	t := cli.Table{
		Caption: "Staleness over all seeds, mean/max: own and cross in steps per read, dense in " +
			"updates per push",
		Header: []string{"data", "mode", "cluster", "own", "cross", "dense"}, Words: 3,
	}
	for _, c := range cells {
		if c.Mode == job.Sequential {
			continue
		}
		row := []string{c.DataSet, c.Mode, c.Cluster}
		for _, of := range []func(r *run) histogram.Summary{
			func(r *run) histogram.Summary { return r.Own },
			func(r *run) histogram.Summary { return r.Cross },
			func(r *run) histogram.Summary { return r.Dense },
		} {
			sum, count, most := 0.0, 0.0, 0
			for i := range c.Runs {
				s := of(&c.Runs[i])
				sum, count = sum+s.Mean*float64(s.Count), count+float64(s.Count)
				most = max(most, s.Max)
			}
			text := "–"
			if count > 0 {
				text = fmt.Sprintf("%.2f/%d", sum/count, most)
			}
			row = append(row, text)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
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

// aucFigure shows the AUC differences: a place on the axis per mode, a series per data set and cluster.
func (p *plan) aucFigure(cells []*cell) report.Figure {
	lines := p.lines(cells, func(c *cell) (v metric.Interval) {
		if c.ToSync != nil {
			v = c.ToSync.AUC
		}
		return v
	})
	f := report.Figure{
		Name: "auc-difference", Title: "AUC of each mode − AUC of sync, on the same rows",
		X: report.Places(p.Modes...), Y: report.Axis{Label: "AUC difference (bars: 95 % over seeds)"},
		Lines: append(report.MarginLines(0, float64(len(p.Modes)-1)), lines...),
	}
	f.X.Label = "mode"
	return f
}

// speedFigure shows throughput as a multiple of the throughput of sync on the same cluster.
func (p *plan) speedFigure(cells []*cell) report.Figure {
	f := report.Figure{
		Name: "throughput", Title: "Throughput of each mode ÷ throughput of sync on the same cluster",
		X: report.Places(p.Modes...), Y: report.Axis{Label: "throughput ÷ throughput of sync"},
		Lines: p.lines(cells, func(c *cell) metric.Interval { return overSync(cells, c) }),
	}
	f.X.Label = "mode"
	return f
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

// notes returns what a reader needs to judge the findings.
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
