package tuner

import (
	"fmt"
	"slices"

	"tandem/algo/job"
	"tandem/experiments/internal/arms"
	"tandem/experiments/internal/judge"
	"tandem/experiments/internal/report"
	"tandem/internal/cli"
)

// report returns the results of a plan as tables, figures and sentences.
func (p *plan) report(results []*result) *report.Report {
	judged := comparisons(results)
	return &report.Report{
		Comparisons: judged,
		Findings:    p.findings(results),
		Notes:       p.notes(),
		Tables:      tables(results, judged),
		Figures:     []report.Figure{p.figure(results)},
		Settings:    p,
		Data:        results,
	}
}

// tables returns rates, levels and differences, a table for each data set.
func tables(results []*result, judged []*judge.Comparison) (list []cli.Table) {
	for _, r := range results {
		list = append(list, r.rateTable(), r.levelTable())
	}
	return append(list, report.ComparisonTables(judged)...)
}

// rateTable returns a table of what the tuner chose for a data set.
func (r *result) rateTable() cli.Table {
	t := cli.Table{
		Caption: r.DataSet + ": learning rates; ÷ sync is the ratio of the best rates of rows, with its " +
			"95 % interval over seeds; ! the best candidate is at an end of the grid",
		Header: []string{"mode", "rows", "network", "rows ÷ sync (95 %)", "trials"}, Words: 1,
	}
	for _, a := range r.Arms {
		rows, network := a.RateTexts(3)
		t.Rows = append(t.Rows, []string{
			a.Name, rows, network, report.RatioText(a.RowRatio), fmt.Sprint(a.Choice.Trials),
		})
	}
	return t
}

// levelTable returns a table of the AUC on a data set, beside simpler and better predictions.
func (r *result) levelTable() cli.Table {
	t := cli.Table{
		Caption: r.DataSet + ": AUC on the test rows, mean over seeds ± half the 95 % interval; a constant " +
			"guess has 0.5, no model exceeds the oracle",
		Header: []string{"mode", "at the rates of sync", "at its own rates"}, Words: 1,
	}
	for _, a := range r.Arms {
		t.Rows = append(t.Rows, []string{a.Name, report.Level(a.Common.AUC), report.Level(a.Own.AUC)})
	}
	if r.Oracle != nil {
		t.Rows = append(t.Rows, []string{"oracle", "", report.Level(r.Oracle)})
	}
	return t
}

// figure shows the differences to sync: a place on the axis per mode, a series per data set and rate.
func (p *plan) figure(results []*result) report.Figure {
	f := report.Figure{
		Name: "auc-difference", Title: "AUC of each mode − AUC of sync, at the rates of sync (common) and " +
			"its own",
		X: report.Axis{Label: "mode"}, Y: report.Axis{Label: "AUC difference (bars: 95 % over seeds)"},
	}
	for _, mode := range p.Modes {
		if mode != job.Sync {
			f.X.Ticks, f.X.Names = append(f.X.Ticks, float64(len(f.X.Ticks))), append(f.X.Names, mode)
		}
	}
	f.Lines = report.MarginLines(-0.5, float64(len(f.X.Ticks))-0.5)
	color := 0
	for _, r := range results {
		for _, series := range []struct {
			name string
			kind arms.Kind
		}{{"common", arms.Common}, {"own", arms.Own}} {
			l := report.Line{Name: r.DataSet + ", " + series.name, Color: color, Scatter: true}
			for _, g := range r.modeGaps() {
				v := g.At(series.kind).AUC
				x := float64(len(l.Points)) + 0.06*(float64(color)-1.5) // side by side
				l.Points = append(l.Points, report.Point{X: x, Y: v.Estimate, Low: v.Low, High: v.High})
			}
			f.Lines = append(f.Lines, l)
			color++
		}
	}
	return f
}

// modeGaps returns the differences to sync of the modes.
func (r *result) modeGaps() []gap {
	return slices.DeleteFunc(slices.Clone(r.gaps), func(g gap) bool { return g.arm.Name == baseline })
}

// findings returns a sentence for every mode and data set.
func (p *plan) findings(results []*result) (sentences []string) {
	for _, r := range results {
		for _, g := range r.modeGaps() {
			sentences = append(sentences,
				fmt.Sprintf("%s: AUC of %s less that of sync is %s at the rates of sync (%s) and %s at its "+
					"own (%s).", r.DataSet, g.arm.Name, report.PlusMinus(g.Common.AUC), g.Common.Text(),
					report.PlusMinus(g.Own.AUC), g.Own.Text()))
		}
	}
	return sentences
}

// notes returns what a reader needs to judge the findings.
func (p *plan) notes() []string {
	notes := []string{
		fmt.Sprintf("Every arm had the same trials: %d pairs of rates under one seed, the best under more, "+
			"the finalists under %d, and the top of a parabola in the logarithm of each rate. On generated "+
			"data they use rows of seeds that are not used afterwards, on real data the last tenth of the "+
			"training rows.",
			len(p.Rates.Rows)*len(p.Rates.Dense), p.Rates.Seeds),
		fmt.Sprintf("Rows have Adagrad, the network Adam. %g and %g are kept unless other rates are better "+
			"by more than two standard errors.", nominal.Rows, nominal.Dense),
		"A training that diverged counts as a guess of ½.",
		"Logistic is logistic regression: one weight for every id and number.",
		report.ModeSettingsNote(p.Job, p.Modes),
	}
	return append(notes, report.FewSeedsNote(p.Seeds, "seeds", "an interval")...)
}
