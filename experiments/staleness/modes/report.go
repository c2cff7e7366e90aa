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
func (p *plan) report(results []*result) *report.Report {
	judged := comparisons(results)
	return &report.Report{
		Findings:    findings(results),
		Notes:       p.notes(),
		Comparisons: judged,
		Tables: append(report.ComparisonTables(judged), qualityTable(results), speedTable(results),
			stalenessTable(results)),
		Figures:  []report.Figure{aucFigure(results), speedFigure(results)},
		Settings: p,
		Data:     results,
	}
}

// clusterRuns are the runs of a mode on one cluster, this machine or the simulated one.
type clusterRuns struct {
	name string
	runs []run
}

// clusters returns the runs of a mode by cluster.
func (m *modeResult) clusters() []clusterRuns {
	list := []clusterRuns{{thisMachine, m.Real}}
	if m.Simulated != nil {
		list = append(list, clusterRuns{persiasCluster, m.Simulated})
	}
	return list
}

func qualityTable(results []*result) cli.Table {
	t := cli.Table{
		Caption: "Quality on the test rows, mean over seeds",
		Header:  []string{"data", "mode", "cluster", "AUC ± 95 %", "log loss ± 95 % (nats)"},
		Words:   3,
	}
	for _, r := range results {
		for _, m := range r.Modes {
			for _, w := range m.clusters() {
				t.Rows = append(t.Rows, []string{
					r.DataSet, m.Mode, w.name, report.Level(values(w.runs, auc)),
					report.Level(values(w.runs, logLoss)),
				})
			}
		}
	}
	return t
}

