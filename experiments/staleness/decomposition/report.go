package decomposition

import (
	"fmt"
	"strings"

	"tandem/experiments/internal/arms"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// report returns the results of a plan as tables, figures and sentences.
func (p *plan) report(results []*result) *report.Report {
	r := &report.Report{
		Comparisons: comparisons(results),
		Notes:       p.notes(results),
		Quantities:  quantities(results),
		Figures:     []report.Figure{figure(results, arms.Own), figure(results, arms.Common)},
		Settings:    p,
		Data:        results,
	}
	for _, one := range results {
		r.Tables = append(r.Tables, one.partTable())
		r.Findings = append(r.Findings, one.finding(arms.Common), one.finding(arms.Own))
	}
	for _, one := range results {
		r.Tables = append(r.Tables, one.armTable())
	}
	return r
}

// texts returns what the differences are, in the order of result.all.
func texts() []part { return append(append(parts(), total()), beside()...) }

// partTable returns the parts, their sum, and what stands beside.
func (r *result) partTable() cli.Table {
	t := cli.Table{
		Caption: r.DataSet + ": AUC differences in thousandths ± half the 95 % interval; * different, " +
			"= equivalent, after Holm's adjustment. The parts above the sum add up to it; those below do " +
			"not belong to it",
		Header: []string{"part", "at the rates of sync", "at own rates"}, Words: 1,
	}
	for i, g := range r.all() {
		name := texts()[i].text
		if g == r.Total {
			name = "= " + name
		}
		t.Rows = append(t.Rows, []string{name, report.MilliVerdict(g.Common),
			report.MilliVerdict(g.Own)})
	}
	return t
}

// armTable returns the rates and the AUC of all arms.
func (r *result) armTable() cli.Table {
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

// figure shows the parts as a series for each data set and optimizer.
func figure(results []*result, kind arms.Kind) report.Figure {
	f := report.Figure{
		Name:  strings.ReplaceAll(string(kind), " ", "-"),
		Title: "What async-ps less sync consists of, " + rateText(kind),
		Y:     report.Axis{Label: "AUC difference (bars: 95 %)"},
	}
	names := []string{"rows by\nrank", "N appli-\ncations", "rows\nlate", "network\nlate", "residual", "sum"}
	for i, name := range names {
		f.X.Ticks, f.X.Names = append(f.X.Ticks, float64(i)), append(f.X.Names, name)
	}
	f.Lines = report.MarginLines(-0.5, float64(len(names))-0.5)
	for i, r := range results {
		l := report.Line{Name: r.DataSet, Color: i, Scatter: true}
		for k, g := range append(append([]*gap{}, r.Parts...), r.Total) {
			v := g.At(kind).AUC
			x := float64(k) + 0.15*(float64(i)-float64(len(results)-1)/2)
			l.Points = append(l.Points, report.Point{X: x, Y: v.Estimate, Low: v.Low, High: v.High})
		}
		f.Lines = append(f.Lines, l)
	}
	return f
}

// rateText names a kind of rates in sentences.
func rateText(kind arms.Kind) string {
	if kind == arms.Own {
		return "each arm at its own rates"
	}
	return "at the rates of sync"
}

// finding returns the sentence on the sum and its parts whose intervals exclude 0.
func (r *result) finding(kind arms.Kind) string {
	var clear []string
	for i, g := range r.Parts {
		if v := g.At(kind).AUC; v.Low > 0 || v.High < 0 {
			clear = append(clear, fmt.Sprintf("%s %s", texts()[i].text, report.PlusMinus(v)))
		}
	}
	what := "no part has an interval that excludes 0"
	if clear != nil {
		what = "parts whose intervals, before Holm's adjustment, exclude 0: " + strings.Join(clear, ", ")
	}
	return fmt.Sprintf("%s, %s: async-ps − sync is %s; %s.", r.DataSet, rateText(kind),
		report.PlusMinus(r.Total.At(kind).AUC), what)
}

// quantities returns every difference.
func quantities(results []*result) (list []report.Quantity) {
	for _, r := range results {
		for i, g := range r.all() {
			for _, kind := range []arms.Kind{arms.Own, arms.Common} {
				list = append(list, report.Quantity{
					Name:     g.Name + "-" + report.Slug(r.DataSet) + kind.Suffix(),
					What:     fmt.Sprintf("AUC, %s, on %s, %s", texts()[i].text, r.DataSet, rateText(kind)),
					Interval: g.At(kind).AUC, Over: report.OverSeeds,
				})
			}
		}
	}
	return list
}

// notes returns what a reader needs to judge the findings.
func (p *plan) notes(results []*result) []string {
	diverged := 0
	var late []string
	for _, r := range results {
		diverged += r.Diverged
		late = append(late, fmt.Sprintf("%s %.1f and %.1f", r.DataSet, r.RowDelay, r.DenseDelay))
	}
	n := p.Job.Roles.Ranks
	notes := []string{
		fmt.Sprintf("Each arm changes one thing of the arm before: sync; a step of the rows for each of "+
			"N = %d ranks; a step of the network for each rank, all N from the same parameters; rows late; "+
			"network late; async-ps on the simulated cluster. All but the last are trained in sequence; all "+
			"are repeatable to the bit.", n),
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
