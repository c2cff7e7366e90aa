package modes

import (
	"fmt"
	"strings"

	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/experiments/paired"
	"tandem/experiments/report"
	"tandem/internal/cli"
)

// report turns the trainings of a plan into tables, figures and sentences.
func (p *plan) report(results []*result) *report.Report {
	return &report.Report{
		Findings: findings(results),
		Notes:    p.notes(),
		Tables:   []cli.Table{qualityTable(results), speedTable(results), stalenessTable(results)},
		Figures:  []report.Figure{aucFigure(results), speedFigure(results)},
		Settings: p,
		Data:     results,
	}
}

// world is one of the two that a mode ran in.
type clusterRuns struct {
	name string
	runs []*paired.Run
}

// clusters returns those that the mode ran in.
func (m *modeResult) clusters() []clusterRuns {
	list := []clusterRuns{{"this machine", m.Real}}
	if m.Simulated != nil {
		list = append(list, clusterRuns{"Persia's cluster", m.Simulated})
	}
	return list
}

func qualityTable(results []*result) cli.Table {
	t := cli.Table{
		Caption: "Quality on the test rows, mean over seeds; the difference is to sync, paired by seed",
		Header:  []string{"data", "mode", "cluster", "verdict on AUC", "AUC ± 95 %", "ΔAUC ± 95 %", "log loss ± 95 % (nats)"},
		Words:   4,
	}
	for _, r := range results {
		for _, m := range r.Modes {
			for _, w := range m.clusters() {
				verdict, difference := "–", "–"
				if m.Mode != job.Sync || w.name != "this machine" {
					d := r.difference(w.runs)
					difference = report.PlusMinus(d)
					verdict = "the same bits"
					if d != (metric.Interval{}) {
						verdict = short(metric.Explain(d, metric.EquivalenceMargin, r.TestRows))
					}
				}
				t.Rows = append(t.Rows, []string{r.DataSet, m.Mode, w.name, verdict, report.Level(of(w.runs, auc)), difference,
					report.Level(of(w.runs, logLoss))})
			}
		}
	}
	return t
}

// short leaves out of a verdict what a note says.
func short(verdict string) string {
	before, _, _ := strings.Cut(verdict, ";")
	return before
}

