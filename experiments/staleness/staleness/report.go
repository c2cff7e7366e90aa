package staleness

import (
	"fmt"
	"slices"
	"strings"

	"tandem/algo/job"
	"tandem/algo/metric"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// report returns the results of a plan as tables, figures and sentences.
func (p *plan) report(results []*dataSetResult) *report.Report {
	out := &report.Report{}
	for _, r := range results {
		for _, e := range r.Effects {
			out.Comparisons = append(out.Comparisons, e.Comparison)
		}
	}
	judge.Judge(out.Comparisons)
	for _, r := range results {
		out.Tables = append(out.Tables, r.effectTable(), r.armTable())
	}
	out.Figures = []report.Figure{p.figure(results)}
	out.Findings, out.Notes = findings(results), p.notes(results)
	return out
}

// effectTable returns a table with a line per effect.
func (r *dataSetResult) effectTable() cli.Table {
	t := cli.Table{
		Caption: r.DataSet + ": effects on AUC, treated − reference, both with merge:rank except for " +
			"merging; exactly, geometric: delays of rows; drawn, by steps, by reads: as hybrid has measured",
		Header: []string{"effect", "treated", "ΔAUC ± 95 %", "verdict"}, Words: 2,
	}
	for _, e := range r.Effects {
		t.Add(e.Name, e.Treated, e.text(), e.Text())
	}
	return t
}

// text returns the AUC difference ± half its interval, with 4 decimals.
func (e effect) text() string {
	return fmt.Sprintf("%s ± %.4f", report.Minus(fmt.Sprintf("%+.4f", e.AUC.Estimate)),
		(e.AUC.High-e.AUC.Low)/2)
}

// place returns the data set and τ with the AUC difference.
func (e effect) place() string { return fmt.Sprintf("%s τ = %d: %s", e.Data, e.Tau, e.text()) }

// armTable returns a table with a line per arm and a line for the oracle.
func (r *dataSetResult) armTable() cli.Table {
	t := cli.Table{
		Caption: r.DataSet + ": AUC and log loss (nats) on the test rows, mean over seeds, and the " +
			"earlier steps of its rank that a read missed; a constant guess has 0.5, no model exceeds the " +
			"oracle",
		Header: []string{"arm", "AUC ± 95 %", "log loss", "steps", "own"}, Words: 1,
	}
	if r.Oracle != nil {
		t.Add("oracle", report.Level(r.Oracle.AUC), report.Mean(r.Oracle.LogLoss), "", "")
	}
	for _, a := range r.Arms {
		own := ""
		if a.Arm.Mode == job.Hybrid {
			own = fmt.Sprintf("%.1f (most %d)", a.Own.Mean, a.Own.Max)
		}
		t.Add(a.Arm.String(), report.Level(a.AUC), report.Mean(a.LogLoss), report.Thousands(a.Steps), own)
	}
	return t
}

// figure shows the effects by τ: a colour per data set.
func (p *plan) figure(results []*dataSetResult) report.Figure {
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
		for k, shown := range []struct {
			effect string
			line   report.Line
		}{
			{staleness, report.Line{Name: "late, " + r.DataSet}},
			{threads, report.Line{Name: "hybrid, " + r.DataSet, Scatter: true}},
			{lag, report.Line{Name: "lag, " + r.DataSet, Guide: true}},
		} {
			line := shown.line
			line.Color = i
			for _, e := range named(results[i:i+1], shown.effect) {
				x := float64(e.Tau) + 0.04*(float64(i)-1+float64(k)/2)*float64(1+e.Tau) // beside each other
				line.Points = append(line.Points, report.IntervalPoint(x, e.AUC))
			}
			f.Lines = append(f.Lines, line)
		}
	}
	return f
}

// named returns the effects of a name.
func named(results []*dataSetResult, name string) (list []effect) {
	for _, r := range results {
		for _, e := range r.Effects {
			if e.Name == name {
				list = append(list, e)
			}
		}
	}
	return list
}

// findings returns a sentence on the effects of each data set, then what the arms with measured delays show.
func findings(results []*dataSetResult) (sentences []string) {
	for i, r := range results {
		var texts []string
		for _, name := range []string{merging, staleness, lag, threads} {
			for _, e := range named(results[i:i+1], name) {
				at := ""
				if name != merging {
					at = fmt.Sprintf(" at %d steps", e.Tau)
				}
				texts = append(texts, fmt.Sprintf("%s%s %s (%s)", name, at, e.text(), e.Text()))
			}
		}
		sentences = append(sentences, r.DataSet+", AUC change: "+strings.Join(texts, ", ")+".")
	}
	return append(sentences, delaysFinding(named(results, runtime), "drawn step by step"),
		delaysFinding(named(results, steps), "step by step as measured"), readsFinding(results),
		reachedFinding(results))
}

// delaysFinding returns a sentence on hybrid with real threads less sequential training with its delays.
func delaysFinding(effects []effect, how string) string {
	const margin = metric.EquivalenceMargin
	var outside []string
	for _, e := range effects {
		if e.AUC.Low <= -margin || e.AUC.High >= margin {
			outside = append(outside, e.place())
		}
	}
	text := fmt.Sprintf("Hybrid with real threads less sequential training with the delays that it has "+
		"measured, %s: the interval is inside ±%g in %d of %d cases", how, margin,
		len(effects)-len(outside), len(effects))
	if outside != nil {
		text += ", not for " + strings.Join(outside, "; ")
	}
	return text + "."
}

// readsFinding returns a sentence on hybrid with real threads and sequential training in its order.
func readsFinding(results []*dataSetResult) string {
	same, all := 0, 0
	for _, e := range named(results, reads) {
		for i := range e.AUCs {
			all++
			if e.AUCs[i] == 0 && e.LogLosses[i] == 0 {
				same++
			}
		}
	}
	return fmt.Sprintf("Sequential training with each read and update of rows in the order of hybrid has "+
		"its AUC and log loss to the last bit in %d of %d trainings.", same, all)
}

// reachedFinding returns a sentence on whether the staleness of reads reached its bounds.
func reachedFinding(results []*dataSetResult) string {
	var missed []string
	for _, r := range results {
		for _, a := range r.Arms {
			if a.Arm.Mode == job.Hybrid && a.Own.Max < a.Arm.Tau {
				missed = append(missed, fmt.Sprintf("%s, %v (at most %d)", r.DataSet, a.Arm, a.Own.Max))
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
			"the run. A delay for each step leaves out that ranks and PSs differ; the effect " + steps +
			" is this alone.",
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