func speedTable(results []*result) cli.Table {
	t := cli.Table{
		Caption: "Throughput in samples per second, mean over seeds; the simulator is deterministic: " +
			"its spread over seeds says nothing about its error",
		Header: []string{
			"data",
			"mode",
			"this machine ± 95 %",
			"÷ sync",
			"Persia's cluster, simulated",
			"÷ sync",
		},
		Words: 2,
	}
	for _, r := range results {
		sync := r.find(job.Sync)
		for _, m := range r.Modes {
			row := []string{r.DataSet, m.Mode}
			for _, w := range []struct {
				runs, reference []run
				simulated       bool
			}{
				{m.Real, sync.Real, false}, {m.Simulated, sync.Simulated, true},
			} {
				if w.runs == nil {
					row = append(row, "–", "–")
					continue
				}
				v := metric.MeanInterval(values(w.runs, throughput))
				text := fmt.Sprintf("%.0f", v.Estimate)
				if !w.simulated {
					text += fmt.Sprintf(" ± %.0f", (v.High-v.Low)/2)
				}
				row = append(row, text, fmt.Sprintf("×%.2f", ratio(w.runs, w.reference)))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

func stalenessTable(results []*result) cli.Table {
	t := cli.Table{
		Caption: "Staleness over all seeds, mean/max: own and cross in steps per read, dense in " +
			"updates per push",
		Header: []string{"data", "mode", "cluster", "own", "cross", "dense"},
		Words:  3,
	}
	for _, r := range results {
		for _, m := range r.Modes {
			if m.Mode == job.Sequential {
				continue
			}
			for _, w := range m.clusters() {
				var own, cross, dense histogram.Histogram
				for _, run := range w.runs {
					own.Merge(&run.Staleness.Own)
					cross.Merge(&run.Staleness.Cross)
					dense.Merge(&run.Staleness.Dense)
				}
				t.Rows = append(t.Rows,
					[]string{r.DataSet, m.Mode, w.name, meanMax(&own), meanMax(&cross), meanMax(&dense)})
			}
		}
	}
	return t
}

func meanMax(h *histogram.Histogram) string {
	if h.Count() == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f/%d", h.Mean(), h.Max())
}

// aucFigure shows the AUC differences: a place on the axis per mode, a series per data set and cluster.
func aucFigure(results []*result) report.Figure {
	f := report.Figure{
		Name: "auc-difference", Title: "AUC of each mode − AUC of sync, on the same rows",
		X: modeAxis(results[0]), Y: report.Axis{Label: "AUC difference (bars: 95 % over seeds)"},
	}
	last := float64(len(results[0].Modes) - 1)
	f.Lines = report.MarginLines(0, last)
	color := 0
	for _, r := range results {
		for _, name := range []string{thisMachine, persiasCluster} {
			l := report.Line{Name: r.DataSet + ", " + legend(name), Color: color, Scatter: true}
			for i, m := range r.Modes {
				for _, w := range m.clusters() {
					if w.name == name {
						d := r.comparison(m.Mode, &w).AUC
						x := float64(i) + 0.06*(float64(color)-1.5) // side by side
						l.Points = append(l.Points,
							report.Point{X: x, Y: d.Estimate, Low: d.Low, High: d.High})
					}
				}
			}
			f.Lines = append(f.Lines, l)
			color++
		}
	}
	return f
}

// legend returns a short name of a cluster.
func legend(name string) string {
	if name == persiasCluster {
		return "Persia"
	}
	return name
}

// speedFigure shows throughput as a multiple of the throughput of sync on the same cluster.
func speedFigure(results []*result) report.Figure {
	f := report.Figure{
		Name: "throughput", Title: "Throughput of each mode ÷ throughput of sync on the same cluster",
		X: modeAxis(results[0]), Y: report.Axis{Label: "throughput ÷ throughput of sync"},
	}
	color := 0
	for _, r := range results {
		sync := r.find(job.Sync)
		for _, real := range []bool{true, false} {
			l := report.Line{Name: r.DataSet + ", this machine", Color: color, Scatter: true}
			base := metric.MeanInterval(values(sync.Real, throughput)).Estimate
			if !real {
				l.Name = r.DataSet + ", Persia"
				base = metric.MeanInterval(values(sync.Simulated, throughput)).Estimate
			}
			for i, m := range r.Modes {
				runs := m.Real
				if !real {
					runs = m.Simulated
				}
				if runs == nil {
					continue
				}
				v := metric.MeanInterval(values(runs, throughput))
				x := float64(i) + 0.06*(float64(color)-1.5)
				point := report.Exact(x, v.Estimate/base)
				if real {
					point.Low, point.High = v.Low/base, v.High/base
				}
				l.Points = append(l.Points, point)
			}
			f.Lines = append(f.Lines, l)
			color++
		}
	}
	return f
}

// modeAxis returns an axis with a place for every mode.
func modeAxis(r *result) report.Axis {
	a := report.Axis{Label: "mode"}
	for i, m := range r.Modes {
		a.Ticks, a.Names = append(a.Ticks, float64(i)), append(a.Names, m.Mode)
	}
	return a
}

// findings returns a sentence on speed for each data set. What is found about AUC follows from the
// comparisons.
func findings(results []*result) []string {
	var sentences []string
	for _, r := range results {
		var speeds []string
		sync := r.find(job.Sync)
		for _, m := range r.Modes {
			if m.Mode == job.Sync || m.Mode == job.Sequential {
				continue
			}
			speeds = append(speeds, fmt.Sprintf("%s ×%.2f and ×%.2f", m.Mode,
				ratio(m.Real, sync.Real), ratio(m.Simulated, sync.Simulated)))
		}
		sentences = append(sentences,
			fmt.Sprintf("%s, throughput ÷ throughput of sync, on this machine and on Persia's cluster: %s.",
				r.DataSet, strings.Join(speeds, ", ")))
	}
	return sentences
}

// ratio returns the mean throughput of a ÷ the mean throughput of b.
func ratio(a, b []run) float64 {
	mean := func(runs []run) float64 {
		return metric.MeanInterval(values(runs, throughput)).Estimate
	}
	return mean(a) / mean(b)
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