func speedTable(results []*result) cli.Table {
	t := cli.Table{
		Caption: "Throughput in samples a second, mean over seeds",
		Header:  []string{"data", "mode", "this machine ± 95 %", "of sync", "Persia's cluster ± 95 %", "of sync"},
		Words:   2,
	}
	for _, r := range results {
		sync := r.find(job.Sync)
		for _, m := range r.Modes {
			row := []string{r.DataSet, m.Mode}
			for i, w := range []struct{ runs, reference []*paired.Run }{{m.Real, sync.Real}, {m.Simulated, sync.Simulated}} {
				if i == 1 && w.runs == nil {
					row = append(row, "–", "–")
					continue
				}
				v, base := metric.MeanInterval(of(w.runs, throughput)), metric.MeanInterval(of(w.reference, throughput))
				row = append(row, fmt.Sprintf("%.0f ± %.0f", v.Estimate, (v.High-v.Low)/2), fmt.Sprintf("×%.2f", v.Estimate/base.Estimate))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

func stalenessTable(results []*result) cli.Table {
	t := cli.Table{
		Caption: "Staleness, all seeds, as mean/max: own and cross in steps by read, dense in updates by push",
		Header:  []string{"data", "mode", "cluster", "own", "cross", "dense"},
		Words:   3,
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
				t.Rows = append(t.Rows, []string{r.DataSet, m.Mode, w.name, meanMax(&own), meanMax(&cross), meanMax(&dense)})
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

// aucFigure has a place on the axis for every mode, and a line for every world.
func aucFigure(results []*result) report.Figure {
	f := report.Figure{
		Name: "auc-difference", Title: "AUC of each mode less that of sync on the same rows",
		X: modeAxis(results[0]), Y: report.Axis{Label: "AUC difference (bars: 95 % over seeds)"},
	}
	last := float64(len(results[0].Modes) - 1)
	for _, limit := range []struct {
		name string
		y    float64
	}{{"±0.001: negligible", metric.EquivalenceMargin}, {"", -metric.EquivalenceMargin}} {
		f.Lines = append(f.Lines, report.Line{Name: limit.name, Color: report.Grey, Guide: true,
			Points: []report.Point{report.Exact(0, limit.y), report.Exact(last, limit.y)}})
	}
	color := 0
	for _, r := range results {
		for _, name := range []string{"this machine", "Persia's cluster"} {
			l := report.Line{Name: r.DataSet + ", " + legend(name), Color: color, Scatter: true}
			for i, m := range r.Modes {
				for _, w := range m.clusters() {
					if w.name == name {
						d := r.difference(w.runs)
						x := float64(i) + 0.06*(float64(color)-1.5) // beside each other
						l.Points = append(l.Points, report.Point{X: x, Y: d.Estimate, Low: d.Low, High: d.High})
					}
				}
			}
			f.Lines = append(f.Lines, l)
			color++
		}
	}
	return f
}

// legend is a short name of a world.
func legend(name string) string {
	if name == "this machine" {
		return "here"
	}
	return "Persia"
}

// speedFigure has throughput as multiples of sync's in the same world.
func speedFigure(results []*result) report.Figure {
	f := report.Figure{
		Name: "throughput", Title: "Throughput of each mode, as a multiple of sync's in the same world",
		X: modeAxis(results[0]), Y: report.Axis{Label: "throughput ÷ that of sync"},
	}
	color := 0
	for _, r := range results {
		sync := r.find(job.Sync)
		for _, real := range []bool{true, false} {
			l := report.Line{Name: r.DataSet + ", here", Color: color, Scatter: true}
			base := metric.MeanInterval(of(sync.Real, throughput)).Estimate
			if !real {
				l.Name = r.DataSet + ", Persia"
				base = metric.MeanInterval(of(sync.Simulated, throughput)).Estimate
			}
			for i, m := range r.Modes {
				runs := m.Real
				if !real {
					runs = m.Simulated
				}
				if runs == nil {
					continue
				}
				v := metric.MeanInterval(of(runs, throughput))
				x := float64(i) + 0.06*(float64(color)-1.5)
				l.Points = append(l.Points, report.Point{X: x, Y: v.Estimate / base, Low: v.Low / base, High: v.High / base})
			}
			f.Lines = append(f.Lines, l)
			color++
		}
	}
	return f
}

// modeAxis has a place for every mode.
func modeAxis(r *result) report.Axis {
	a := report.Axis{Label: "mode"}
	for i, m := range r.Modes {
		a.Ticks, a.Names = append(a.Ticks, float64(i)), append(a.Names, m.Mode)
	}
	return a
}

// findings has a sentence on AUC and one on speed for every data set.
func findings(results []*result) []string {
	var sentences []string
	for _, r := range results {
		var changes, speeds []string
		sync := r.find(job.Sync)
		for _, m := range r.Modes {
			if m.Mode == job.Sync || m.Mode == job.Sequential {
				continue
			}
			changes = append(changes, fmt.Sprintf("%s %s (%s)", m.Mode, report.PlusMinus(r.difference(m.Real)),
				short(metric.Explain(r.difference(m.Real), metric.EquivalenceMargin, r.TestRows))))
			speeds = append(speeds, fmt.Sprintf("%s ×%.2f here and ×%.2f there", m.Mode,
				ratio(m.Real, sync.Real), ratio(m.Simulated, sync.Simulated)))
		}
		sentences = append(sentences, fmt.Sprintf("%s, AUC against sync, on this machine: %s.", r.DataSet, strings.Join(changes, ", ")),
			fmt.Sprintf("%s, throughput against sync, here and on Persia's cluster: %s.", r.DataSet, strings.Join(speeds, ", ")))
	}
	return sentences
}

// ratio of mean throughputs.
func ratio(a, b []*paired.Run) float64 {
	return metric.MeanInterval(of(a, throughput)).Estimate / metric.MeanInterval(of(b, throughput)).Estimate
}

func (p *plan) notes() []string {
	notes := []string{
		fmt.Sprintf("± is half the 95 %% interval of the mean over %d seeds (Student's t); modes of a seed share rows, order and initial values.", p.Seeds),
		fmt.Sprintf("From %s test rows on, equivalent: the interval lies inside ±%g; else different: it excludes 0; else inconclusive. With fewer nothing is called equivalent.",
			report.Thousands(metric.EquivalenceRows), metric.EquivalenceMargin),
		"Sequential, and sync in either world, have the same bits, so their differences are 0.",
		"Order and staleness of the other modes are those of real threads here, and of simulated events there: fast hosts make reads less stale, and so AUC may differ.",
		"Persia's cluster is simulated at the middle of every unknown; its hosts do real arithmetic in simulated time. The network of this comparison is small, so hosts and messages, not GPUs, decide its speed.",
		"Simulated without jitter no rank falls behind, so there ssp never waits and is async-ps.",
		"One rate for all modes, chosen by sequential training: a mode that wants another is not shown at its best.",
		report.ModeSettingsNote(p.Job, p.Modes),
		"All roles share this machine's cores, with whatever else it was doing.",
	}
	if p.Seeds < report.SeedsWanted {
		notes = append(notes, fmt.Sprintf("Only %d seeds: take at least %d before believing an interval.", p.Seeds, report.SeedsWanted))
	}
	return notes
}
