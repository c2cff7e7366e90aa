package staleness

import (
	"fmt"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/algo/protocol/pace"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// report returns the results of a plan as tables, figures and sentences.
func (p *plan) report(results []*dataSetResult) *report.Report {
	judged := comparisons(results)
	return &report.Report{
		Findings:    p.findings(results),
		Notes:       p.notes(results),
		Comparisons: judged,
		Tables:      tables(results),
		Figures:     []report.Figure{p.effectFigure(results)},
		Settings:    p,
		Data:        results,
	}
}

// tables returns effects, arms and staleness, a table for each data set.
func tables(results []*dataSetResult) (tables []cli.Table) {
	for _, of := range []func(r *dataSetResult) cli.Table{
		(*dataSetResult).effectTable, (*dataSetResult).armTable, (*dataSetResult).stalenessTable,
	} {
		for _, r := range results {
			tables = append(tables, of(r))
		}
	}
	return tables
}

// effectTable returns a table with a line per effect.
func (r *dataSetResult) effectTable() cli.Table {
	t := cli.Table{
		Caption: r.DataSet + ": effects on AUC, treated − reference, both with merge:rank except for " +
			"merging; exactly, geometric: delays of rows; drawn, by steps, by reads: as hybrid has measured",
		Header: []string{"effect", "treated", "ΔAUC ± 95 %", "verdict"}, Words: 2,
	}
	for _, e := range r.Effects {
		t.Rows = append(t.Rows, []string{e.Name, e.Treated, plusMinus(e.AUC), e.Text()})
	}
	return t
}

// plusMinus returns a difference ± half its interval, with 4 decimals.
func plusMinus(v metric.Interval) string {
	return fmt.Sprintf("%s ± %.4f", report.Minus(fmt.Sprintf("%+.4f", v.Estimate)),
		(v.High-v.Low)/2)
}

// armTable returns a table with a line per arm and a line for the oracle.
func (r *dataSetResult) armTable() cli.Table {
	t := cli.Table{
		Caption: r.DataSet + ": AUC and log loss on the test rows, mean over seeds; a constant guess has " +
			"0.5, no model exceeds the oracle",
		Header: []string{"arm", "AUC ± 95 %", "log loss (nats)", "steps"}, Words: 1,
	}
	if r.Oracle != nil {
		t.Rows = append(t.Rows,
			[]string{"oracle", report.Level(r.Oracle.AUC), report.Mean(r.Oracle.LogLoss), ""})
	}
	for _, a := range r.Arms {
		t.Rows = append(t.Rows, []string{a.Arm.String(), report.Level(a.AUC), report.Mean(a.LogLoss),
			report.Thousands(a.Steps)})
	}
	return t
}

// stalenessTable returns a table of the earlier steps that reads of hybrid missed.
func (r *dataSetResult) stalenessTable() cli.Table {
	t := cli.Table{
		Caption: r.DataSet + ": staleness of reads in steps, all seeds: missed earlier steps of the own " +
			"rank and of another one (cross); mean, 99th percentile, largest/bound",
		Header: []string{"arm", "own", "p99", "largest", "cross", "p99", "largest"}, Words: 1,
	}
	for _, a := range r.Arms {
		if a.Arm.Mode != job.Hybrid {
			continue
		}
		bound := pace.Hybrid{Staleness: a.Arm.Tau, Overlap: pace.HybridDS}.Bounds(a.Arm.Ranks)
		t.Rows = append(t.Rows, []string{a.Arm.String(),
			fmt.Sprintf("%.2f", a.Own.Mean()), fmt.Sprint(a.Own.Quantile(0.99)),
			fmt.Sprintf("%d/%d", a.Own.Max(), bound.Own), fmt.Sprintf("%.2f", a.Cross.Mean()),
			fmt.Sprint(a.Cross.Quantile(0.99)), fmt.Sprintf("%d/%d", a.Cross.Max(), bound.Cross)})
	}
	return t
}

// effectFigure shows the effects by τ: a colour per data set.
func (p *plan) effectFigure(results []*dataSetResult) report.Figure {
	f := report.Figure{
		Name:  "auc-difference",
		Title: "AUC with rows late by τ steps − AUC without delay, both with merge:rank",
		X:     report.Axis{Label: "τ (steps)", LogPlusOne: true},
		Y:     report.Axis{Label: "AUC difference (bars: 95 %)"},
	}
	for _, tau := range p.Taus {
		f.X.Ticks = append(f.X.Ticks, float64(tau))
	}
	f.Lines = report.MarginLines(f.X.Ticks[0], f.X.Ticks[len(f.X.Ticks)-1])
	for i, r := range results {
		for k, kind := range []struct {
			effect string
			line   report.Line
		}{
			{staleness, report.Line{Name: "late, " + r.DataSet}},
			{threads, report.Line{Name: "hybrid, " + r.DataSet, Scatter: true}},
			{lag, report.Line{Name: "lag, " + r.DataSet, Guide: true}},
		} {
			line := kind.line
			line.Color = i
			for _, e := range r.Effects {
				if e.Name != kind.effect {
					continue
				}
				x := float64(e.Tau) + 0.04*(float64(i)-1+float64(k)/2)*float64(1+e.Tau) // beside each other
				line.Points = append(line.Points,
					report.Point{X: x, Y: e.AUC.Estimate, Low: e.AUC.Low, High: e.AUC.High})
			}
			f.Lines = append(f.Lines, line)
		}
	}
	return f
}

// findings returns a sentence on each effect of each data set, and one on the staleness of reads.
func (p *plan) findings(results []*dataSetResult) []string {
	var sentences []string
	for _, r := range results {
		var texts []string
		for _, name := range []string{merging, staleness, lag, unbounded, threads} {
			for _, e := range r.Effects {
				if e.Name == name && name == merging {
					texts = append(texts, fmt.Sprintf("merging %s (%s)", plusMinus(e.AUC), e.Text()))
				} else if e.Name == name {
					texts = append(texts, fmt.Sprintf("%s at %d steps %s (%s)", name, e.Tau, plusMinus(e.AUC),
						e.Text()))
				}
			}
		}
		sentences = append(sentences, fmt.Sprintf("%s, AUC change: %s.", r.DataSet,
			strings.Join(texts, ", ")))
	}
	return append(sentences, delaysFinding(results, runtime, "drawn step by step"),
		delaysFinding(results, steps, "step by step as measured"), readsFinding(results),
		orderFinding(results), reachedFinding(results))
}

// delaysFinding returns a sentence on hybrid with real threads less sequential training with its delays.
func delaysFinding(results []*dataSetResult, effect, how string) string {
	all := 0
	var outside []string
	for _, r := range results {
		for _, e := range r.Effects {
			if e.Name != effect {
				continue
			}
			all++
			if e.AUC.Low <= -metric.EquivalenceMargin || e.AUC.High >= metric.EquivalenceMargin {
				outside = append(outside, fmt.Sprintf("%s τ = %d: %s", r.DataSet, e.Tau, plusMinus(e.AUC)))
			}
		}
	}
	text := fmt.Sprintf("Hybrid with real threads less sequential training with the delays that it has "+
		"measured, %s: the interval is inside ±%g in %d of %d cases", how, metric.EquivalenceMargin,
		all-len(outside), all)
	if outside != nil {
		text += ", not for " + strings.Join(outside, "; ")
	}
	return text + "."
}

// readsFinding returns a sentence on hybrid with real threads and sequential training in its order.
func readsFinding(results []*dataSetResult) string {
	same, all := 0, 0
	for _, r := range results {
		for _, a := range r.Arms {
			if a.Arm.Delay != byReads {
				continue
			}
			hybrid := r.find(hybridOf(a.Arm))
			for i := range a.AUC {
				all++
				if a.AUC[i] == hybrid.AUC[i] && a.LogLoss[i] == hybrid.LogLoss[i] {
					same++
				}
			}
		}
	}
	return fmt.Sprintf("Sequential training with each read and update of rows in the order of hybrid has "+
		"its AUC and log loss to the last bit in %d of %d trainings.", same, all)
}

// orderFinding returns a sentence on what the turn of the same delays changes without any threads.
func orderFinding(results []*dataSetResult) string {
	var texts []string
	for _, r := range results {
		for _, e := range r.Effects {
			if e.Name == order {
				texts = append(texts, fmt.Sprintf("%s τ = %d: %s", r.DataSet, e.Tau, plusMinus(e.AUC)))
			}
		}
	}
	return "In sequential training, the delay of each step as measured instead of drawn changes AUC by " +
		strings.Join(texts, "; ") + "."
}

// reachedFinding returns a sentence on whether the staleness of reads reached its bounds.
func reachedFinding(results []*dataSetResult) string {
	var missed []string
	for _, r := range results {
		for _, a := range r.Arms {
			if a.Arm.Mode == job.Hybrid && a.Own.Max() < a.Arm.Tau {
				missed = append(missed, fmt.Sprintf("%s, %v (at most %d)", r.DataSet, a.Arm, a.Own.Max()))
			}
		}
	}
	if missed == nil {
		return "Own staleness reached τ in every arm of hybrid, and no read exceeded its bound."
	}
	return "Own staleness did not reach τ, so the effect of τ is not fully tested, on " +
		strings.Join(missed, ", ") + "."
}

// notes returns what a reader needs to judge the findings.
func (p *plan) notes(results []*dataSetResult) []string {
	diverged := 0
	var edges []string
	for _, r := range results {
		for _, a := range r.Arms {
			diverged += a.Diverged
		}
		for _, c := range r.Tuning {
			if c.AtEdge {
				edges = append(edges, c.Arm)
			}
		}
	}
	notes := []string{
		"Generated data, including the teacher, are different for every seed. On adult-income, seeds " +
			"vary only the order and the initial values.",
		"Sequential and simulated trainings give the same bits in every run. The order of events in hybrid " +
			"with threads is that of real threads: in another run it differs within its spread.",
		"The learning rates were fixed beforehand by sequential training and are the same for all arms, " +
			"except those of the effects " + sameRate + " and " + ownRates + ".",
		"Delays that are drawn have the counts of those of hybrid, but not their turn: in hybrid, " +
			"neighbouring steps have similar delays, and those of the last steps are cut by the end of " +
			"the run. The effect " + order + " is this alone. A delay for each step leaves " +
			"out that ranks and PSs differ; the effect " + steps + " is this alone.",
	}
	if len(p.Optimizers) > 0 {
		notes = append(notes, fmt.Sprintf("The rates of optimizers are tuned without delay and with it, %d "+
			"candidates for each, on rows that no comparison uses.", len(p.Factors)))
	}
	if diverged > 0 {
		notes = append(notes, fmt.Sprintf("%d trainings diverged and count as a constant guess.", diverged))
	}
	if edges != nil {
		notes = append(notes, "The best candidate is at an end of the grid: "+
			strings.Join(slices.Compact(edges), "; ")+".")
	}
	return append(notes, report.FewSeedsNote(p.Seeds, "seeds", "an interval")...)
}
