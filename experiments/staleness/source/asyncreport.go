package source

import (
	"fmt"
	"strings"

	"tandem/experiments/internal/arms"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// report returns the results of a plan as tables, figures and sentences.
func (p *asyncPlan) report(results []*asyncResult) *report.Report {
	r := &report.Report{
		Comparisons: gaps(results), Notes: p.notes(results),
		Figures: []report.Figure{partFigure(results, arms.Own), partFigure(results, arms.Common)},
	}
	var armTables []cli.Table
	for _, one := range results {
		r.Tables, armTables = append(r.Tables, one.partTable()), append(armTables, one.armTable())
		r.Findings = append(r.Findings, one.finding(arms.Common), one.finding(arms.Own))
		for i, g := range one.all() {
			for _, kind := range []arms.Kind{arms.Own, arms.Common} {
				r.Quantities = append(r.Quantities, report.Quantity{
					Name: g.Name + "-" + report.Slug(one.DataSet) + kind.Suffix(),
					What: fmt.Sprintf("AUC, %s, on %s, %s", asyncDifferences()[i].text, one.DataSet,
						asyncRates(kind)),
					Interval: g.At(kind).AUC, Over: report.OverSeeds,
				})
			}
		}
	}
	r.Tables = append(r.Tables, armTables...)
	return r
}

// asyncRates names a kind of rates.
func asyncRates(kind arms.Kind) string {
	if kind == arms.Own {
		return "each arm at its own rates"
	}
	return "at the rates of sync"
}

// partTable returns the parts, their sum, and what stands beside.
func (r *asyncResult) partTable() cli.Table {
	t := cli.Table{
		Caption: r.DataSet + ": AUC differences in thousandths ± half the 95 % interval; * different, " +
			"= equivalent, after Holm's adjustment. The parts above the sum add up to it; those below do " +
			"not belong to it",
		Header: []string{"part", "at the rates of sync", "at own rates"}, Words: 1,
	}
	for i, g := range r.all() {
		name := asyncDifferences()[i].text
		if g == r.Total {
			name = "= " + name
		}
		t.Rows = append(t.Rows, []string{name, report.MilliVerdict(g.Common), report.MilliVerdict(g.Own)})
	}
	return t
}

// armTable returns the rates and the AUC of all arms.
func (r *asyncResult) armTable() cli.Table {
	t := cli.Table{
		Caption: r.DataSet + ": learning rates (! the best candidate is at an end of the grid) and AUC, " +
			"mean over seeds ± half the 95 % interval",
		Header: []string{"arm", "rows", "network", "at the rates of sync", "at own rates"}, Words: 1,
	}
	for _, a := range r.Arms {
		rows, network := a.RateTexts(2)
		t.Rows = append(t.Rows, []string{a.Name, rows, network, report.Level(a.Common.AUC),
			report.Level(a.Own.AUC)})
	}
	return t
}

// partFigure shows the parts as a series for each data set and optimizer.
func partFigure(results []*asyncResult, kind arms.Kind) report.Figure {
	f := report.Figure{
		Name:  strings.ReplaceAll(string(kind), " ", "-"),
		Title: "What async-ps less sync consists of, " + asyncRates(kind),
		X: report.Places("rows by\nrank", "N appli-\ncations", "rows\nlate", "network\nlate", "residual",
			"sum"),
		Y:     report.Axis{Label: "AUC difference (bars: 95 %)"},
		Lines: report.MarginLines(-0.5, chain+0.5),
	}
	for i, r := range results {
		l := report.Line{Name: r.DataSet, Color: i, Scatter: true}
		for k, g := range r.all()[:chain+1] {
			x := float64(k) + 0.15*(float64(i)-float64(len(results)-1)/2)
			l.Points = append(l.Points, report.IntervalPoint(x, g.At(kind).AUC))
		}
		f.Lines = append(f.Lines, l)
	}
	return f
}

// finding returns the sentence on the sum and its parts whose intervals exclude 0.
func (r *asyncResult) finding(kind arms.Kind) string {
	var clear []string
	for i, g := range r.Parts {
		if v := g.At(kind).AUC; v.Low > 0 || v.High < 0 {
			clear = append(clear, asyncDifferences()[i].text+" "+report.PlusMinus(v))
		}
	}
	what := "no part has an interval that excludes 0"
	if clear != nil {
		what = "parts whose intervals, before Holm's adjustment, exclude 0: " + strings.Join(clear, ", ")
	}
	return fmt.Sprintf("%s, %s: async-ps − sync is %s; %s.", r.DataSet, asyncRates(kind),
		report.PlusMinus(r.Total.At(kind).AUC), what)
}

// notes returns what a reader needs to judge the findings.
func (p *asyncPlan) notes(results []*asyncResult) []string {
	diverged := 0
	var late []string
	for _, r := range results {
		diverged += r.Diverged
		late = append(late, fmt.Sprintf("%s %.1f and %.1f", r.DataSet, r.RowDelay, r.DenseDelay))
	}
	notes := []string{
		fmt.Sprintf("Each arm changes one thing of the arm before: sync; a step of the rows for each of "+
			"N = %d ranks; a step of the network for each rank, all N from the same parameters; rows late; "+
			"network late; async-ps on the simulated cluster. All but the last are trained in sequence; all "+
			"are repeatable to the bit.", p.Job.Roles.Ranks),
		"No part is chosen to make the sum right: the residual is async-ps less the sequential training " +
			"with its delays. Delays are drawn from those that async-ps had, so the residual is their " +
			"order and their correlation. Parts depend on the order in which they are added.",
		"Mean delays of rows and network, in steps of one rank's batch: " + strings.Join(late, "; ") + ".",
		"A gradient of rows is the mean over a rank's samples (scale: rank) in all arms. Async-ps divides " +
			"a rank's gradient of the network by N, which matters with SGD and not with Adam; so do the " +
			"other arms that take N steps.",
		fmt.Sprintf("Optimizers are those of the network; rows have Adagrad. %d trainings diverged and "+
			"count as a guess of ½.", diverged),
	}
	return append(notes, report.FewSeedsNote(p.Seeds, "seeds", "an interval")...)
}
